using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>Doubles the index bucket by bucket: inserts sweep over them, and whoever changes one that is full splits it
/// first.</summary>
/// <remarks>
/// A doubling begins when the last one is complete, so buckets have only two depths at a time. The sweep of n buckets
/// takes n inserts, and the next doubling is due after 5n, so it is complete long before: as slow as that, since a
/// pipeline waits for what its inserts sweep. No operation splits more than <see cref="SweepBatch"/> buckets besides
/// its own.
/// </remarks>
internal sealed unsafe class IndexGrowth(HashIndex index)
{
    /// <summary>Inserts of a session for each one that sweeps.</summary>
    public const int InsertsPerSweep = 8;

    private const int SweepBatch = 8;

    // The sweep's place: | target depth 24 | next parent 40 |. One word, so that a claim says of which doubling it is.
    private const int PlaceBits = 40;

    // A doubling's memory is taken in step with the entries, from a sixth (EarlyShare) of the entries before it is due;
    // and the doubling waits for that memory for a sixteenth (LateShare) more. All at once it would be 64 MB at 5
    // million keys, which take the system 150 ms.
    private const int EarlyShare = 6, LateShare = 16;

    private long _place, _sweepDone;
    private int _preparedDepth;
    private long _preparedBytes;        // taken so far for the next depth
    private long _doublings;

    /// <summary>Whether upkeep runs by itself, and takes the memory of a doubling before it begins.</summary>
    public bool IsPrepared { get; init; }

    /// <summary>Doublings begun since the index was made.</summary>
    public long Doublings => Volatile.Read(ref _doublings);

    /// <summary>True while some buckets wait to be split.</summary>
    public bool IsGrowing => index.CompleteDepth < index.TargetDepth;

    /// <summary>Begins a doubling when there are more entries than the buckets are meant for.</summary>
    public void Consider(long entries)
    {
        int depth = index.TargetDepth;
        if (entries <= (long)HashIndex.EntriesPerBucketMax << depth || index.IsResizing || depth == index.MaxDepth)
            return;
        long due = DueAt(depth);
        if (entries <= due) return;
        // Acquire is enough, since little depends on it: a doubling that begins too early meets page faults.
        if (entries <= due + due / LateShare && NeedsPreparing(depth) && Volatile.Read(ref _preparedDepth) <= depth)
            return;
        lock (index.Resizing)
        {
            if (index.TargetDepth != depth || index.IsResizing) return;
            Volatile.Write(ref _sweepDone, 0);
            index.RaiseTarget(depth + 1);
            Volatile.Write(ref _place, (long)(depth + 1) << PlaceBits);     // release: claims begin when all is set
            _doublings++;
        }
    }

    /// <summary>Takes a huge page for the next doubling from the system, so that no insert waits for it: inserts touch
    /// all of the new half at once, and a huge page costs the system a quarter of a millisecond to several.</summary>
    /// <returns>Whether one was taken: the caller is to come back soon.</returns>
    /// <remarks>Threads: upkeep's only.</remarks>
    public bool Prepare(long entries)
    {
        Debug.Assert(entries >= 0, "entries are counted");
        const long step = SegmentedLog.SegmentBytes;
        int depth = index.TargetDepth;
        if (index.IsResizing || depth == index.MaxDepth || !NeedsPreparing(depth)) return false;
        long half = (long)HashBucket.Bytes << depth;
        double part = EarlyPart(entries, DueAt(depth));
        if (part == 0) GiveBackPrepared(depth);
        if (_preparedDepth > depth || _preparedBytes >= half * part) return false;
        bool isTaken = index.Populate(depth, _preparedBytes, step);
        _preparedBytes += step;
        if (isTaken && _preparedBytes < half) return true;
        _preparedBytes = 0;
        Volatile.Write(ref _preparedDepth, depth + 1);
        return isTaken;
    }

    /// <summary>What was taken for a doubling is with the system again.</summary>
    /// <remarks>Threads: upkeep's only.</remarks>
    public void ForgetPrepared()
    {
        _preparedBytes = 0;
        Volatile.Write(ref _preparedDepth, 0);
    }

    // Keys have gone since, or room: it would be resident, and in no account.
    private void GiveBackPrepared(int depth)
    {
        if (_preparedBytes == 0 && _preparedDepth <= depth) return;
        lock (index.Resizing)
        {
            if (index.TargetDepth != depth || index.IsResizing) return;
            ForgetPrepared();
            index.GiveBackAbove(depth);
        }
    }

