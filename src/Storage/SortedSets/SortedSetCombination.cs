using System.Diagnostics.CodeAnalysis;

namespace Kv.Storage;

/// <summary>Union, intersection or difference of held keys that are sorted sets, or sets, whose members then have the
/// score 1; as many members at a time as one likes.</summary>
/// <remarks>Whoever makes one disposes it, with its result.</remarks>
internal sealed class SortedSetCombination(Store store, SetOperation operation, int first, int count) : IDisposable
{
    private SortedSetBuilder _result = new(store);
    private int[]? _order;
    private int _at, _end;
    private bool _isCollected;
    private MemberPlace _place;

    /// <summary>What the score of each set is multiplied by, in the order of the keys; null: by 1.</summary>
    public double[]? Weights { get; init; }

    public ScoreAggregate Aggregate { get; init; }

    /// <summary>Most members that are wanted.</summary>
    public long Limit { get; init; } = long.MaxValue;

    /// <summary>Whether the members are only counted.</summary>
    public bool OnlyCounts { get; init; }

    /// <summary>Members found.</summary>
    public long Count { get; private set; }

    /// <summary>Why nothing came of it.</summary>
    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    /// <summary>The elements, once they are collected, in order.</summary>
    public ref SortedSetBuilder Result => ref _result;

    /// <summary>Whether one of the keys holds something else.</summary>
    public bool HasWrongType(in HeldKeys held)
    {
        for (int i = 0; i < count; i++)
            if (held.Value(first + i).Type is not (DataType.SortedSet or DataType.Set or DataType.Any)) return true;
        return false;
    }

    /// <summary>How many members are to be looked at.</summary>
    public long Work(in HeldKeys held)
    {
        Begin(held);
        long work = 0;
        for (int i = _at; i < _end; i++)
            if (!IsMissing(held, _order![i])) work += CountOf(Value(held, _order[i]));
        return work;
    }

    /// <summary>Looks at members, from where it left off; at the end brings the result in order.</summary>
    /// <param name="members">About so many.</param>
    /// <returns>True when it has ended.</returns>
    public bool Run(in HeldKeys held, long members)
    {
        if (_isCollected) return Finish(members);
        Begin(held);
        for (; _at < _end; _at++, _place = default)
        {
            int set = _order![_at];
            if (IsMissing(held, set)) continue;
            ValueView value = Value(held, set);
            if (value.Kind is ValueKind.Set or ValueKind.SortedSet)
            {
                if (!RunLarge(held, set, ref members)) return Status != StoreStatus.Ok;
                continue;
            }

            // A small set is done in one go.
            var walk = new ScoredWalk(value, in store.Hash);
            for (; Count < Limit && walk.Next(out var member, out double score); members--)
            {
                ulong hash = store.Hash.Of(member);
                if (!Takes(held, set, member, hash, ref score) || TryTake(member, hash, score)) continue;
                Status = StoreStatus.OutOfMemory;
                return true;
            }
        }

        _isCollected = true;
        return Finish(members);
    }

    /// <summary>Looks at members of a large set, in the order of its table: that of another one's is about the
    /// same.</summary>
    /// <returns>False when that was enough, or nothing comes of it.</returns>
    private bool RunLarge(in HeldKeys held, int set, ref long members)
    {
        if (members <= 0) return false;
        HeldValue value = held.Value(first + set);
        bool isSet = value.Kind == ValueKind.Set;
        var walk = new MemberTable(value.Region, in store.Hash).GetWalk(_place);
        var batch = new MemberBatch();
        // Ends: at the limit, or with the set's members.
        while (Count < Limit && batch.Fill(ref walk, in store.Hash))
        {
            Prefetch(held, set, ref batch);
            for (int i = 0; i < batch.Count && Count < Limit; i++)
            {
                double score = isSet ? 1 : batch.Score(i);
                if (!Takes(held, set, batch.Member(i), batch.Hash(i), ref score)
                    || TryTake(batch.Member(i), batch.Hash(i), score)) continue;
                Status = StoreStatus.OutOfMemory;
                return false;
            }

            members -= batch.Count;
            if (members > 0) continue;
            _place = walk.Place;
            return false;
        }

        return true;
    }

