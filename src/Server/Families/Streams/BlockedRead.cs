using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XREAD and XREADGROUP, waiting.</summary>
/// <remarks>
/// Once one of its keys has something for it, it reads all of them again, as if it had been sent then. A consumer of a
/// group also learns that the group, the key or its type has gone: nothing would ever come.
/// </remarks>
internal sealed class BlockedRead : BlockedCommand
{
    private readonly byte[][] _keys;
    private readonly StreamId[] _ids;
    private readonly byte[] _group = [], _consumer = [];
    private readonly bool _isGroup, _noAck;
    private readonly long _count;

    public BlockedRead(ref CommandContext context, in StreamReadArguments arguments, bool isGroup, StreamId[] ids)
        : base(context.Session)
    {
        _keys = new byte[arguments.Streams][];
        for (int i = 0; i < _keys.Length; i++)
        {
            // Pinned: lists of keys to hold need them to stay put.
            var key = context.Args[arguments.FirstKey + i].Span;
            key.CopyTo(_keys[i] = GC.AllocateUninitializedArray<byte>(key.Length, pinned: true));
        }

        // Of a key its header, its place and its id.
        foreach (byte[] key in _keys) Bytes += key.Length + 48;
        _ids = ids;
        _isGroup = isGroup;
        _noAck = arguments.NoAck;
        _count = arguments.Count;
        if (!isGroup) return;
        _group = context.Args[arguments.Group].Span.ToArray();
        _consumer = context.Args[arguments.Group + 1].Span.ToArray();
    }

    protected internal override long Bytes { get; }

    public override bool EndsWithoutKey => _isGroup;

    protected internal override bool TryServe(ref Serving serving)
    {
        if (_keys.Length > 1 && !IsReady(ref serving)) return false;
        using var held = new HeldStreams(serving.Store, serving.Database, _keys);
        if (held.Status != StoreStatus.Ok) return TryFail(ref serving, Errors.For(held.Status));
        var call = new StreamReadCall(_keys) { Count = _count, NoAck = _noAck, NowMs = serving.Store.NowMs,
            IsGroup = _isGroup, Group = _group, Consumer = _consumer };
        for (int i = 0; i < _keys.Length; i++)
        {
            bool isStream = held.Exists(i) && held[i].Type == DataType.Stream;
            if (held.Exists(i) && !isStream)
            {
                // Only a group's consumer waits for nothing else; who reads without one, and meets it at the key that
                // woke him, waits on.
                if (_isGroup || i != serving.KeyIndex) return TryFail(ref serving, Errors.WrongType);
                return false;
            }

            if (_isGroup && (!isStream || !new StreamView(held[i].View).FindGroup(_group).Exists))
                return TryFail(ref serving, NoGroup(_keys[i]));
        }

        if (!call.HasAny(held, _ids) || !serving.TryClaim()) return false;
        serving.Arm(KeyEvent.XGroupCreateConsumer);
        serving.SayNothing();
        call.TryWrite(serving.Reply, held, _ids);
        return true;
    }

    /// <summary>A look at the one key, without holding the others.</summary>
    private bool IsReady(ref Serving serving)
    {
        using var held = serving.Store.Hold(serving.Key, DataType.Any);
        if (held.Status != StoreStatus.Ok || held.Value.Type != DataType.Stream) return _isGroup;
        var stream = new StreamView(held.Value.View);
        return _isGroup ? stream.FindGroup(_group) is var group && (!group.Exists || stream.HasAfter(group.LastId))
            : stream.HasAfter(_ids[serving.KeyIndex]);
    }

    private byte[] NoGroup(byte[] key) =>
        [.. "NOGROUP No such key '"u8, .. key, .. "' or consumer group '"u8, .. _group,
            .. "' in XREADGROUP with GROUP option"u8];

    private static bool TryFail(ref Serving serving, ReadOnlySpan<byte> error)
    {
        if (!serving.TryClaim()) return false;
        serving.Reply.WriteError(error);
        return true;
    }
}
