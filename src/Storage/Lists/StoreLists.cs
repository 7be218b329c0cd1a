namespace Kv.Storage;

/// <summary>Lists of a session's database: elements in order. <see cref="StoreTypes"/> says what holds for all
/// operations.</summary>
/// <remarks>
/// An index counts from 0 on, or below 0 from the end on: -1 is the last. Cost: both ends O(1), an index O(1) in a
/// small list and a sum over its leaves in a large one (some 100 ns a million elements).
/// </remarks>
public readonly struct StoreLists
{
    private readonly StoreSession _session;

    internal StoreLists(StoreSession session) => _session = session;

    /// <summary>Puts an element at an end.</summary>
    /// <param name="key">The key.</param>
    /// <param name="end">Which end.</param>
    /// <param name="element">Any bytes.</param>
    /// <param name="count">Elements of the list then.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Push(ReadOnlySpan<byte> key, ListEnd end, ReadOnlySpan<byte> element, out long count)
    {
        count = 0;
        var push = new ListPush(element.Length);
        using HeldKey held = Hold(key, push);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(element.Length)) return StoreStatus.TooLarge;
        var list = new ListValue(held.Value);
        if (!list.TryReservePush(end == ListEnd.Left, push)) return StoreStatus.OutOfMemory;
        list.Push(end == ListEnd.Left, element);
        list.EndPush();
        count = list.Count;
        return StoreStatus.Ok;
    }

    /// <inheritdoc cref="Push(ReadOnlySpan{byte}, ListEnd, ReadOnlySpan{byte}, out long)"/>
    public StoreStatus Push(ReadOnlySpan<byte> key, ListEnd end, ReadOnlySpan<byte> element) =>
        Push(key, end, element, out _);

    /// <summary>Puts elements at an end, one after another, as one step: all, or (not Ok) none.</summary>
    /// <param name="key">The key.</param>
    /// <param name="end">Which end. At the left one the last of them is the first of the list then.</param>
    /// <param name="elements">None: nothing is done.</param>
    /// <param name="count">Elements of the list then; 0 where nothing is done.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Push(ReadOnlySpan<byte> key, ListEnd end, ElementBuffer elements, out long count)
    {
        count = 0;
        if (elements.Count == 0) return StoreStatus.Ok;
        var push = new ListPush(elements.Count, elements.Bytes, elements.Longest);
        using HeldKey held = Hold(key, push);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(push.Longest)) return StoreStatus.TooLarge;
        var list = new ListValue(held.Value);
        if (!list.TryReservePush(end == ListEnd.Left, push)) return StoreStatus.OutOfMemory;
        for (int i = 0; i < elements.Count; i++) list.Push(end == ListEnd.Left, elements[i]);
        list.EndPush();
        count = list.Count;
        return StoreStatus.Ok;
    }

    /// <summary>Takes the element at an end out.</summary>
    /// <param name="key">The key.</param>
    /// <param name="end">Which end.</param>
    /// <param name="element">The caller's to dispose; empty unless the status is Ok.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Pop(ReadOnlySpan<byte> key, ListEnd end, out PooledBytes element)
    {
        element = default;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        new ListValue(held.Value).View.TryGet(end == ListEnd.Left ? 0 : -1, out var found);
        element.Read(found);
        Remove(held.Value, end);
        return StoreStatus.Ok;
    }

    /// <summary>Takes elements at an end out, as one step.</summary>
    /// <param name="key">The key.</param>
    /// <param name="end">Which end.</param>
    /// <param name="count">How many at most.</param>
    /// <param name="elements">Emptied first; from that end on.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Pop(ReadOnlySpan<byte> key, ListEnd end, int count, ElementBuffer elements)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        elements.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status == StoreStatus.Ok) Take(held.Value, end, count, elements);
        return held.Status;
    }

    /// <summary>Takes an element out of one list and puts it into another, or at another place of the same one, as one
    /// step.</summary>
    /// <param name="source">The key that it is taken from.</param>
    /// <param name="from">At which end.</param>
    /// <param name="destination">The key that it goes to; may be the same.</param>
    /// <param name="to">At which end.</param>
    /// <param name="element">A copy of it, the caller's to dispose; empty unless the status is Ok.</param>
    /// <returns>Ok, NotFound (of the source), WrongType (of either), OutOfMemory or TooLarge.</returns>
    public StoreStatus Move(ReadOnlySpan<byte> source, ListEnd from, ReadOnlySpan<byte> destination, ListEnd to,
        out PooledBytes element)
    {
        element = default;
        using HeldKeys held = _session.HoldTwo(source, destination);
        if (held.Status != StoreStatus.Ok) return held.Status;
        HeldValue taken = held.Value(0), given = held.Value(1);
        if (!taken.Exists) return StoreStatus.NotFound;
        if (taken.Type != DataType.List || (given.Exists && given.Type != DataType.List)) return StoreStatus.WrongType;
        new ListValue(taken).View.TryGet(from == ListEnd.Left ? 0 : -1, out var found);
        element.Read(found);        // what it is in may move
        var list = new ListValue(given);
        bool isSame = source.SequenceEqual(destination);
        if (isSame && from == to) return StoreStatus.Ok;
        if (!list.TryReservePush(to == ListEnd.Left, new ListPush(element.Length)))
        {
            element.Dispose();
            return StoreStatus.OutOfMemory;
        }

        list.Push(to == ListEnd.Left, element.Span);
        Remove(taken, from);
        return StoreStatus.Ok;
    }

    /// <summary>Counts the elements.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count) => _session.Count(key, DataType.List, out count);

    /// <summary>Copies the element at an index.</summary>
    /// <param name="key">The key.</param>
    /// <param name="index">Below 0 from the end on.</param>
    /// <param name="element">The caller's to dispose; empty unless the status is Ok.</param>
    /// <returns>Ok, NotFound (no such key or index) or WrongType.</returns>
    public StoreStatus Get(ReadOnlySpan<byte> key, long index, out PooledBytes element)
    {
        element = default;
        var status = Read(key, index, ref element);
        if (status != StoreStatus.Ok) element.Dispose();
        return status;
    }

    /// <summary>Lets the caller's struct see the element at an index where it lies.</summary>
    /// <returns>Ok, NotFound (no such key or index) or WrongType; unless it is Ok, what the struct has seen is
    /// void.</returns>
    public StoreStatus Read<TRead>(ReadOnlySpan<byte> key, long index, ref TRead read)
        where TRead : struct, IElementRead
    {
        var take = new ReadElement<TRead>(ref read, index);
        var status = _session.Read(_session.Key(key), DataType.List, ref take);
        return status == StoreStatus.Ok && !take.IsThere ? StoreStatus.NotFound : status;
    }

    /// <summary>Exchanges the element at an index.</summary>
    /// <returns>Ok, NotFound (no such key or index), WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Set(ReadOnlySpan<byte> key, long index, ReadOnlySpan<byte> element)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(element.Length)) return StoreStatus.TooLarge;
        var list = new ListValue(held.Value);
        if (index < 0) index += list.Count;
        if (index < 0 || index >= list.Count) return StoreStatus.NotFound;
        if (!list.TryReserveReplace(index, element.Length)) return StoreStatus.OutOfMemory;
        list.Replace(index, element);
        list.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Puts an element at an index, before those from there on.</summary>
    /// <param name="key">The key.</param>
    /// <param name="index">From 0 to the number of elements; below 0 from the end on: at -1 it comes before the
    /// last.</param>
    /// <param name="element">Any bytes.</param>
    /// <returns>Ok, NotFound (no such key or index), WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Insert(ReadOnlySpan<byte> key, long index, ReadOnlySpan<byte> element)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(element.Length)) return StoreStatus.TooLarge;
        var list = new ListValue(held.Value);
        if (index < 0) index += list.Count;
        if (index < 0 || index > list.Count) return StoreStatus.NotFound;
        if (!list.TryReserveInsert(element.Length)) return StoreStatus.OutOfMemory;
        list.Insert(index, element);
        return StoreStatus.Ok;
    }

    /// <summary>Finds the first element that equals one.</summary>
    /// <param name="key">The key.</param>
    /// <param name="element">Its bytes.</param>
    /// <param name="index">Where it is; -1 unless the status is Ok.</param>
    /// <returns>Ok, NotFound (no such key or element) or WrongType.</returns>
    /// <remarks>Cost: O(index).</remarks>
    public StoreStatus Find(ReadOnlySpan<byte> key, ReadOnlySpan<byte> element, out long index)
    {
        index = -1;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var list = new ListValue(held.Value);
        var search = new ListSearch(rank: 1, most: 1, looked: list.Count);
        var budget = default(Unbounded);
        search.Run(list, element, default(NoPlaces), ref budget);
        index = search.Place;
        return index < 0 ? StoreStatus.NotFound : StoreStatus.Ok;
    }

    /// <summary>Copies the elements from one index to another, both of them too.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">Below 0 from the end on.</param>
    /// <param name="last">Likewise: 0 and -1 are all.</param>
    /// <param name="elements">Emptied first; stays empty where the list has none there.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(elements).</remarks>
    public StoreStatus GetRange(ReadOnlySpan<byte> key, long first, long last, ElementBuffer elements)
    {
        elements.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var list = new ListValue(held.Value).View;
        long count = IndexRange.Resolve(ref first, last, list.Count);
        var range = new ListRange(first, count);
        var budget = default(Unbounded);
        range.Run(list, elements, ref budget);
        return StoreStatus.Ok;
    }

    /// <summary>Keeps the elements from one index to another, both of them too, and removes the others.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">Below 0 from the end on.</param>
    /// <param name="last">Likewise.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(elements removed).</remarks>
    public StoreStatus Trim(ReadOnlySpan<byte> key, long first, long last)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok) return held.Status;
        long has = new ListValue(held.Value).Count, count = IndexRange.Resolve(ref first, last, has);
        if (count == has) return StoreStatus.Ok;
        var trim = new ListTrim(first, count);
        var budget = default(Unbounded);
        trim.Run(held.Value, ref budget);
        return StoreStatus.Ok;
    }

    /// <summary>Removes elements that equal one.</summary>
    /// <param name="key">The key.</param>
    /// <param name="element">Its bytes.</param>
    /// <param name="most">How many at most; <see cref="long.MaxValue"/>: all.</param>
    /// <param name="begin">The end to begin at.</param>
    /// <param name="removed">How many.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    /// <remarks>Cost: O(elements of the list).</remarks>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<byte> element, long most, ListEnd begin,
        out long removed)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        removed = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.List);
        if (held.Status != StoreStatus.Ok || most == 0) return held.Status;
        var removal = new ListRemoval(most, fromRight: begin == ListEnd.Right);
        var budget = default(Unbounded);
        removal.Run(held.Value, element, ref budget);
        removed = removal.Removed;
        return StoreStatus.Ok;
    }

    private HeldKey Hold(ReadOnlySpan<byte> key, in ListPush push) =>
        _session.Hold(_session.Key(key), DataType.List,
            ListValue.ExpectedBytes(_session.Changes.Store.PackedLimits, push));

    private static void Take(HeldValue value, ListEnd end, long most, ElementBuffer elements)
    {
        var take = new ListTake(new ListValue(value), left: end == ListEnd.Left, most);
        var budget = default(Unbounded);
        // Ends: each round gets on.
        while (!take.Run(value, elements, ref budget))
        {
        }
    }

    private static void Remove(HeldValue value, ListEnd end) =>
        new ListValue(value).RemoveEnd(left: end == ListEnd.Left);

    /// <summary>Shows one element to a reader.</summary>
    private ref struct ReadElement<TRead> : IValueRead where TRead : struct, IElementRead
    {
        private readonly ref TRead _read;
        private readonly long _index;

        public ReadElement(ref TRead read, long index)
        {
            _read = ref read;
            _index = index;
        }

        public bool IsThere { get; private set; }

        public void Read(in ValueView value)
        {
            IsThere = new ListView(value).TryGet(_index, out var found);
            if (IsThere) _read.Read(found);
        }
    }
}
