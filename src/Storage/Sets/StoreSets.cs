namespace Kv.Storage;

/// <summary>Sets of a session's database: different members, in no order. <see cref="StoreTypes"/> says what holds for
/// all operations.</summary>
/// <remarks>Cost: O(1) a member, where nothing else is said; a random one too.</remarks>
public readonly struct StoreSets
{
    private readonly StoreSession _session;

    internal StoreSets(StoreSession session) => _session = session;

    /// <summary>Adds a member.</summary>
    /// <param name="key">The key.</param>
    /// <param name="member">Any bytes.</param>
    /// <param name="isNew">False: it was there.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Add(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, out bool isNew)
    {
        isNew = false;
        bool isInteger = IntegerText.TryParse(member, out _);
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set,
            SetValue.ExpectedBytes(1, member.Length, member.Length, isInteger));
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(member.Length)) return StoreStatus.TooLarge;
        var set = new SetValue(held.Value);
        if (held.Value.Exists && set.View.Contains(member)) return StoreStatus.Ok;
        if (!set.TryReserve(1, member.Length, member.Length, isInteger)) return StoreStatus.OutOfMemory;
        isNew = set.Add(member);
        set.Settle();
        return StoreStatus.Ok;
    }

    /// <inheritdoc cref="Add(ReadOnlySpan{byte}, ReadOnlySpan{byte}, out bool)"/>
    public StoreStatus Add(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member) => Add(key, member, out _);

    /// <summary>Adds members, as one step: all, or (not Ok) none.</summary>
    /// <param name="key">The key.</param>
    /// <param name="members">None: nothing is done.</param>
    /// <param name="added">How many were not there.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Add(ReadOnlySpan<byte> key, ElementBuffer members, out int added)
    {
        added = 0;
        if (members.Count == 0) return StoreStatus.Ok;
        int longest = members.Longest;
        bool areIntegers = true;
        for (int i = 0; i < members.Count && areIntegers; i++) areIntegers = IntegerText.TryParse(members[i], out _);
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set,
            SetValue.ExpectedBytes(members.Count, members.Bytes, longest, areIntegers));
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(longest)) return StoreStatus.TooLarge;
        var set = new SetValue(held.Value);
        if (!set.TryReserve(members.Count, members.Bytes, longest, areIntegers)) return StoreStatus.OutOfMemory;
        for (int i = 0; i < members.Count; i++)
            if (set.Add(members[i])) added++;
        set.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Removes a member.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SetValue(held.Value);
        bool removed = set.Remove(member);
        set.Settle();
        return removed ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Whether something is a member.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus Contains(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member)
    {
        scoped var read = new ReadMember(member, in _session.MemberHash);
        var status = _session.Read(_session.Key(key), DataType.Set, ref read);
        return status == StoreStatus.Ok && !read.IsMember ? StoreStatus.NotFound : status;
    }

    /// <summary>Counts the members.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count) => _session.Count(key, DataType.Set, out count);

    /// <summary>Moves a member from one set to another, as one step: nobody sees it in both, or in none.</summary>
    /// <param name="source">The key that it leaves.</param>
    /// <param name="destination">The key that it goes to; may be the same.</param>
    /// <param name="member">Any bytes.</param>
    /// <returns>Ok, NotFound (no such source or member), WrongType (of either) or OutOfMemory.</returns>
    public StoreStatus Move(ReadOnlySpan<byte> source, ReadOnlySpan<byte> destination, ReadOnlySpan<byte> member)
    {
        bool isInteger = IntegerText.TryParse(member, out _);
        using HeldKeys held = _session.HoldTwo(
            source, destination, SetValue.ExpectedBytes(1, member.Length, member.Length, isInteger));
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (!held.Exists(0)) return StoreStatus.NotFound;
        if (held.Value(0).Type != DataType.Set || held.Value(1).Type is not (DataType.Set or DataType.Any))
            return StoreStatus.WrongType;
        var from = new SetValue(held.Value(0));
        if (!from.View.Contains(member)) return StoreStatus.NotFound;
        if (source.SequenceEqual(destination)) return StoreStatus.Ok;
        var to = new SetValue(held.Value(1));
        if (!held.Exists(1) || !to.View.Contains(member))
        {
            if (!to.TryReserve(1, member.Length, member.Length, isInteger)) return StoreStatus.OutOfMemory;
            to.Add(member);
            to.Settle();
        }

        from.Remove(member);
        from.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Takes a member out, each as likely as another.</summary>
    /// <param name="key">The key.</param>
    /// <param name="member">The caller's to dispose; empty unless the status is Ok.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Pop(ReadOnlySpan<byte> key, out PooledBytes member)
    {
        member = default;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SetValue(held.Value);
        var dice = Dice.New();
        member.Read(set.View.Random(ref dice));
        set.Remove(member.Span);
        set.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Copies different members at random; every set of that size is equally likely.</summary>
    /// <param name="key">The key.</param>
    /// <param name="count">How many at most.</param>
    /// <param name="members">Emptied first.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(count) where members are more than eight times as many, else O(members).</remarks>
    public StoreStatus Sample(ReadOnlySpan<byte> key, int count, ElementBuffer members)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        members.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SetValue(held.Value).View;
        var sink = new CopyMembers(members);
        var all = default(Unbounded);
        var sample = new MemberSample(Math.Min(count, set.Count));
        try
        {
            set.Sample(ref sample, held.Value.Budget, ref sink, ref all);
        }
        finally
        {
            sample.Dispose();
        }

        return StoreStatus.Ok;
    }

    /// <summary>Copies all members, as of one instant.</summary>
    /// <param name="key">The key.</param>
    /// <param name="members">Emptied first.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(members); others who want the key wait.</remarks>
    public StoreStatus GetAll(ReadOnlySpan<byte> key, ElementBuffer members)
    {
        members.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var all = default(SetMembers);
        var budget = default(Unbounded);
        all.Run(new SetValue(held.Value).View, members, ref budget);
        return StoreStatus.Ok;
    }

    /// <summary>Copies some members.</summary>
    /// <param name="key">The key.</param>
    /// <param name="cursor">0 to begin, else as the last call left it; 0 then: done.</param>
    /// <param name="page">Emptied first; some ten members, or all of a small set.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>A member that is there from the first call to the last is met at least once, whatever changes
    /// meanwhile; one may be met twice.</remarks>
    public StoreStatus Scan(ReadOnlySpan<byte> key, ref ulong cursor, ElementBuffer page)
    {
        page.Clear();
        ulong from = cursor;
        cursor = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Set);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SetValue(held.Value).View;
        if (set.Kind == ValueKind.Set)
        {
            var visit = new CopyMembers(page);
            cursor = set.Scan(from, ref visit);
            return StoreStatus.Ok;
        }

        var walk = set.GetWalk();
        while (walk.Next(out var member)) page.Add(member);
        return StoreStatus.Ok;
    }

    /// <summary>Copies what sets have together, as of one instant.</summary>
    /// <param name="operation">How they are combined.</param>
    /// <param name="keys">At least one; a missing one is an empty set.</param>
    /// <param name="members">Emptied first.</param>
    /// <returns>Ok, WrongType (of any) or OutOfMemory.</returns>
    /// <remarks>Cost: O(members of all), of an intersection O(members of the smallest × sets); others who want the keys
    /// wait.</remarks>
    public StoreStatus Combine(SetOperation operation, ReadOnlySpan<ReadOnlyMemory<byte>> keys, ElementBuffer members)
    {
        members.Clear();
        return Combine(operation, keys, default, hasDestination: false, members, out _);
    }

    /// <summary>Makes what sets have together the value of a key, whatever was there, as one step; nothing: the key is
    /// deleted.</summary>
    /// <param name="operation">How they are combined.</param>
    /// <param name="destination">The key that takes the result; may be one of them.</param>
    /// <param name="keys">At least one; a missing one is an empty set.</param>
    /// <param name="count">Members of the result.</param>
    /// <returns>Ok, WrongType (of any but the destination) or OutOfMemory: nothing was changed.</returns>
    /// <inheritdoc cref="Combine(SetOperation, ReadOnlySpan{ReadOnlyMemory{byte}}, ElementBuffer)" path="/remarks"/>
    public StoreStatus CombineInto(SetOperation operation, ReadOnlySpan<byte> destination,
        ReadOnlySpan<ReadOnlyMemory<byte>> keys, out long count) =>
        Combine(operation, keys, destination, hasDestination: true, null, out count);

    private unsafe StoreStatus Combine(
        SetOperation operation, ReadOnlySpan<ReadOnlyMemory<byte>> keys, ReadOnlySpan<byte> destination,
        bool hasDestination, ElementBuffer? members, out long count)
    {
        ArgumentOutOfRangeException.ThrowIfZero(keys.Length, nameof(keys));
        count = 0;
        using HeldKeys held = _session.HoldMany(keys, destination, hasDestination);
        if (held.Status != StoreStatus.Ok) return held.Status;
        using var sets = new SetCombination(_session.Changes.Store, operation, hasDestination ? 1 : 0, keys.Length);
        if (sets.HasWrongType(held)) return StoreStatus.WrongType;
        sets.Run(held, long.MaxValue);
        if (sets.Status != StoreStatus.Ok) return sets.Status;
        count = sets.Count;
        if (hasDestination) return sets.Result.Store(held.Value(0));
        if (count == 0) return StoreStatus.Ok;
        var walk = sets.Result.GetWalk();
        while (walk.Next(out byte* item)) members!.Add(MemberItem.MemberOf(item));
        return StoreStatus.Ok;
    }
}
