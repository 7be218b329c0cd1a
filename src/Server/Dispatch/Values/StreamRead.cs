using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>XREAD and XREADGROUP: what is behind given ids, of several streams as of one instant.</summary>
internal static class StreamRead
{
    private const int OnStack = 16;

    private static ReadOnlySpan<byte> DollarInGroup =>
        "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."u8;

    private static ReadOnlySpan<byte> NewWithoutGroup =>
        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."u8;

    /// <summary>The command.</summary>
    [SkipLocalsInit]
    public static void Run(ref CommandContext context, bool isGroup)
    {
        var arguments = default(StreamReadArguments);
        if (!arguments.TryRead(ref context, isGroup)) return;
        Span<StreamId> ids = arguments.Streams <= OnStack ? stackalloc StreamId[OnStack] : new StreamId[arguments.Streams];
        ids = ids[..arguments.Streams];
        using (var held = new HeldStreams(ref context, arguments.FirstKey, arguments.Streams))
        {
            if (held.Status != StoreStatus.Ok)
            {
                context.Fail(Errors.For(held.Status));
                return;
            }

            if (!TryReadIds(ref context, held, in arguments, isGroup, ids)) return;
            if (isGroup ? !TryServeGroup(ref context, held, in arguments, ids, out bool answered) : !TryServe(ref context, held, in arguments, ids, out answered)) return;
            if (answered) return;
        }

        context.Reply.WriteNullArray();
    }

    /// <summary>Looks at keys, groups and ids, one after the other: the first thing that is wrong is the answer.</summary>
    /// <param name="ids">Gets behind which id each stream is read; the greatest one for what no consumer has got.</param>
    private static bool TryReadIds(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments, bool isGroup, scoped Span<StreamId> ids)
    {
        for (int i = 0; i < ids.Length; i++)
        {
            bool exists = held.Exists(i);
            if (exists && held[i].Type != DataType.Stream) return Fail(ref context, Errors.WrongType);
            if (isGroup)
            {
                var name = context.Args[arguments.Group].Span;
                if (!exists || !new StreamView(held[i].View).FindGroup(name).Exists)
                {
                    StreamReply.FailNoGroup(ref context, context.Args[arguments.FirstKey + i].Span, name, " in XREADGROUP with GROUP option"u8);
                    return false;
                }
            }

            var text = context.Args[arguments.FirstId + i].Span;
            if (text is [(byte)'$'])
            {
                if (isGroup) return Fail(ref context, DollarInGroup);
                ids[i] = exists ? new StreamView(held[i].View).LastId : StreamId.Zero;
            }
            else if (text is [(byte)'>'])
            {
                if (!isGroup) return Fail(ref context, NewWithoutGroup);
                ids[i] = StreamId.Max;
            }
            else if (!StreamIdText.TryParse(text, 0, out ids[i]))
            {
                return Fail(ref context, StreamIdText.Invalid);
            }
        }

        return true;
    }

    private static bool TryServe(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments, scoped ReadOnlySpan<StreamId> ids, out bool answered)
    {
        var answer = new Answer(context.Reply, ids.Length);
        for (int i = 0; i < ids.Length; i++)
        {
            if (!held.Exists(i)) continue;
            var stream = new StreamView(held[i].View);
            if (!stream.HasBehind(ids[i]) || !ids[i].TryNext(out StreamId first)) continue;
            answer.BeginStream(context.Args[arguments.FirstKey + i].Span);
            StreamReply.WriteRange(context.Reply, stream, first, StreamId.Max, arguments.Count);
        }

        answered = answer.End();
        return true;
    }

    private static bool TryServeGroup(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments, scoped ReadOnlySpan<StreamId> ids, out bool answered)
    {
        answered = false;
        var name = context.Args[arguments.Group].Span;
        var consumerName = context.Args[arguments.Group + 1].Span;
        // All that can fail first, as far as it is known.
        for (int i = 0; i < ids.Length; i++)
        {
            var read = new StreamGroupRead(held[i], name, context.Store.NowMs);
            if (!read.TryFindConsumer(consumerName)) return Fail(ref context, Errors.OutOfMemory);
        }

        var begin = context.Reply.Mark();
        var answer = new Answer(context.Reply, ids.Length);
        for (int i = 0; i < ids.Length; i++)
        {
            var read = new StreamGroupRead(held[i], name, context.Store.NowMs);
            read.TryFindConsumer(consumerName);
            bool isNew = ids[i] == StreamId.Max;
            if (isNew && !read.HasNew) continue;
            answer.BeginStream(context.Args[arguments.FirstKey + i].Span);
            if (!isNew) read.WriteHistory(context.Reply, ids[i], arguments.Count);
            else if (!read.TryWriteNew(context.Reply, arguments.Count, arguments.NoAck))
            {
                // Nothing of this stream was delivered: what others gave stays given.
                if (answer.Streams > 1)
                {
                    context.Reply.WriteArray(0);
                    continue;
                }

                context.Reply.Rewind(begin);
                return Fail(ref context, Errors.OutOfMemory);
            }
        }

        answered = answer.End();
        return true;
    }

    private static bool Fail(ref CommandContext context, ReadOnlySpan<byte> error)
    {
        context.Fail(error);
        return false;
    }

    /// <summary>The reply: a map from key to entries; in RESP2 an array of pairs.</summary>
    private ref struct Answer(ReplyWriter reply, int most)
    {
        private readonly ReplyMark _begin = reply.BeginArray();
        private readonly bool _isMap = reply.Version == RespVersion.Resp3;

        /// <summary>Streams that are in it.</summary>
        public int Streams { get; private set; }

        public void BeginStream(ReadOnlySpan<byte> key)
        {
            // With one stream, the common case, the header comes first, and nothing is moved.
            if (most == 1 && _isMap) reply.WriteMap(1);
            else if (most == 1) reply.WriteArray(1);
            if (!_isMap) reply.WriteArray(2);
            reply.WriteBulk(key);
            Streams++;
        }

        /// <summary>Ends it.</summary>
        /// <returns>False when nothing was in it: nothing is answered then.</returns>
        public readonly bool End()
        {
            if (Streams == 0) return false;
            if (most == 1) return true;
            if (_isMap) reply.EndMap(_begin, Streams);
            else reply.EndArray(_begin, Streams);
            return true;
        }
    }
}
