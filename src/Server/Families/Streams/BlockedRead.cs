using System.Diagnostics;
using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XREAD and XREADGROUP, waiting.</summary>
/// <remarks>
/// The first of its keys that has something for it is what it gets, whatever has become of the others, as with Redis
/// 7.0; 7.2 reads all of them again. A consumer of a group also learns that the group, the key or its type has gone:
/// nothing would ever come.
/// </remarks>
internal sealed class BlockedRead : BlockedCommand
{
    private readonly StreamId[] _ids;
    private readonly byte[] _group = [], _consumer = [];
    private readonly bool _isGroup, _noAck;
    private readonly long _count;

    public BlockedRead(ref CommandContext context, in StreamReadArguments arguments, bool isGroup, StreamId[] ids)
        : base(context.Session)
    {
        _ids = ids;
        _isGroup = isGroup;
        _noAck = arguments.NoAck;
        _count = arguments.Count;
        if (!isGroup) return;
        _group = context.Args[arguments.Group].Span.ToArray();
        _consumer = context.Args[arguments.Group + 1].Span.ToArray();
    }

    private static ReadOnlySpan<byte> KeyGone => "UNBLOCKED the stream key no longer exists"u8;

    private static ReadOnlySpan<byte> GroupGone =>
        "NOGROUP the consumer group this client was blocked on no longer exists"u8;

    // Of each key its id.
    protected internal override long Bytes => ((long)_ids.Length * 16) + _group.Length + _consumer.Length;

    public override bool EndsWithoutKey => _isGroup;

    protected internal override bool TryServe(ref Serving serving)
    {
        Debug.Assert((uint)serving.KeyIndex < (uint)_ids.Length, "each key has its id");
        using var held = new HeldStreams(serving.Store, serving.Key);
        if (held.Status != StoreStatus.Ok) return TryFail(ref serving, Errors.For(held.Status));
        // Only a group's consumer waits for nothing else; who reads without one waits on.
        if (!held.Exists(0) || held[0].Type != DataType.Stream) return _isGroup && TryFail(ref serving, KeyGone);
        var stream = new StreamView(held[0].View);
        if (_isGroup && !stream.FindGroup(_group).Exists) return TryFail(ref serving, GroupGone);
        var call = new StreamReadCall([serving.KeyBytes])
        {
            Count = _count, NoAck = _noAck, NowMs = serving.Store.NowMs, IsGroup = _isGroup, Group = _group,
            Consumer = _consumer,
        };
        var id = _ids.AsSpan(serving.KeyIndex, 1);
        if (!call.HasAny(stream, id[0]) || !serving.TryClaim()) return false;
        serving.Arm(KeyEvent.XGroupCreateConsumer);
        serving.SayNothing();
        call.TryWrite(serving.Reply, held, id);
        return true;
    }

    private static bool TryFail(ref Serving serving, ReadOnlySpan<byte> error)
    {
        if (!serving.TryClaim()) return false;
        serving.Reply.WriteError(error);
        return true;
    }
}