    private void Prefetch(in HeldKeys held, int set, scoped ref MemberBatch batch)
    {
        if (!OnlyCounts) _result.Prefetch(ref batch);
        if (operation == SetOperation.Union) return;
        for (int i = 0; i < count; i++)
            if (i != set && !IsMissing(held, i) && held.Value(first + i).HoldsRegion)
                batch.Prefetch(held.Value(first + i).Region);
    }

    private bool Finish(long members)
    {
        int elements = (int)Math.Min(members, int.MaxValue);
        bool isDone;
        // Ends: a step, or all of them, each of which gets on.
        do
        {
            if (_result.TryFinish(elements, out isDone)) continue;
            Status = StoreStatus.OutOfMemory;
            return true;
        }
        while (!isDone && elements == int.MaxValue);
        return isDone;
    }

    /// <summary>Frees the result, unless it is a key's value by now.</summary>
    public void Dispose() => _result.Dispose();

    // A union goes through all, the smallest first, as Redis does: so sums of three and more are the same to the last
    // bit.
    private void Begin(in HeldKeys held)
    {
        if (_order != null) return;
        if (operation == SetOperation.Difference)
        {
            _order = [0];
            _end = 1;
            return;
        }

        _order = Order(held);
        if (operation == SetOperation.Union) _end = count;
        else _end = IsMissing(held, _order[0]) ? 0 : 1;
    }

    private bool Takes(in HeldKeys held, int set, ReadOnlySpan<byte> member, ulong hash, ref double score)
    {
        if (operation == SetOperation.Difference)
        {
            for (int i = 1; i < count; i++)
                if (!IsMissing(held, i) && TryGetScore(held, i, member, hash, out _)) return false;
            return true;
        }

        score = Weighted(set, score);
        if (operation == SetOperation.Union) return true;
        for (int i = 1; i < _order!.Length; i++)
        {
            if (!TryGetScore(held, _order[i], member, hash, out double other)) return false;
            // As Redis: 0 times infinity counts as 0 in the first set, in the others only in a sum.
            score = SortedSetBuilder.Combine(score, WeightOf(_order[i]) * other, Aggregate);
        }

        return true;
    }

    private bool TryTake(scoped ReadOnlySpan<byte> member, ulong hash, double score)
    {
        if (OnlyCounts)
        {
            Count++;
            return true;
        }

        // Of one set each member comes once.
        bool done = _result.TryAdd(member, hash, score, Aggregate, mayBeThere: operation == SetOperation.Union
            && _at > 0);
        Count = _result.Count;
        return done;
    }

    /// <summary>The sets from the smallest to the largest; those of a size as they were named.</summary>
    private int[] Order(in HeldKeys held)
    {
        int[] order = new int[count];
        long[] sizes = new long[count];
        for (int i = 0; i < count; i++)
        {
            order[i] = i;
            sizes[i] = IsMissing(held, i) ? 0 : CountOf(Value(held, i));
        }

        // By size and place: no two are equal, so the order is one.
        Array.Sort(order, (left, right) => sizes[left] != sizes[right] ? sizes[left]
            .CompareTo(sizes[right]) : left.CompareTo(right));
        return order;
    }

    private bool IsMissing(in HeldKeys held, int set) => !held.Exists(first + set);

    private ValueView Value(in HeldKeys held, int set) => held.View(first + set);

    private long CountOf(in ValueView value) =>
        value.Type == DataType.Set ? new SetView(value, in store.Hash).Count
        : new SortedSetView(value, in store.Hash).Count;

    private bool TryGetScore(in HeldKeys held, int set, ReadOnlySpan<byte> member, ulong hash, out double score)
    {
        ValueView value = Value(held, set);
        score = 1;
        return value.Type == DataType.Set ? new SetView(value, in store.Hash).Contains(member, hash)
            : new SortedSetView(value, in store.Hash).TryGetScore(member, hash, out score);
    }

    private double WeightOf(int set) => Weights == null ? 1 : Weights[set];

    private double Weighted(int set, double score)
    {
        double weighted = WeightOf(set) * score;
        return double.IsNaN(weighted) ? 0 : weighted;       // 0 times infinity
    }
}
