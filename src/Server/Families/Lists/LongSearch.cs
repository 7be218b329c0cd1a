using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Looks through a long list for elements that equal one, for LPOS and LINSERT.</summary>
internal sealed class LongSearch : LongElements
{
    private const int LookedMax = 16 * 1024, LeavesPerStep = 16;

    private readonly byte[] _element;
    private readonly byte[]? _inserted;
    private readonly bool _isBefore, _answersMany, _backwards;
    private readonly long _rank, _most, _end;
    private long _looked, _matches;

    private LongSearch(ReadOnlySpan<byte> element, in ListSearch search, long length)
    {
        _element = element.ToArray();
        _backwards = search.Rank < 0;
        _rank = Math.Abs(search.Rank);
        _answersMany = search.Count >= 0;
        _most = search.Count <= 0 && _answersMany ? long.MaxValue : Math.Max(1, search.Count);
        _end = search.Looked == 0 ? length : Math.Min(search.Looked, length);
    }

    private LongSearch(ReadOnlySpan<byte> pivot, ReadOnlySpan<byte> inserted, bool isBefore, long length)
        : this(pivot, new ListSearch { Rank = 1, Count = -1 }, length)
    {
        _inserted = inserted.ToArray();
        _isBefore = isBefore;
    }

    /// <summary>Begins to answer the places, if the list is long.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> element,
        in ListSearch search)
    {
        var list = new ListValue(held.Value);
        return list.Count > LookedMax && !context.InTransaction && new LongSearch(element, search, list.Count)
            .TryBegin(ref context, held, search.Count >= 0 ? ReplyHead.Array : ReplyHead.None, count: 0);
    }

    /// <summary>Begins to put an element next to the first one that equals a pivot, if the list is long.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> pivot,
        ReadOnlySpan<byte> inserted, bool isBefore)
    {
        var list = new ListValue(held.Value);
        return list.Count > LookedMax && !context.InTransaction
            && new LongSearch(pivot, inserted, isBefore, list.Count)
                .TryBegin(ref context, held, ReplyHead.None, count: 0);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var list = new ListValue(value);
        long length = list.Count;
        if (_looked < _end)
        {
            long first = _backwards ? length - 1 - _looked : _looked,
                end = Math.Min(_end, _looked + list.CountIn(first, LeavesPerStep, _backwards));
            var walk = list.View.GetWalk(first, _backwards);
            for (; _looked < end && walk.Next(out var next); _looked++)
            {
                if (!next.SequenceEqual(_element) || ++_matches < _rank) continue;
                long place = _backwards ? length - 1 - _looked : _looked;
                if (_inserted != null) return Insert(list, place, reply);
                reply.Next().WriteInteger(place);
                if (++Count == _most) return true;
            }

            if (_looked < _end) return false;
        }

        if (_inserted != null) reply.Next().WriteInteger(-1);
        else if (!_answersMany) reply.Next().WriteNull();
        return true;
    }

    private bool Insert(ListValue list, long place, LongReply reply)
    {
        if (!list.TryReserveInsert(_inserted!.Length))
        {
            Status = StoreStatus.OutOfMemory;
            return true;
        }

        list.Insert(_isBefore ? place : place + 1, _inserted);
        reply.Next().WriteInteger(list.Count);
        return true;
    }
}

/// <summary>What LPOS asks for.</summary>
internal readonly record struct ListSearch
{
    /// <summary>Which match is the first one; below 0 from the end on.</summary>
    public long Rank { get; init; }

    /// <summary>How many to answer, 0 all; -1: one, not in an array.</summary>
    public long Count { get; init; }

    /// <summary>How many elements to look at, 0 all.</summary>
    public long Looked { get; init; }
}
