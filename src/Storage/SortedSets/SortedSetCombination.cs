using System.Diagnostics.CodeAnalysis;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Union, intersection or difference of held keys that are sorted sets, or sets, whose members then have the
/// score 1; as many members at a time as one likes.</summary>
/// <remarks>Whoever makes one disposes it, with its result.</remarks>
internal sealed class SortedSetCombination(Store store, SetOperation operation, int first, int count) : IDisposable
{
    /// <summary>Of more sets members are not asked ahead for.</summary>
    private const int PrefetchedMax = 64;

    /// <summary>Bits of a set's number, beside its size: a command has no more arguments.</summary>
    private const int NumberBits = 24;

    private SortedSetBuilder _result = new(store);

    // The sets from the smallest to the largest, those of a size as they were named: size and number of each.
    private ulong[]? _order;
    private int _at, _end;
    private bool _hasEnd, _isCollected, _isMissing;
    private MemberPlace _place;

    // How far the piece before came: keys that were looked at before the first member, members of a small set or of a
    // batch, and for the next one sets in which it was looked for, with its score in those.
    private int _begun, _taken, _asked;
    private double _score;

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
            if (IsWrong(held, i)) return true;
        return false;
    }

    private bool IsWrong(in HeldKeys held, int set) =>
        held.Value(first + set).Type is not (DataType.SortedSet or DataType.Set or DataType.Any);

    /// <inheritdoc cref="SetCombination.IsOfMany"/>
    public bool IsOfMany { get; init; }

    /// <summary>How many members are to be looked at or for.</summary>
    public long Work(in HeldKeys held)
    {
        if (IsOfMany) return long.MaxValue;
        long all = long.MaxValue, work = 0;
        TryBegin(held, ref all);
        for (int i = _at; i < _end; i++)
            if (!IsMissing(held, SetAt(i))) work += CountOf(Value(held, SetAt(i)));
        return operation == SetOperation.Union ? work : work * Math.Max(1, count - 1);
    }

    /// <summary>Looks at members, from where it left off; at the end brings the result in order.</summary>
    /// <param name="members">About how many members, or sets.</param>
    /// <returns>True when it has ended.</returns>
    public bool Run(in HeldKeys held, long members)
    {
        Debug.Assert(members > 0, "each call looks at a member, or a set");
        if (_isCollected) return Finish(members);
        if (!TryBegin(held, ref members)) return Status != StoreStatus.Ok;
        for (; _at < _end; _at++, _place = default, _taken = 0)
        {
            if (members-- <= 0) return false;
            int set = SetAt(_at);
            if (IsMissing(held, set)) continue;
            bool isLarge = Value(held, set).Kind is ValueKind.Set or ValueKind.SortedSet;
            bool isDone = isLarge ? RunLarge(held, set, ref members) : RunSmall(held, set, ref members);
            if (!isDone) return Status != StoreStatus.Ok;
        }

        _isCollected = true;
        return members > 0 && Finish(members);
    }

    /// <summary>Looks at members of a small set, which have no places: those of the pieces before are passed
    /// over.</summary>
    /// <returns>False when that was enough, or nothing comes of it.</returns>
    private bool RunSmall(in HeldKeys held, int set, ref long members)
    {
        var walk = new ScoredWalk(Value(held, set), in store.Hash);
        for (int at = 0; Count < Limit && walk.Next(out var member, out double score); at++)
        {
            if (at < _taken) continue;
            if (!TryLookAt(held, set, member, store.Hash.Of(member), score, ref members)) return false;
        }

        return true;
    }

    /// <summary>Looks at members of a large set, in the order of its table: the tables of other sets have about that
    /// order, too, so that members which are looked up one after another lie near each other.</summary>
    /// <returns>False when that was enough, or nothing comes of it.</returns>
    private bool RunLarge(in HeldKeys held, int set, ref long members)
    {
        HeldValue value = held.Value(first + set);
        bool isSet = value.Kind == ValueKind.Set;
        var walk = new MemberTable(value.Region, in store.Hash).GetWalk(_place);
        var batch = new MemberBatch();
        // Ends: at the limit, or with the set's members.
        while (Count < Limit && batch.Fill(ref walk, in store.Hash))
        {
            if (count <= PrefetchedMax) Prefetch(held, set, ref batch);
            while (_taken < batch.Count && Count < Limit)
            {
                double score = isSet ? 1 : batch.Score(_taken);
                if (!TryLookAt(held, set, batch.Member(_taken), batch.Hash(_taken), score, ref members)) return false;
            }

            (_place, _taken) = (walk.Place, 0);
        }

        return true;
    }

    /// <summary>Looks at the next member.</summary>
    /// <returns>False when the piece has to end first, or nothing comes of all this.</returns>
    private bool TryLookAt(in HeldKeys held, int set, scoped ReadOnlySpan<byte> member, ulong hash, double score,
        ref long members)
    {
        if (members <= 0) return false;
        if (_asked == 0) _score = operation == SetOperation.Difference ? score : Weighted(set, score);
        if (!TryAsk(held, set, member, hash, ref members, out bool takes)) return false;
        _taken++;
        if (!takes || TryTake(member, hash, _score)) return true;
        Status = StoreStatus.OutOfMemory;
        return false;
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
    /// <returns>False when the piece has to end first, or nothing comes of all this.</returns>
    private bool TryBegin(in HeldKeys held, ref long members)
    {
        if (_hasEnd) return true;
        Debug.Assert(count is > 0 and <= 1 << NumberBits, "a set's number has its bits");
        bool isOrdered = operation != SetOperation.Difference;
        if (isOrdered) _order ??= new ulong[count];
        for (; _begun < count && (isOrdered || IsOfMany); _begun++)
        {
            if (members-- <= 0) return false;
            if (IsOfMany && IsWrong(held, _begun))
            {
                Status = StoreStatus.WrongType;
                return false;
            }

            bool isMissing = IsMissing(held, _begun);
            _isMissing |= isMissing;
            ulong size = isMissing ? 0 : (ulong)CountOf(Value(held, _begun));
            if (isOrdered) _order![_begun] = size << NumberBits | (uint)_begun;
        }

        if (isOrdered) Array.Sort(_order!);
        if (operation == SetOperation.Union) _end = count;
        else _end = isOrdered && _isMissing ? 0 : 1;
        return _hasEnd = true;
    }

    private int SetAt(int place) => _order == null ? place : (int)(_order[place] & ((1 << NumberBits) - 1));

    /// <summary>Looks for a member in the other sets, and adds up its scores.</summary>
    /// <param name="takes">Whether it is one of the result's.</param>
    /// <returns>False when the piece ends before that is known.</returns>
    private bool TryAsk(in HeldKeys held, int set, scoped ReadOnlySpan<byte> member, ulong hash, ref long members,
        out bool takes)
    {
        takes = true;
        if (operation == SetOperation.Union || count == 1)
        {
            members--;
            return true;
        }

        bool isCommon = operation == SetOperation.Intersection;
        for (; _asked < count && takes; _asked++)
        {
            int other = SetAt(_asked);
            if (other == set) continue;
            if (members-- <= 0) return false;
            double score = 0;
            bool has = !IsMissing(held, other) && TryGetScore(held, other, member, hash, out score);
            takes = has == isCommon;
            // As Redis: 0 times infinity counts as 0 in the first set, in the others only in a sum.
            if (has) _score = SortedSetBuilder.Combine(_score, WeightOf(other) * score, Aggregate);
        }

        _asked = 0;
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
