namespace Kv.Storage;

/// <summary>Sorted sets of a session's database: different members, in the order of their scores.
/// <see cref="StoreTypes"/> says what holds for all operations.</summary>
/// <remarks>
/// Members with equal scores are in the order of their bytes. A rank counts from 0 on, the least score; where ranks
/// make a range, below 0 from the end on. Cost: a score O(1), a rank and an element at a rank O(log n), a range O(log
/// n) and its elements.
/// </remarks>
public readonly struct StoreSortedSets
{
    private readonly StoreSession _session;

    internal StoreSortedSets(StoreSession session) => _session = session;

    /// <summary>Adds a member, or gives it another score, as the rule says.</summary>
    /// <param name="key">The key.</param>
    /// <param name="member">Any bytes.</param>
    /// <param name="score">Not NaN. With <see cref="ScoreRule.Increment"/> it is added to the member's.</param>
    /// <param name="rule">When it may be added or changed.</param>
    /// <param name="outcome">What has become of it.</param>
    /// <returns>Ok (look at the outcome), NotFound (no such key, and the rule adds none), WrongType, OutOfMemory or
    /// TooLarge.</returns>
    /// <exception cref="ArgumentException">The score is NaN.</exception>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, double score, ScoreRule rule,
        out ScoreOutcome outcome) =>
        Set(key, member, ref score, rule, out outcome);

    /// <summary>Adds a member, or gives it another score.</summary>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    /// <exception cref="ArgumentException">The score is NaN.</exception>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, double score) =>
        Set(key, member, ref score, ScoreRule.None, out _);

    /// <summary>Adds members or gives them other scores, as one step: all, or (not Ok) none.</summary>
    /// <param name="key">The key.</param>
    /// <param name="elements">Of a member that is there twice the last score counts. None: nothing is done.</param>
    /// <param name="added">How many are new.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Set(ReadOnlySpan<byte> key, ScoreBuffer elements, out int added)
    {
        added = 0;
        if (elements.Count == 0) return StoreStatus.Ok;
        var room = default(ScoreRoom);
        for (int i = 0; i < elements.Count; i++) room.Add(elements.Member(i).Length, elements.Score(i));
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet, room.ExpectedBytes);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(room.Longest)) return StoreStatus.TooLarge;
        var set = new SortedSetValue(held.Value);
        for (int i = 0; i < elements.Count; i++)
        {
            double score = elements.Score(i);
            // Only the first change can lack memory: it reserves for all.
            var outcome = set.Set(elements.Member(i), ref score, ScoreRule.None, ref room);
            if (outcome == ScoreOutcome.OutOfMemory) return StoreStatus.OutOfMemory;
            if (outcome == ScoreOutcome.Added) added++;
        }

        set.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Adds to a member's score; a missing one is added with it.</summary>
    /// <param name="key">The key.</param>
    /// <param name="member">Any bytes.</param>
    /// <param name="increment">Not NaN.</param>
    /// <param name="score">The score from now on; unless the status is Ok, 0.</param>
    /// <returns>Ok, WrongType, OutOfMemory, TooLarge, or NotANumber: the sum of two infinities.</returns>
    /// <exception cref="ArgumentException">The increment is NaN.</exception>
    public IncrementStatus Increment(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, double increment,
        out double score)
    {
        double sum = increment;
        var status = Set(key, member, ref sum, ScoreRule.Increment, out var outcome);
        bool isNumber = outcome != ScoreOutcome.NotANumber;
        score = status == StoreStatus.Ok && isNumber ? sum : 0;
        return status == StoreStatus.Ok && !isNumber ? IncrementStatus.NotANumber : (IncrementStatus)status;
    }

    /// <summary>Removes a member.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value);
        bool removed = set.Remove(member);
        set.Settle();
        return removed ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Tells a member's score.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus GetScore(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, out double score)
    {
        scoped var read = new ReadScore(member, in _session.MemberHash);
        var status = Read(key, ref read);
        score = status == StoreStatus.Ok ? read.Score : 0;
        return status;
    }

    /// <summary>Tells how many members come before one, and its score.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus GetRank(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, out long rank, out double score)
    {
        scoped var read = new ReadScore(member, in _session.MemberHash) { WantsRank = true };
        var status = Read(key, ref read);
        (rank, score) = status == StoreStatus.Ok ? (read.Rank, read.Score) : (-1, 0);
        return status;
    }

    /// <summary>Counts the members.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count) =>
        _session.Count(key, DataType.SortedSet, out count);

    /// <summary>Counts the members whose scores are in a range.</summary>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, ScoreRange range, out long count)
    {
        scoped var read = new ReadRangeCount(range, in _session.MemberHash);
        var status = _session.Read(_session.Key(key), DataType.SortedSet, ref read);
        count = status == StoreStatus.Ok ? read.Count : 0;
        return status;
    }

    /// <summary>Copies the elements from one rank to another, both of them too.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">Below 0 from the end on.</param>
    /// <param name="last">Likewise: 0 and -1 are all.</param>
    /// <param name="elements">Emptied first; stays empty where there are none.</param>
    /// <param name="descending">Whether ranks count from the greatest score on, and the elements come in that
    /// order.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus GetRange(ReadOnlySpan<byte> key, long first, long last, ScoreBuffer elements,
        bool descending = false)
    {
        elements.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value).View;
        long count = IndexRange.Resolve(ref first, last, set.Count);
        Copy(set, descending ? set.Count - 1 - first : first, count, descending, elements);
        return StoreStatus.Ok;
    }

    /// <summary>Copies the elements whose scores are in a range.</summary>
    /// <param name="key">The key.</param>
    /// <param name="range">Which scores.</param>
    /// <param name="elements">Emptied first; stays empty where there are none.</param>
    /// <param name="skip">How many are left out first.</param>
    /// <param name="most">How many are copied then, at most.</param>
    /// <param name="descending">Whether the greatest score comes first.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus GetRange(
        ReadOnlySpan<byte> key, ScoreRange range, ScoreBuffer elements, long skip = 0, long most = long.MaxValue,
        bool descending = false)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(skip);
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        elements.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value).View;
        long count = range.Find(set, out long first);
        long copied = Math.Min(most, Math.Max(0, count - skip));
        Copy(set, descending ? first + count - 1 - skip : first + skip, copied, descending, elements);
        return StoreStatus.Ok;
    }

    /// <summary>Removes the elements from one rank to another, both of them too.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">Below 0 from the end on.</param>
    /// <param name="last">Likewise: 0 and -1 are all.</param>
    /// <param name="removed">How many.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus RemoveRange(ReadOnlySpan<byte> key, long first, long last, out long removed)
    {
        removed = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        removed = IndexRange.Resolve(ref first, last, new SortedSetValue(held.Value).Count);
        RemoveAt(held.Value, first, removed);
        return StoreStatus.Ok;
    }

    /// <summary>Removes the elements whose scores are in a range.</summary>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus RemoveRange(ReadOnlySpan<byte> key, ScoreRange range, out long removed)
    {
        removed = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        removed = range.Find(new SortedSetValue(held.Value).View, out long first);
        RemoveAt(held.Value, first, removed);
        return StoreStatus.Ok;
    }

    /// <summary>Takes the element with the least score out, or the one with the greatest.</summary>
    /// <param name="key">The key.</param>
    /// <param name="greatest">Which of the two.</param>
    /// <param name="member">The caller's to dispose; empty unless the status is Ok.</param>
    /// <param name="score">Its score.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Pop(ReadOnlySpan<byte> key, bool greatest, out PooledBytes member, out double score)
    {
        member = default;
        score = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value).View;
        long rank = greatest ? set.Count - 1 : 0;
        set.From(rank).Next(out var found, out score);
        member.Read(found);
        RemoveAt(held.Value, rank, 1);
        return StoreStatus.Ok;
    }

    /// <summary>Takes the elements with the least scores out, or those with the greatest, as one step.</summary>
    /// <param name="key">The key.</param>
    /// <param name="greatest">Which of the two.</param>
    /// <param name="count">How many at most.</param>
    /// <param name="elements">Emptied first; from that end on.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Pop(ReadOnlySpan<byte> key, bool greatest, int count, ScoreBuffer elements)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        elements.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var take = new SortedSetTake(new SortedSetValue(held.Value), greatest, count);
        var budget = default(Unbounded);
        // Ends: each round gets on.
        while (!take.Run(held.Value, elements, ref budget))
        {
        }

        return StoreStatus.Ok;
    }

    /// <summary>Copies some elements.</summary>
    /// <param name="key">The key.</param>
    /// <param name="cursor">0 to begin, else as the last call left it; 0 then: done.</param>
    /// <param name="page">Emptied first; some ten elements, or all of a small set, in no order.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>A member that is there from the first call to the last is met at least once, whatever changes
    /// meanwhile; one may be met twice.</remarks>
    public StoreStatus Scan(ReadOnlySpan<byte> key, ref ulong cursor, ScoreBuffer page)
    {
        page.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        ulong from = cursor;
        cursor = 0;
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value).View;
        var visit = new CopyElements(set, page);
        cursor = set.Scan(from, ref visit);
        return StoreStatus.Ok;
    }

    /// <summary>Makes what sorted sets have together the value of a key, whatever was there, as one step; nothing: the
    /// key is deleted.</summary>
    /// <param name="operation">How they are combined. Of a difference the scores of the first count.</param>
    /// <param name="destination">The key that takes the result; may be one of them.</param>
    /// <param name="keys">At least one; a missing one is empty, and members of a set have the score 1.</param>
    /// <param name="aggregate">How the scores of a member become one.</param>
    /// <param name="weights">What the scores of each are multiplied by, in the order of the keys; none: 1.</param>
    /// <param name="count">Members of the result.</param>
    /// <returns>Ok, WrongType (of any but the destination) or OutOfMemory: nothing was changed.</returns>
    /// <remarks>Cost: O(elements of all × log of them); others who want the keys wait.</remarks>
    public StoreStatus CombineInto(
        SetOperation operation, ReadOnlySpan<byte> destination, ReadOnlySpan<ReadOnlyMemory<byte>> keys,
        ScoreAggregate aggregate, ReadOnlySpan<double> weights, out long count)
    {
        ArgumentOutOfRangeException.ThrowIfZero(keys.Length, nameof(keys));
        if (weights.Length != 0 && weights.Length != keys.Length)
            throw new ArgumentException("There is a weight for each key, or none.", nameof(weights));
        count = 0;
        using HeldKeys held = _session.HoldMany(keys, destination, hasDestination: true);
        if (held.Status != StoreStatus.Ok) return held.Status;
        using var sets = new SortedSetCombination(_session.Changes.Store, operation, 1,
            keys.Length) { Weights = weights.Length == 0 ? null : weights.ToArray(), Aggregate = aggregate };
        if (sets.HasWrongType(held)) return StoreStatus.WrongType;
        sets.Run(held, long.MaxValue);
        if (sets.Status != StoreStatus.Ok) return sets.Status;
        count = sets.Result.Count;
        return sets.Result.Store(held.Value(0));
    }

    private StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, ref double score, ScoreRule rule,
        out ScoreOutcome outcome)
    {
        if (double.IsNaN(score)) throw new ArgumentException("A score is a number.", nameof(score));
        outcome = ScoreOutcome.Refused;
        var room = default(ScoreRoom);
        room.Add(member.Length, score);
        bool createsNone = (rule & ScoreRule.OnlyExisting) != 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet,
            createsNone ? HeldKey.OnlyIfThere : room.ExpectedBytes);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(member.Length)) return StoreStatus.TooLarge;
        var set = new SortedSetValue(held.Value);
        outcome = set.Set(member, ref score, rule, ref room);
        if (outcome == ScoreOutcome.OutOfMemory) return StoreStatus.OutOfMemory;
        set.Settle();
        return StoreStatus.Ok;
    }

    private StoreStatus Read(ReadOnlySpan<byte> key, scoped ref ReadScore read)
    {
        var status = _session.Read(_session.Key(key), DataType.SortedSet, ref read);
        return status == StoreStatus.Ok && !read.IsMember ? StoreStatus.NotFound : status;
    }

    private static void Copy(SortedSetView set, long rank, long count, bool descending, ScoreBuffer elements)
    {
        var range = new RankRange(rank, count, descending);
        var budget = default(Unbounded);
        range.Run(set, elements, ref budget);
    }

    private static void RemoveAt(HeldValue value, long rank, long count)
    {
        var set = new SortedSetValue(value);
        set.RemoveAt(rank, count);
        set.Settle();
    }

    private ref struct ReadRangeCount : IValueRead
    {
        private readonly ScoreRange _range;
        private readonly ref readonly KeyHash _hash;

        public ReadRangeCount(ScoreRange range, ref readonly KeyHash hash)
        {
            _range = range;
            _hash = ref hash;
        }

        public long Count { get; private set; }

        public void Read(in ValueView value) => Count = _range.Find(new SortedSetView(value, in _hash), out _);
    }

    private readonly unsafe ref struct CopyElements(SortedSetView set, ScoreBuffer page) : IMemberVisit
    {
        private readonly SortedSetView _set = set;

        public void Visit(byte* item)
        {
            _set.Split(item, out var member, out double score);
            page.Add(member, score);
        }
    }
}