    /// <summary>Entries at which a doubling is due. Where memory is short that is later: chains take less.</summary>
    private long DueAt(int depth)
    {
        bool isShort = index.Budget.IsNearlyFullWith((long)HashBucket.Bytes << depth);
        return (long)(isShort ? HashIndex.EntriesPerBucketShort : HashIndex.EntriesPerBucketMax) << depth;
    }

    // From 0, when the first is taken, to 1 when the doubling is due.
    private static double EarlyPart(long entries, long due) =>
        Math.Clamp((entries - due) * (double)EarlyShare / due + 1, 0, 1);

    private bool NeedsPreparing(int depth) =>
        IsPrepared && (long)HashBucket.Bytes << depth >= HashIndex.HugeHalfFromBytes;

    /// <summary>Splits a few buckets that nobody has touched yet.</summary>
    /// <returns>False when there is none left to claim.</returns>
    public bool Sweep()
    {
        const long nextMask = (1L << PlaceBits) - 1;
        long seen = Volatile.Read(ref _place);
        if ((seen & nextMask) >= ParentsOf(seen)) return false;
        long claim = Interlocked.Add(ref _place, SweepBatch) - SweepBatch;
        long from = claim & nextMask;
        if (from >= ParentsOf(claim)) return false;

        int target = (int)(claim >> PlaceBits);
        Prefetch(from + SweepBatch, target);
        for (long parent = from; parent < from + SweepBatch; parent++) EnsureDepth((ulong)parent, target);
        // A doubling is complete when every claim is done, and the next begins only then: the counter is this
        // doubling's.
        if (Interlocked.Add(ref _sweepDone, SweepBatch) == ParentsOf(claim)) index.EndDoubling(target);
        return true;
    }

    /// <summary>Brings the buckets that a next sweep will split, and those that it will fill, into the cache.</summary>
    private void Prefetch(long from, int target)
    {
        if (!Sse.IsSupported || from >= 1L << (target - 1)) return;
        byte* near = (byte*)index.Bucket((ulong)from), far = (byte*)index.Bucket((ulong)from + (1UL << (target - 1)));
        for (int i = 0; i < SweepBatch; i++)
        {
            Sse.Prefetch0(near + (i * HashBucket.Bytes));
            Sse.Prefetch0(far + (i * HashBucket.Bytes));
        }
    }

    private static long ParentsOf(long place) => place == 0 ? 0 : 1L << ((int)(place >> PlaceBits) - 1);

    /// <summary>Splits whatever holds a bucket's entries until the bucket itself has the target's depth.</summary>
    public void EnsureDepth(ulong number, int target)
    {
        Debug.Assert(target <= index.MaxDepth, "there may be such a bucket");
        // Ends: each round splits a bucket (at most once a level) or waits for a holder of its latch, who waits for
        // nothing.
        var wait = new SpinWait();
        while (true)
        {
            ulong* bucket = index.Home(number, out ulong control, out int depth);
            if (depth >= target) return;
            if (HashBucket.IsLatched(control) || !HashIndex.TryLatch(bucket, control))
            {
                wait.SpinOnce(sleep1Threshold: -1);
                continue;
            }

            // Under the latch, since a halving may have begun meanwhile: what it has merged is not split again.
            if (depth < index.TargetDepth && TrySplit(bucket, number & ((1UL << depth) - 1), control, depth)) continue;
            HashIndex.Unlatch(bucket, control);
            return;     // or no memory for a chain: the bucket stays whole, and every search still finds what is in it
        }
    }

    /// <summary>Splits a latched bucket in two and unlatches it.</summary>
    /// <returns>False, still latched and unchanged, when there is no memory for a chain.</returns>
    /// <remarks>
    /// Throws nothing: whoever changes a bucket holds a record, too, and a bucket that stays whole is as good. What may
    /// go wrong, allocating for a long chain, comes before the first change.
    /// </remarks>
    public bool TrySplit(ulong* near, ulong number, ulong control, int depth)
    {
        Debug.Assert(HashBucket.IsLatched(HashBucket.ReadControl(near)), "the bucket is latched");
        Debug.Assert(depth < index.TargetDepth, "it has a half to split into");
        try
        {
            Fault.Point("index.split");
            if (Vector512.IsHardwareAccelerated && HashBucket.OverflowOf(control) == 0
                && index.TagStart(depth + 1) == index.TagStart(depth))
            {
                SplitInPlace(near, index.Bucket(number + (1UL << depth)), control, depth);
                return true;
            }

            if (!TrySplitLatched(near, number, control, depth)) return false;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or FaultException)
        {
            return false;
        }

        // After the unlatching: what is deferred must have been unlinked before.
        index.Chains.Retire(HashBucket.OverflowOf(control));
        return true;
    }

