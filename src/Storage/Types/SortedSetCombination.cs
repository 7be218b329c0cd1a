namespace Kv.Storage;

/// <summary>Union, intersection and difference of held keys that are sorted sets, or sets, whose members then have the score 1.</summary>
internal readonly ref struct SortedSetCombination
{
    private readonly HeldKeys _held;
    private readonly int _first, _count;
    private readonly ref readonly KeyHash _hash;

    /// <param name="first">Index of the first set's key.</param>
    /// <param name="count">Of sets.</param>
    public SortedSetCombination(HeldKeys held, int first, int count, ref readonly KeyHash hash)
    {
        _held = held;
        _first = first;
        _count = count;
        _hash = ref hash;
    }

    /// <summary>What the score of each set is multiplied by, in the order of the keys; empty: by 1.</summary>
    public ReadOnlySpan<double> Weights { get; init; }

    public ScoreAggregate Aggregate { get; init; }

    /// <summary>Whether one of the keys holds something else.</summary>
    public bool HasWrongType
    {
        get
        {
            for (int i = 0; i < _count; i++)
                if (_held.Value(_first + i).Type is not (DataType.SortedSet or DataType.Set or DataType.Any)) return true;
            return false;
        }
    }

    /// <summary>Collects the result.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool Run(SetOperation operation, scoped ref SortedSetBuilder result)
    {
        bool done = operation switch
        {
            SetOperation.Union => Unite(ref result),
            SetOperation.Difference => Subtract(ref result),
            _ => Intersect(ref result),
        };
        return done && result.TryFinish();
    }

    /// <summary>How many members all have, up to a limit.</summary>
    public long CountIntersection(long limit)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        int[] order = Order();
        if (IsMissing(order[0])) return 0;
        long count = 0;
        var walk = new Walk(Value(order[0]), in _hash, digits);
        while (count < limit && walk.Next(out var member, out _))
            if (AllHave(member, order)) count++;
        return count;
    }

    // The smallest first, as Redis does: so sums of three and more are the same to the last bit.
    private bool Unite(scoped ref SortedSetBuilder result)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        foreach (int set in Order())
        {
            if (IsMissing(set)) continue;
            var walk = new Walk(Value(set), in _hash, digits);
            while (walk.Next(out var member, out double score))
                if (!result.TryAdd(member, Weighted(set, score), Aggregate)) return false;
        }

        return true;
    }

    private bool Intersect(scoped ref SortedSetBuilder result)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        int[] order = Order();
        if (IsMissing(order[0])) return true;
        var walk = new Walk(Value(order[0]), in _hash, digits);
        while (walk.Next(out var member, out double score))
        {
            score = Weighted(order[0], score);
            bool all = true;
            for (int i = 1; i < order.Length && all; i++)
            {
                all = TryGetScore(order[i], member, out double other);
                // As Redis: 0 times infinity counts as 0 in the first set, in the others only in a sum.
                if (all) score = SortedSetBuilder.Combine(score, WeightOf(order[i]) * other, Aggregate);
            }

            if (all && !result.TryAdd(member, score, Aggregate)) return false;
        }

        return true;
    }

    private bool Subtract(scoped ref SortedSetBuilder result)
    {
        if (IsMissing(0)) return true;
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        var walk = new Walk(Value(0), in _hash, digits);
        while (walk.Next(out var member, out double score))
        {
            bool any = false;
            for (int i = 1; i < _count && !any; i++) any = !IsMissing(i) && TryGetScore(i, member, out _);
            if (!any && !result.TryAdd(member, score, Aggregate)) return false;
        }

        return true;
    }

    private bool AllHave(ReadOnlySpan<byte> member, int[] order)
    {
        for (int i = 1; i < order.Length; i++)
            if (!TryGetScore(order[i], member, out _)) return false;
        return true;
    }

    /// <summary>The sets from the smallest to the largest; those of a size as they were named.</summary>
    private int[] Order()
    {
        int[] order = new int[_count];
        long[] sizes = new long[_count];
        for (int i = 0; i < _count; i++)
        {
            order[i] = i;
            sizes[i] = IsMissing(i) ? 0 : CountOf(Value(i));
        }

        // By size and place: no two are equal, so the order is one.
        Array.Sort(order, (left, right) => sizes[left] != sizes[right] ? sizes[left].CompareTo(sizes[right]) : left.CompareTo(right));
        return order;
    }

    private bool IsMissing(int set) => !_held.Exists(_first + set);

    private ValueView Value(int set) => _held.View(_first + set);

    private long CountOf(in ValueView value) =>
        value.Type == DataType.Set ? new SetView(value, in _hash, default).Count : new SortedSetView(value, in _hash).Count;

    private bool TryGetScore(int set, ReadOnlySpan<byte> member, out double score)
    {
        ValueView value = Value(set);
        score = 1;
        return value.Type == DataType.Set ? new SetView(value, in _hash, default).Contains(member) : new SortedSetView(value, in _hash).TryGetScore(member, out score);
    }

    private double WeightOf(int set) => Weights.IsEmpty ? 1 : Weights[set];

    private double Weighted(int set, double score)
    {
        double weighted = WeightOf(set) * score;
        return double.IsNaN(weighted) ? 0 : weighted;       // 0 times infinity
    }

    /// <summary>The members of a set or sorted set.</summary>
    private ref struct Walk
    {
        private readonly bool _isSet;
        private SetView.Walk _set;
        private SortedSetView.Walk _sorted;

        public Walk(in ValueView value, ref readonly KeyHash hash, Span<byte> digits)
        {
            _isSet = value.Type == DataType.Set;
            if (_isSet) _set = new SetView(value, in hash, digits).GetWalk();
            else _sorted = new SortedSetView(value, in hash).From(0);
        }

        public bool Next(out ReadOnlySpan<byte> member, out double score)
        {
            score = 1;
            return _isSet ? _set.Next(out member) : _sorted.Next(out member, out score);
        }
    }
}
