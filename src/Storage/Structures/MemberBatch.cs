using System.Diagnostics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>Some members of a large collection that are to be read, or looked for in others, so that the waits for
/// their memory are one.</summary>
/// <remarks>
/// To look for them: <see cref="Fill"/>; for each table <see cref="Prefetch"/>; then look for each member. Nothing
/// changes in between. Members at random: <see cref="Draw"/> or <see cref="Choose"/>. What is removed of them in
/// between is the caller's to know.
/// </remarks>
internal unsafe ref struct MemberBatch
{
    /// <summary>The most members of a batch.</summary>
    public const int CountMax = 16;

    /// <summary>One in three to six places has a member.</summary>
    private const int DrawsMax = 64;

    /// <summary>The most members that one call looks at to choose some: a few microseconds.</summary>
    private const int LookedMax = 1024;

    private fixed ulong _items[CountMax], _hashes[CountMax], _buckets[CountMax];

    public int Count { get; private set; }

    public readonly byte* Item(int index) => (byte*)_items[index];

    public readonly ReadOnlySpan<byte> Member(int index) => MemberItem.MemberOf((byte*)_items[index]);

    /// <summary>The score of a member of a sorted set.</summary>
    public readonly double Score(int index) => ScoreItem.ScoreOf((byte*)_items[index]);

    public readonly ulong Hash(int index) => _hashes[index];

    /// <summary>Takes the next members of a walk.</summary>
    /// <returns>False when there are none.</returns>
    public bool Fill(ref MemberTable.Walk walk, in KeyHash hash)
    {
        int count = 0;
        for (; count < CountMax && walk.Next(out byte* item); count++)
        {
            _items[count] = (ulong)item;
            _hashes[count] = hash.Of(MemberItem.MemberOf(item));
        }

        Count = count;
        return count != 0;
    }

    /// <summary>Asks for what a table has of these members: all their buckets, then the items.</summary>
    public void Prefetch(Region table)
    {
        for (int i = 0; i < Count; i++) _buckets[i] = (ulong)MemberTable.PrefetchBucket(table.Start, _hashes[i]);
        for (int i = 0; i < Count; i++)
            if (_buckets[i] != 0) MemberTable.PrefetchItem(table.Start, (byte*)_buckets[i], _hashes[i]);
    }

    /// <summary>Takes members at random, each as likely as another each time; may be none.</summary>
    /// <param name="most">At most this many.</param>
    public void Draw(in MemberTable table, ref Dice dice, long most)
    {
        Debug.Assert(most > 0 && table.Count != 0, "there is a member to draw");
        byte** buckets = stackalloc byte*[DrawsMax];
        int* places = stackalloc int[DrawsMax];
        int draws = (int)Math.Min(DrawsMax, 4 * most), count = 0;
        for (int i = 0; i < draws; i++) buckets[i] = table.Draw(ref dice, out places[i]);
        for (int i = 0; i < draws && count < CountMax && count < most; i++)
        {
            byte* item = table.ItemIn(buckets[i], places[i]);
            if (item != null) Take(ref count, item);
        }

        Count = count;
    }

    /// <summary>Takes some of the next members of a walk; when the walk ends, every set of that size was equally
    /// likely. May be none.</summary>
    /// <param name="unseen">Members that the walk has not come to.</param>
    /// <param name="wanted">How many of them are still to be taken; goes down.</param>
    public void Choose(ref MemberTable.Walk walk, ref Dice dice, ref long unseen, ref long wanted)
    {
        Debug.Assert(wanted <= unseen, "no more are wanted than the walk comes to");
        int count = 0;
        for (int looked = 0;
            looked < LookedMax && count < CountMax && wanted > 0 && walk.Next(out byte* item); looked++)
        {
            if (dice.Below(unseen--) >= wanted) continue;
            wanted--;
            Take(ref count, item);
        }

        Count = count;
    }

    /// <summary>Leaves out what has been drawn before.</summary>
    public void KeepNew(in MemberTable table, ref DrawnItems drawn)
    {
        int count = 0;
        for (int i = 0; i < Count; i++)
            if (drawn.Add(table.NameOf(Item(i)))) _items[count++] = _items[i];
        Count = count;
    }

    /// <summary>Leaves out members that are in the batch twice.</summary>
    public void KeepDifferent()
    {
        int count = 0;
        for (int i = 0; i < Count; i++)
        {
            int other = 0;
            while (other < count && _items[other] != _items[i]) other++;
            if (other == count) _items[count++] = _items[i];
        }

        Count = count;
    }

    private void Take(ref int count, byte* item)
    {
        Debug.Assert(count < CountMax, "there is room for one more");
        if (Sse.IsSupported) Sse.Prefetch0(item);
        _items[count++] = (ulong)item;
    }
}
