using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes the reply of XREAD or XREADGROUP on streams that are held: stream after stream, as far as the budget
/// goes.</summary>
/// <remarks>When there is no more memory the reply ends; entries that were delivered before stay delivered. Each piece
/// is given the same call, streams and ids.</remarks>
internal struct StreamReadWork
{
    private const int EntriesAtOnce = 64;

    private bool _hasConsumers;
    private int _stream, _entries;
    private StreamId _behind;
    private ReplyWriter? _head;     // of the stream's entries, whose number stands ahead of them
    private ReplyMark _begin;

    /// <summary>Streams that were written.</summary>
    public int Streams { get; private set; }

    /// <summary>OutOfMemory: nothing was given.</summary>
    public StoreStatus Status { get; private set; }

    /// <summary>Whether consumers were noted, or may have been added.</summary>
    public readonly bool HasChanged => _hasConsumers;

    /// <summary>Does the next part.</summary>
    /// <returns>True when everything is done.</returns>
    public bool Run<TReply, TBudget>(in StreamReadCall call, scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids,
        TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        if (call.IsGroup && !_hasConsumers && !TryFindConsumers(call, held, ids.Length))
        {
            Status = StoreStatus.OutOfMemory;
            return true;
        }

        for (; _stream < ids.Length; _stream++)
            if (held.Exists(_stream) && !RunStream(call, held[_stream], ids[_stream], reply, ref budget))
                return Status != StoreStatus.Ok;
        return true;
    }

    // All that can fail first, as far as it is known.
    private bool TryFindConsumers(in StreamReadCall call, scoped HeldStreams held, int streams)
    {
        _hasConsumers = true;
        for (int i = 0; i < streams; i++)
            if (!call.GroupOf(held[i]).TryFindConsumer(call.Consumer)) return false;
        return true;
    }

    /// <returns>True when the stream is done.</returns>
    private bool RunStream<TReply, TBudget>(in StreamReadCall call, HeldValue value, StreamId id, TReply reply,
        ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        if (_head == null)
        {
            if (!budget.TryTake()) return false;
            if (!call.HasAny(new StreamView(value.View), id)) return true;
            Begin(call, id, reply.Next());
        }

        // What is delivered first is noted entry by entry: room is made for some at a time.
        long atOnce = TBudget.IsBounded || (call.IsGroup && id == StreamId.Max) ? EntriesAtOnce : long.MaxValue;
        int bytes = TBudget.IsBounded ? StepBudget.BytesMax : int.MaxValue;
        // Ends: each round writes some, or is the last.
        for (bool isLast = false; !isLast && _entries < call.Count;)
        {
            if (!budget.TryTake(EntriesAtOnce)) return false;
            long most = Math.Min(atOnce, call.Count - _entries);
            int written = Write(call, value, id, reply.Next(), most, bytes);
            if (Status != StoreStatus.Ok) return false;
            _entries += written;
            isLast = written == 0 || (!TBudget.IsBounded && written < most);
        }

        Debug.Assert(_entries <= call.Count, "no more is written than was asked for");
        _head!.EndArray(_begin, _entries);
        _head = null;
        Streams++;
        return true;
    }

    private void Begin(in StreamReadCall call, StreamId id, ReplyWriter reply)
    {
        Debug.Assert(_head == null, "one stream after the other");
        _head = reply;
        if (reply.Version != RespVersion.Resp3) reply.WriteArray(2);
        reply.WriteBulk(call.Key(_stream));
        _begin = reply.BeginArray();
        _behind = id;
        _entries = 0;
    }

    /// <summary>Writes the next entries.</summary>
    /// <returns>How many; 0: that were all.</returns>
    private int Write(in StreamReadCall call, HeldValue value, StreamId id, ReplyWriter reply, long most, int bytes)
    {
        Debug.Assert(most > 0 && bytes > 0, "each call writes an entry, or is the last");
        if (!call.IsGroup) return StreamReply.WriteBehind(reply, new StreamView(value.View), ref _behind, most, bytes);
        var read = call.GroupOf(value);
        read.TryFindConsumer(call.Consumer);        // it is there
        if (id != StreamId.Max) return read.WriteHistory(reply, ref _behind, most, bytes);
        // Without memory what was given before is the answer, if something was.
        if (!read.TryDeliver(reply, most, bytes, call.NoAck, out int delivered) && _entries == 0 && Streams == 0)
            Status = StoreStatus.OutOfMemory;
        return delivered;
    }
}
