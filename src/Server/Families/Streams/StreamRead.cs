using System.Runtime.CompilerServices;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XREAD and XREADGROUP: what is behind given ids, of several streams as of one instant.</summary>
internal static class StreamRead
{
    private const int OnStack = 16;

    private static ReadOnlySpan<byte> DollarInGroup =>
        "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "u8
        + "specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty "u8
        + "result set."u8;

    private static ReadOnlySpan<byte> PlusInGroup =>
        "ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "u8
        + "specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty "u8
        + "result set."u8;

    private static ReadOnlySpan<byte> NewWithoutGroup =>
        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."u8;

    /// <summary>The command.</summary>
    [SkipLocalsInit]
    public static unsafe void Run(ref CommandContext context, bool isGroup)
    {
        var arguments = default(StreamReadArguments);
        if (!arguments.TryRead(ref context, isGroup)) return;
        Span<StreamId> ids = arguments.Streams <= OnStack
            ? stackalloc StreamId[OnStack] : new StreamId[arguments.Streams];
        ids = ids[..arguments.Streams];
        bool mayBlock = arguments.BlockMs >= 0 && context.MayBlock;
        using (var held = new HeldStreams(ref context, arguments.FirstKey, arguments.Streams))
        {
            if (held.Status != StoreStatus.Ok)
            {
                context.Fail(Errors.For(held.Status));
                return;
            }

            if (!TryReadIds(ref context, held, in arguments, isGroup, ids)) return;
            var call = new StreamReadCall(context.Args.At(arguments.FirstKey))
            {
                Count = arguments.Count, NoAck = arguments.NoAck, NowMs = context.Store.NowMs, IsGroup = isGroup,
                Group = isGroup ? context.Args[arguments.Group].Span : default,
                Consumer = isGroup ? context.Args[arguments.Group + 1].Span : default,
            };
            // Who has waited longer comes first: behind him in the queue there may be something, too.
            bool isLate = mayBlock && isGroup && !ids.ContainsAnyExcept(StreamId.Max) && call.HasAny(held, ids)
                && IsAwaited(ref context, in arguments);
            if (!isLate && StreamReadSteps.TryBegin(ref context, held, in arguments, ids)) return;
            int added = isGroup && !isLate ? call.CountNewConsumers(held, ids) : 0;
            if (!isLate && call.TryWrite(context.Reply, held, ids))
            {
                if (added > 0) context.CountChanges(added);
                return;
            }
        }

        if (mayBlock)
            context.Block(new BlockedRead(ref context, in arguments, isGroup, ids.ToArray()), DataType.Stream,
                new KeyRange(arguments.FirstKey, arguments.Streams, 1), arguments.BlockMs);
        else context.Reply.WriteNullArray();
    }

    private static bool IsAwaited(ref CommandContext context, in StreamReadArguments arguments)
    {
        for (int i = 0; i < arguments.Streams; i++)
            if (context.Server.Store.Databases.IsAwaited(context.Session.Database,
                context.Store.Key(context.Args[arguments.FirstKey + i].Span))) return true;
        return false;
    }

    /// <summary>Looks at keys, groups and ids, one after the other: the first thing that is wrong is the
    /// answer.</summary>
    /// <param name="ids">Gets behind which id each stream is read; the greatest one for what no consumer has
    /// got.</param>
    private static bool TryReadIds(ref CommandContext context, scoped HeldStreams held,
        in StreamReadArguments arguments, bool isGroup, scoped Span<StreamId> ids)
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
                    StreamReply.FailNoGroup(ref context, context.Args[arguments.FirstKey + i].Span, name,
                        " in XREADGROUP with GROUP option"u8);
                    return false;
                }
            }

            var text = context.Args[arguments.FirstId + i].Span;
            if (text is [(byte)'$'])
            {
                if (isGroup) return Fail(ref context, DollarInGroup);
                ids[i] = exists ? new StreamView(held[i].View).LastId : StreamId.Zero;
            }
            else if (text is [(byte)'+'])
            {
                if (isGroup) return Fail(ref context, PlusInGroup);
                ids[i] = exists ? AheadOfLast(new StreamView(held[i].View)) : StreamId.Zero;
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

    // Of a stream without entries: what comes next.
    private static StreamId AheadOfLast(StreamView stream) =>
        stream.TryGetLast(out StreamId last) ? last.TryPrevious(out StreamId previous)
        ? previous : StreamId.Zero : stream.LastId;

    private static bool Fail(ref CommandContext context, ReadOnlySpan<byte> error)
    {
        context.Fail(error);
        return false;
    }
}
