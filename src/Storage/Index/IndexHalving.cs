using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  near   | latched, depth d | entries of both | latched, depth d - 1 |                  | free, depth d - 1
//  far    | latched, depth d |                                        | no depth: 0 |
//  ------------------------------------------------------------------------------------------------------> time

/// <summary>Halves the index when few entries are left in it: two buckets at a time become one again.</summary>
/// <remarks>
/// The target is lowered and the memory is out of the account at once; then each far bucket is merged into its near
/// one, an epoch passes, and the far half goes back to the system. Until then the index neither grows nor shrinks.
/// Each entry can be found at any instant: the near bucket has the entries of both, then the depth that leads all
/// searches to it, and only then does the far one stop being a bucket. Both are latched meanwhile, so no miss counts
/// and nothing is removed from the one that a reader may still find in the other: who finds it there was online before.
/// Threads: upkeep's, online.
/// </remarks>
internal sealed unsafe class IndexHalving(HashIndex index)
{
    private const int PairsPerStep = 128;

    private ulong _next;            // pairs before it are merged
    private long _halvings;
    private ulong _merged;          // a mark of when all pairs were

    /// <summary>Halvings begun since the index was made.</summary>
    public long Halvings => Volatile.Read(ref _halvings);

    /// <summary>True from when the target is lowered until the far half is with the system.</summary>
    public bool IsOn => index.CompleteDepth > index.TargetDepth;

    /// <summary>Begins a halving if there are few entries.</summary>
    /// <returns>Whether one has begun.</returns>
    public bool Consider(long entries)
    {
        if (!IsDue(entries) || !index.TryLowerTarget()) return false;
        _next = 0;
        Volatile.Write(ref _halvings, _halvings + 1);
        return true;
    }

    /// <summary>Whether one begins as soon as the one that is on its way has ended.</summary>
    public bool ComesAgain(long entries) => IsOn && IsDue(entries);

    // Where memory is short, when there is a tenth less than would double the smaller index again; else when there is a
    // quarter of that.
    private bool IsDue(long entries)
    {
        int depth = index.TargetDepth;
        if (depth == index.FirstDepth) return false;
        long doublesAt = (long)HashIndex.EntriesPerBucketMax << (depth - 1);
        return entries <= doublesAt / 4 || (entries <= doublesAt / 10 * 9 && index.Budget.IsNearlyFull);
    }

    /// <summary>Takes a step of a halving: some 20 us.</summary>
    /// <returns>Whether there is another one to be taken now.</returns>
    public bool Step()
    {
        if (!IsOn) return false;
        ulong half = 1UL << index.TargetDepth;
        if (_next == half)
        {
            // Nothing is deferred: where the managed heap has no room for that, this would never come to its end.
            if (index.Deferred.IsPast(_merged)) index.EndHalving();
            return false;
        }

        for (ulong end = Math.Min(_next + PairsPerStep, half); _next < end; _next++)
            if (!TryMerge(_next)) return false;     // no memory for a chain: a later round tries again
        if (_next != half) return true;
        _merged = index.Deferred.Mark();
        return false;
    }

    private bool TryMerge(ulong number)
    {
        int depth = index.TargetDepth + 1;
        ulong* near = index.Bucket(number), far = index.Bucket(number + (1UL << (depth - 1)));
        // A bucket that could not be split for lack of memory has no far half, or is not there itself. That stays so:
        // who splits looks at the target under the latch, and we lowered it before this look (a full fence, theirs is
        // the latch).
        if (index.DepthOf(number, HashBucket.ReadControl(near)) == 0) return true;
        ulong nearControl = Latch(near);
        if (HashBucket.ReadControl(far) == 0)
        {
            HashIndex.Unlatch(near, nearControl);
            return true;
        }

        // Nobody else waits for a latch with another one in hand.
        ulong farControl = Latch(far);
        Debug.Assert(HashBucket.DepthOf(nearControl) == depth && HashBucket.DepthOf(farControl) == depth,
            "both are as deep as all were");
        try
        {
            Fault.Point("index.merge");
            if (TryMergeLatched(near, nearControl, far, farControl, depth)) return true;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or FaultException)
        {
            // before the first change
        }

        HashIndex.Unlatch(far, farControl);
        HashIndex.Unlatch(near, nearControl);
        return false;
    }

    [SkipLocalsInit]    // all that is read of the list has been written
    private bool TryMergeLatched(ulong* near, ulong nearControl, ulong* far, ulong farControl, int depth)
    {
        Debug.Assert(HashBucket.IsLatched(HashBucket.ReadControl(near)), "the near bucket is latched");
        Debug.Assert(HashBucket.IsLatched(HashBucket.ReadControl(far)), "the far bucket is latched");
        int count = index.Chains.Count(near, nearControl) + index.Chains.Count(far, farControl);
        const int onStackMax = 64;
        Span<ulong> entries = count <= onStackMax ? stackalloc ulong[onStackMax] : new ulong[count];
        entries = entries[..count];
        index.Chains.Gather(far, farControl, entries[index.Chains.Gather(near, nearControl, entries)..]);
        if (index.TagStart(depth - 1) != index.TagStart(depth))
            foreach (ref ulong entry in entries)
                entry = HashBucket.Entry(index.Tag(index.HashOf(entry), depth - 1), HashBucket.AddressOf(entry));
        if (!index.Chains.TryTake(count, out uint overflow)) return false;

        index.Chains.Fill(near, overflow, entries);
        // Of both: the far one, should it come again, goes on from here, past all that it has shown.
        ulong sequence = nearControl + HashBucket.SequenceOf(farControl) + HashBucket.SequenceOne;
        ulong merged = HashBucket.Control(sequence, depth - 1, overflow);
        // Release, both: the entries before the near one's depth, and that before the far one's end.
        Volatile.Write(ref near[HashBucket.ControlIndex], merged | HashBucket.LatchBit);
        Volatile.Write(ref far[HashBucket.ControlIndex], 0);
        HashIndex.Unlatch(near, merged);
        // After the unlatching: what is deferred must have been unlinked before.
        index.Chains.Retire(HashBucket.OverflowOf(nearControl));
        index.Chains.Retire(HashBucket.OverflowOf(farControl));
        return true;
    }

    private static ulong Latch(ulong* bucket)
    {
        // Ends: who holds the latch changes a few words and waits for nothing.
        var wait = new SpinWait();
        while (true)
        {
            ulong control = HashBucket.ReadControl(bucket);
            if (!HashBucket.IsLatched(control) && HashIndex.TryLatch(bucket, control)) return control;
            wait.SpinOnce(sleep1Threshold: -1);
        }
    }
}
