using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many entries of several streams, for XREAD and XREADGROUP.</summary>
/// <remarks>What a consumer was given before memory ended is given, as in one turn.</remarks>
internal sealed class StreamReadSteps : HeldSteps
{
    private const int EntriesAtOnce = 64;

    private readonly byte[][] _keys;
    private readonly StreamId[] _ids;
    private readonly byte[]? _group, _consumer;
    private readonly long _most, _nowMs;
    private readonly bool _isMap, _noAck;
    private bool _hasConsumers;
    private int _stream, _written;
    private StreamId _behind;
    private ReplyWriter? _head;     // of the stream's entries, whose number stands ahead of them
    private ReplyMark _begin;

    private StreamReadSteps(ref CommandContext context, in StreamReadArguments arguments,
        scoped ReadOnlySpan<StreamId> ids)
    {
        _isMap = context.Reply.Version == RespVersion.Resp3;
        _most = arguments.Count;
        _nowMs = context.Store.NowMs;
        _noAck = arguments.NoAck;
        _ids = ids.ToArray();
        _keys = new byte[ids.Length][];
        for (int i = 0; i < _keys.Length; i++) _keys[i] = context.Args[arguments.FirstKey + i].Span.ToArray();
        if (arguments.Group == 0) return;
        _group = context.Args[arguments.Group].Span.ToArray();
        _consumer = context.Args[arguments.Group + 1].Span.ToArray();
    }

    /// <inheritdoc/>
    public override bool HasChanged => _hasConsumers;

    /// <summary>Begins, if there are many entries behind the ids.</summary>
    /// <param name="ids">Behind which id each stream is read; the greatest one for what no consumer of the group has
    /// got.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments,
        scoped ReadOnlySpan<StreamId> ids)
    {
        if (arguments.Count <= StepBudget.OneTurnMax / ids.Length || !context.MayStep) return false;
        long found = 0;
        for (int i = 0; i < ids.Length && found <= StepBudget.OneTurnMax; i++)
            if (held.Exists(i))
                found += Math.Min(arguments.Count,
                    CountBehind(ref context, new StreamView(held[i].View), in arguments, ids[i],
                    StepBudget.OneTurnMax + 1 - found));
        if (!IsWanted(ref context, found)) return false;
        var read = new StreamReadSteps(ref context, in arguments, ids);
        return read.TryBegin(ref context, held, read._isMap ? ReplyHead.Map : ReplyHead.Array);
    }

    /// <summary>About how many entries there are to answer, as far as it matters.</summary>
    private static long CountBehind(ref CommandContext context, scoped StreamView stream,
        in StreamReadArguments arguments, StreamId id, long most)
    {
        StreamGroup group = arguments.Group == 0 ? default : stream.FindGroup(context.Args[arguments.Group].Span);
        bool isNew = id == StreamId.Max;
        if (group.Exists && isNew) id = group.LastId;
        if (!id.TryNext(out StreamId first)) return 0;
        if (!group.Exists || isNew) return stream.LastId < first ? 0 : stream.CountSome(first, StreamId.Max, most);
        StreamConsumer consumer = group.Find(context.Args[arguments.Group + 1].Span);
        return consumer.Exists ? consumer.Pending.CountSome(first, most) : 0;
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        if (_group != null && !_hasConsumers && !TryFindConsumers(held))
        {
            Status = StoreStatus.OutOfMemory;
            return true;
        }

        for (var budget = new StepBudget(reply); _stream < _ids.Length; _stream++)
            if (held.Exists(_stream) && !WorkOnOne(held.Value(_stream), reply, ref budget))
                return Status != StoreStatus.Ok;

        return true;
    }

    private bool TryFindConsumers(in HeldKeys held)
    {
        _hasConsumers = true;
        for (int i = 0; i < _ids.Length; i++)
            if (!new StreamGroupRead(held.Value(i), _group, _nowMs).TryFindConsumer(_consumer)) return false;
        return true;
    }

    /// <returns>True when the stream is done.</returns>
    private bool WorkOnOne(HeldValue value, CollectedReply reply, ref StepBudget budget)
    {
        if (_head == null)
        {
            if (!budget.TryTake()) return false;
            if (!HasAny(value)) return true;
            _head = reply.Next();
            if (!_isMap) _head.WriteArray(2);
            _head.WriteBulk(_keys[_stream]);
            _begin = _head.BeginArray();
            _behind = _ids[_stream];
            _written = 0;
        }

        // Ends: each round writes some, or is the last.
        for (int written = 1; written != 0 && _written < _most; _written += written)
        {
            if (!budget.TryTake(EntriesAtOnce)) return false;
            written = Write(value, reply.Next(), Math.Min(EntriesAtOnce, _most - _written));
            if (Status != StoreStatus.Ok) return false;
        }

        _head.EndArray(_begin, _written);
        _head = null;
        Count++;
        return true;
    }

    private bool HasAny(HeldValue value)
    {
        if (_group == null) return new StreamView(value.View).HasBehind(_ids[_stream]);
        return _ids[_stream] != StreamId.Max || new StreamGroupRead(value, _group, _nowMs).HasNew;
    }

    /// <summary>Writes the next entries.</summary>
    /// <returns>How many; 0: that were all.</returns>
    private int Write(HeldValue value, ReplyWriter reply, long most)
    {
        if (_group == null)
            return StreamReply.WriteBehind(reply, new StreamView(value.View), ref _behind, most, BytesPerStep);
        var read = new StreamGroupRead(value, _group, _nowMs);
        read.TryFindConsumer(_consumer);        // it is there
        if (_ids[_stream] != StreamId.Max) return read.WriteHistory(reply, ref _behind, most, BytesPerStep);
        // Without memory what was given before is the answer, if something was.
        if (!read.TryDeliver(reply, most, BytesPerStep, _noAck, out int delivered) && _written == 0 && Count == 0)
            Status = StoreStatus.OutOfMemory;
        return delivered;
    }
}