    /// <summary>Splits a bucket without a chain: each entry keeps its place, in one half or the other. A quarter of the
    /// time that it takes one by one.</summary>
    private void SplitInPlace(ulong* near, ulong* far, ulong control, int depth)
    {
        Debug.Assert(HashBucket.ReadControl(far) == 0, "nobody reads the far half before it is published");
        var bit = Vector512.Create(HashBucket.TagBit(depth - index.TagStart(depth)));
        var entries = Vector512.Load(near);
        var isNear = Vector512.Equals(entries & bit, Vector512<ulong>.Zero);
        // Nobody reads the far half before its control word is there, which is 0 until then.
        *(Vector512<ulong>*)far = Vector512.AndNot(entries, isNear).WithElement(HashBucket.ControlIndex, 0UL);
        // publishes the far half: release. It goes on with the near one's sequence: so also one that is halved away and
        // comes again never shows a control word twice.
        ulong halved = HashBucket.Control(control + HashBucket.SequenceOne, depth + 1, 0);
        Volatile.Write(ref far[HashBucket.ControlIndex], halved);
        // The near one's control word stays as it is: latched. Each entry is written whole, so a reader finds it or
        // none.
        *(Vector512<ulong>*)near = (entries & isNear)
            .WithElement(HashBucket.ControlIndex, control | HashBucket.LatchBit);
        HashIndex.Unlatch(near, halved);
    }

    [SkipLocalsInit]    // all that is read of the lists has been written
    private bool TrySplitLatched(ulong* near, ulong number, ulong control, int depth)
    {
        Debug.Assert(HashBucket.ReadControl(index.Bucket(number + (1UL << depth))) == 0,
            "nobody reads the far half before it is published");
        ulong* far = index.Bucket(number + (1UL << depth));
        // Chains are short: a keyed hash makes one of 8 buckets rarer than a failing machine.
        int count = index.Chains.Count(near, control);
        const int onStackMax = 64;
        Span<ulong> entries = count <= onStackMax ? stackalloc ulong[onStackMax] : new ulong[count];
        Span<ulong> nearEntries = count <= onStackMax ? stackalloc ulong[onStackMax] : new ulong[count];
        Span<ulong> farEntries = count <= onStackMax ? stackalloc ulong[onStackMax] : new ulong[count];
        index.Chains.Gather(near, control, entries);

        int nearCount = 0, farCount = 0;
        bool refill = index.TagStart(depth + 1) != index.TagStart(depth);
        int bit = depth - index.TagStart(depth);
        for (int i = 0; i < count; i++)
        {
            ulong entry = entries[i];
            bool isFar;
            if (refill)
            {
                ulong hash = index.HashOf(entry);
                isFar = ((hash >> depth) & 1) != 0;
                entry = HashBucket.Entry(index.Tag(hash, depth + 1), HashBucket.AddressOf(entry));
            }
            else
            {
                isFar = ((HashBucket.TagOf(entry) >> bit) & 1) != 0;
            }

            // No branch: it is as likely as not.
            nearEntries[nearCount] = farEntries[farCount] = entry;
            int far1 = isFar ? 1 : 0;
            farCount += far1;
            nearCount += 1 - far1;
        }

        if (!index.Chains.TryTake(nearCount, out uint nearOverflow)) return false;
        if (!index.Chains.TryTake(farCount, out uint farOverflow))
        {
            index.Chains.Return(nearOverflow);
            return false;
        }

        ulong sequence = control + HashBucket.SequenceOne;
        index.Chains.Fill(far, farOverflow, farEntries[..farCount]);
        // publishes the far half
        Volatile.Write(ref far[HashBucket.ControlIndex], HashBucket.Control(sequence, depth + 1, farOverflow));
        index.Chains.Fill(near, nearOverflow, nearEntries[..nearCount]);
        HashIndex.Unlatch(near, HashBucket.Control(sequence, depth + 1, nearOverflow));
        return true;
    }
}
