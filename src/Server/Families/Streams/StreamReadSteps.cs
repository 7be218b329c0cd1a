using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many entries of several streams, for XREAD and XREADGROUP.</summary>
internal sealed class StreamReadSteps : HeldSteps
{
    private readonly byte[][] _keys;
    private readonly StreamId[] _ids;
    private readonly byte[]? _group, _consumer;
    private readonly long _most, _nowMs;
    private readonly bool _noAck;
    private StreamReadWork _work;

    private StreamReadSteps(ref CommandContext context, in StreamReadArguments arguments,
        scoped ReadOnlySpan<StreamId> ids)
    {
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
    public override bool HasChanged => _work.HasChanged;

    /// <summary>Begins, if there are many entries behind the ids.</summary>
    /// <param name="ids">Behind which id each stream is read; the greatest one for what no consumer of the group has
    /// got.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments,
        scoped ReadOnlySpan<StreamId> ids)
    {
        Debug.Assert(ids.Length == arguments.Streams, "each stream has its id");
        if (arguments.Count <= StepBudget.OneTurnMax / ids.Length || !context.MayStep) return false;
        long found = 0;
        for (int i = 0; i < ids.Length && found <= StepBudget.OneTurnMax; i++)
            if (held.Exists(i))
                found += Math.Min(arguments.Count,
                    CountBehind(ref context, new StreamView(held[i].View), in arguments, ids[i],
                    StepBudget.OneTurnMax + 1 - found));
        if (!IsWanted(ref context, found)) return false;
        var read = new StreamReadSteps(ref context, in arguments, ids);
        return read.TryBegin(ref context, held, StreamReadCall.HeadOf(context.Reply.Version));
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
        var call = new StreamReadCall(_keys)
        {
            Count = _most, NoAck = _noAck, NowMs = _nowMs, IsGroup = _group != null, Group = _group,
            Consumer = _consumer,
        };
        var budget = new StepBudget(reply);
        bool isDone = _work.Run(call, new HeldStreams(held), _ids, new CollectedTarget(reply), ref budget);
        Count = _work.Streams;
        Status = _work.Status;
        return isDone;
    }
}
