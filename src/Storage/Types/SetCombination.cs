namespace Kv.Storage;

/// <summary>How sets are combined.</summary>
internal enum SetOperation : byte
{
    Union,
    Intersection,
    Difference,
}

/// <summary>Union, intersection and difference of the sets of held keys.</summary>
internal readonly ref struct SetCombination
{
    private readonly HeldKeys _held;
    private readonly int _first, _count;
    private readonly ref readonly KeyHash _hash;

    /// <param name="first">Index of the first set's key.</param>
    /// <param name="count">Of sets.</param>
    public SetCombination(HeldKeys held, int first, int count, ref readonly KeyHash hash)
    {
        _held = held;
        _first = first;
        _count = count;
        _hash = ref hash;
    }

    /// <summary>Whether one of the keys holds something else.</summary>
    public bool HasWrongType
    {
        get
        {
            for (int i = 0; i < _count; i++)
                if (_held.Value(_first + i).Type is not (DataType.Set or DataType.Any)) return true;
            return false;
        }
    }

    /// <summary>Collects the result.</summary>
    /// <param name="limit">Most members that are wanted.</param>
    /// <returns>False when there is no memory.</returns>
    public bool Run(SetOperation operation, scoped ref SetBuilder result, long limit) => operation switch
    {
        SetOperation.Union => Unite(ref result),
        SetOperation.Difference => Subtract(ref result),
        _ => Intersect(ref result, limit),
    };

    /// <summary>How many members all have, up to a limit.</summary>
    public long CountIntersection(long limit)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        int smallest = FindSmallest();
        if (smallest < 0) return 0;
        long count = 0;
        var walk = View(smallest, digits).GetWalk();
        while (count < limit && walk.Next(out var member))
            if (AllHave(member, smallest)) count++;
        return count;
    }

    private bool Intersect(scoped ref SetBuilder result, long limit)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        int smallest = FindSmallest();
        if (smallest < 0) return true;
        var walk = View(smallest, digits).GetWalk();
        while (result.Count < limit && walk.Next(out var member))
            if (AllHave(member, smallest) && !result.TryAdd(member)) return false;
        return true;
    }

    private bool Unite(scoped ref SetBuilder result)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        for (int i = 0; i < _count; i++)
        {
            if (!_held.Exists(_first + i)) continue;
            var walk = View(i, digits).GetWalk();
            while (walk.Next(out var member))
                if (!result.TryAdd(member)) return false;
        }

        return true;
    }

    private bool Subtract(scoped ref SetBuilder result)
    {
        if (!_held.Exists(_first)) return true;
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        var walk = View(0, digits).GetWalk();
        while (walk.Next(out var member))
            if (!AnyOtherHas(member) && !result.TryAdd(member)) return false;
        return true;
    }

    /// <summary>The set with the fewest members; -1 when one is missing, and with it every common member.</summary>
    private int FindSmallest()
    {
        int smallest = -1;
        long fewest = long.MaxValue;
        for (int i = 0; i < _count; i++)
        {
            if (!_held.Exists(_first + i)) return -1;
            long count = View(i, default).Count;
            if (count >= fewest) continue;
            fewest = count;
            smallest = i;
        }

        return smallest;
    }

    private bool AllHave(ReadOnlySpan<byte> member, int but)
    {
        for (int i = 0; i < _count; i++)
            if (i != but && !View(i, default).Contains(member)) return false;
        return true;
    }

    private bool AnyOtherHas(ReadOnlySpan<byte> member)
    {
        for (int i = 1; i < _count; i++)
            if (_held.Exists(_first + i) && View(i, default).Contains(member)) return true;
        return false;
    }

    private SetView View(int index, Span<byte> digits) => new(_held.View(_first + index), in _hash, digits);
}
