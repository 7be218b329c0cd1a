using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Streams: entries of fields and values in the order of their ids.</summary>
internal static class StreamCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access;
    private const long FullCount = 10;

    internal static readonly Command[] Table =
    [
        new("XADD", arity: -5, XAdd)
        {
            Usage = "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field "
                + "value ...]",
            Summary = "Appends an entry to a stream, returns its id, and removes old entries where that is asked for.",
            Complexity = "O(1), and O(N) with trimming, where N is the number of entries removed.",
            Since = "5.0.0", Group = CommandGroup.Stream,
            Event = KeyEvent.XAdd,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)], Tips = ["nondeterministic_output"],
        },
        new("XLEN", arity: 2, XLen)
        {
            Usage = "key",
            Summary = "Returns the number of entries of a stream.",
            Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Stream,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("XRANGE", arity: -4, XRange)
        {
            Usage = "key start end [COUNT count]",
            Summary = "Returns the entries from one id to another.",
            Complexity = "O(log(N)+M) where N is the number of entries and M of those returned.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("XREVRANGE", arity: -4, XRevRange)
        {
            Usage = "key end start [COUNT count]",
            Summary = "Returns the entries from one id to another, the last ones first.",
            Complexity = "O(log(N)+M) where N is the number of entries and M of those returned.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("XDEL", arity: -3, XDel)
        {
            Usage = "key ID [ID ...]",
            Summary = "Deletes entries by their ids and returns how many there were.",
            Complexity = "O(log(N)) for each id, where N is the number of entries.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Event = KeyEvent.XDel,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("XTRIM", arity: -4, XTrim)
        {
            Usage = "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]",
            Summary = "Removes the oldest entries of a stream and returns how many.",
            Complexity = "O(N) where N is the number of entries removed.", Since = "5.0.0", Group = CommandGroup.Stream,
            Event = KeyEvent.XTrim,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
            Tips = ["nondeterministic_output"],
        },
        new("XREAD", arity: -4, XRead)
        {
            Usage = "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] ID [ID ...]",
            Summary =
                "Returns the entries behind given ids of several streams, and waits for some where that is asked for.",
            Complexity = "O(log(N)+M) for each stream, where N is the number of its entries and M of those returned.",
            Since = "5.0.0", Group = CommandGroup.Stream,
            Flags = CommandFlags.ReadOnly | CommandFlags.Blocking,
            Keys = [KeySpec.After("STREAMS", 1, -1, 1, Reads, limit: 2)],
        },
        new("XSETID", arity: -3, XSetId)
        {
            Usage = "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
            Summary = "Says what the last id of a stream is, and what else of its past.",
            Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Stream,
            Event = KeyEvent.XSetId,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)],
        },
        new("XINFO", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell about streams.",
            Complexity = "Depends on the subcommand.", Since = "5.0.0", Group = CommandGroup.Stream,
            Subcommands =
            [
                new("CONSUMERS", arity: 4, XInfoConsumers)
                {
                    Usage = "key group",
                    Summary = "Returns the consumers of a group and what is pending with each.",
                    Complexity = "O(N) where N is the number of consumers.", Since = "5.0.0",
                    Group = CommandGroup.Stream,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, Reads)], Tips = ["nondeterministic_output"],
                },
                new("GROUPS", arity: 3, XInfoGroups)
                {
                    Usage = "key",
                    Summary = "Returns the groups of a stream and how far each has read.",
                    Complexity = "O(N) where N is the number of groups.", Since = "5.0.0", Group = CommandGroup.Stream,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, Reads)],
                },
                new("STREAM", arity: -3, XInfoStream)
                {
                    Usage = "key [FULL [COUNT count]]",
                    Summary =
                        "Returns what there is to know of a stream, with FULL its entries, groups and consumers too.",
                    Complexity = "O(1), with FULL O(N) where N is the number of all that is returned.", Since = "5.0.0",
                    Group = CommandGroup.Stream,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, Reads)],
                },
                HelpReply.Row("5.0.0", CommandGroup.Stream),
            ],
        },
    ];

    private static ReadOnlySpan<byte> NotAboveLast =>
        "ERR The ID specified in XADD is equal or smaller than the target stream top item"u8;

    /// <summary>Fields of an entry that XADD makes: it is written, and later read, in one piece.</summary>
    private const int FieldsMax = 65_536;

    private static unsafe void XAdd(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var add = default(StreamAddArguments);
        if (!add.TryRead(ref context, isAdd: true)) return;
        int items = context.Args.Count - add.First;
        if (items < 2 || items % 2 != 0)
        {
            context.Fail("ERR wrong number of arguments for 'xadd' command"u8);
            return;
        }

        if (items > 2 * FieldsMax)
        {
            context.Fail(System.Text.Encoding.ASCII.GetBytes(
                $"ERR too many fields for XADD, an entry has at most {FieldsMax}"));
            return;
        }

        if (add.HasId && add.HasNumber && add.Id.IsZero)
        {
            context.Fail("ERR The ID specified in XADD must be greater than 0-0"u8);
            return;
        }

        using var held = context.Store.Hold(key, DataType.Stream,
            add.CreatesNone ? HeldKey.OnlyIfThere : StreamValue.ExpectedBytes);
        if (held.Status != StoreStatus.Ok)
        {
            if (held.Status == StoreStatus.NotFound) context.Reply.WriteNull();
            else context.Fail(Errors.For(held.Status));
            return;
        }

        var stream = new StreamValue(held.Value);
        StreamId last = stream.Exists ? stream.View.LastId : StreamId.Zero;
        if (last == StreamId.Max)
        {
            context.Fail("ERR The stream has exhausted the last possible ID, unable to add more items"u8);
            return;
        }

        if (!TryChoose(in add, last, context.Store.NowMs, out StreamId id))
        {
            context.Fail(NotAboveLast);
            return;
        }

        var status = stream.TryAppend(id, new StreamItems(context.Args.At(add.First), items / 2));
        if (status != StoreStatus.Ok)
        {
            context.Fail(status == StoreStatus.TooLarge
                ? "ERR Elements are too large to be stored"u8 : Errors.For(status));
            return;
        }

        if (context.IsFed) SayAdded(ref context, key, id, add.First);
        if (add.Trims) HeldWork.RunOpen(ref context, held, new StreamTrimWork(add.Trim, id));
        else StreamIdText.Write(context.Reply, id);
    }

    /// <summary>Says which id the entry got. What is trimmed is said of the stream.</summary>
    private static void SayAdded(ref CommandContext context, in Key key, StreamId id, int first)
    {
        Debug.Assert((context.Args.Count - first) % 2 == 0, "each field has a value");
        Span<byte> text = stackalloc byte[StreamIdText.BytesMax];
        var effect = context.Say(3 + context.Args.Count - first);
        effect.Add("XADD"u8);
        effect.Add(key.Bytes);
        effect.Add(text[..StreamIdText.Format(id, text)]);
        for (int i = first; i < context.Args.Count; i++) effect.Add(context.Args[i].Span);
        effect.End();
    }

    /// <summary>The id of an entry that is to be added.</summary>
    /// <returns>False: it would not be above the last one.</returns>
    private static bool TryChoose(in StreamAddArguments add, StreamId last, long nowMs, out StreamId id)
    {
        if (!add.HasId) return last.TryFollow(nowMs, out id);
        id = add.Id;
        if (add.HasNumber || id.Ms != last.Ms) return id > last;
        id = new StreamId(id.Ms, unchecked(last.Number + 1));
        return last.Number != ulong.MaxValue;
    }

    private static void XLen(ref CommandContext context) => CollectionCount.Reply(ref context, DataType.Stream);

    private static void XRange(ref CommandContext context) => Range(ref context, isBackward: false);

    private static void XRevRange(ref CommandContext context) => Range(ref context, isBackward: true);

    private static void Range(ref CommandContext context, bool isBackward)
    {
        var key = context.Args.NextKey();
        var one = context.Args.NextBytes();
        var other = context.Args.NextBytes();
        var range = default(StreamRange);
        long count = -1;
        if (range.TryRead(ref context.Args, isBackward ? other : one, isBackward ? one : other))
        {
            while (context.Args.Remaining >= 2 && context.Args.TryKeyword("COUNT"u8))
                count = Math.Max(0, context.Args.NextInt64());
        }

        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (held.Status == StoreStatus.NotFound) context.Reply.WriteArray(0);
        else if (held.Status != StoreStatus.Ok) context.Fail(Errors.For(held.Status));
        else if (count == 0) context.Reply.WriteNullArray();
        else HeldWork.Run(ref context, held, new StreamEntriesWork(
            new StreamEntries(range.First, range.Last, count < 0 ? long.MaxValue : count, isBackward)));
    }

    private static void XDel(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        int first = context.Args.Position;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryBegin(ref context, held.Status)) return;
        HeldWork.Run(ref context, held, new IdRemovalWork(context.Args.All(context.Server.Store), first, group: 0));
    }

    private static void XTrim(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var trim = default(StreamAddArguments);
        if (!trim.TryRead(ref context, isAdd: false)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryBegin(ref context, held.Status)) return;
        context.SayNothing();
        HeldWork.RunOpen(ref context, held, new StreamTrimWork(trim.Trim));
    }

    /// <summary>Answers 0 for an absent key, and what stops a command.</summary>
    private static bool TryBegin(ref CommandContext context, StoreStatus status)
    {
        if (status == StoreStatus.Ok) return true;
        if (status == StoreStatus.NotFound) context.Reply.WriteInteger(0);
        else context.Fail(Errors.For(status));
        return false;
    }

    private static void XRead(ref CommandContext context) => StreamRead.Run(ref context, isGroup: false);

    private static void XSetId(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        StreamId maxDeleted = default;
        long? added = null;
        StreamId id = NextId(ref context);
        while (context.Args.Remaining >= 2)
        {
            if (context.Args.TryKeyword("ENTRIESADDED"u8))
            {
                added = context.Args.NextInt64();
                if (added < 0) context.Args.Fail("ERR entries_added must be positive"u8);
            }
            else if (context.Args.TryKeyword("MAXDELETEDID"u8))
            {
                maxDeleted = NextId(ref context);
                if (id < maxDeleted)
                    context.Args.Fail(
                        "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"u8);
            }
            else
            {
                context.Args.SyntaxError();
            }
        }

        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!Exists(ref context, held.Status)) return;
        var stream = new StreamValue(held.Value);
        StreamView view = stream.View;
        if (id < view.MaxDeletedId)
            context.Fail("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"u8);
        else if (view.TryGetLast(out StreamId last) && id < last)
            context.Fail("ERR The ID specified in XSETID is smaller than the target stream top item"u8);
        else if (view.Length > added)
            context.Fail("ERR The entries_added specified in XSETID is smaller than the target stream length"u8);
        else
        {
            stream.SetHistory(id, added, maxDeleted);
            context.Reply.WriteOk();
        }
    }

    private static StreamId NextId(ref CommandContext context)
    {
        if (!StreamIdText.TryParse(context.Args.NextBytes(), 0, out StreamId id))
            context.Args.Fail(StreamIdText.Invalid);
        return id;
    }

    private static void XInfoConsumers(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!Exists(ref context, held.Status)) return;
        StreamGroup group = new StreamView(held.Value.View).FindGroup(name);
        if (!group.Exists)
        {
            StreamReply.FailNoGroupAt(ref context, key.Bytes, name);
            return;
        }

        var reply = context.Reply;
        long now = context.Store.NowMs;
        reply.WriteArray(group.Consumers.Count);
        for (int i = 0; i < group.Consumers.Count; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            reply.WriteMap(4);
            reply.WriteBulk("name"u8);
            reply.WriteBulk(consumer.Name);
            reply.WriteBulk("pending"u8);
            reply.WriteInteger(consumer.Pending.Count);
            reply.WriteBulk("idle"u8);
            reply.WriteInteger(Math.Max(0, now - consumer.SeenMs));
            reply.WriteBulk("inactive"u8);
            reply.WriteInteger(consumer.ActiveMs == StreamConsumer.Never
                ? StreamConsumer.Never : Math.Max(0, now - consumer.ActiveMs));
        }
    }

    /// <summary>Answers that there is no such key, and what stops a command.</summary>
    private static bool Exists(ref CommandContext context, StoreStatus status)
    {
        if (status == StoreStatus.Ok) return true;
        context.Fail(status == StoreStatus.NotFound ? Errors.NoSuchKey : Errors.For(status));
        return false;
    }

    private static void XInfoGroups(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!Exists(ref context, held.Status)) return;
        var stream = new StreamView(held.Value.View);
        var reply = context.Reply;
        reply.WriteArray(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++)
        {
            StreamGroup group = stream.GroupAt(i);
            reply.WriteMap(6);
            reply.WriteBulk("name"u8);
            reply.WriteBulk(group.Name);
            reply.WriteBulk("consumers"u8);
            reply.WriteInteger(group.Consumers.Count);
            reply.WriteBulk("pending"u8);
            reply.WriteInteger(group.Pending.Count);
            StreamInfo.WriteProgress(reply, stream, group);
        }
    }

    private static void XInfoStream(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!Exists(ref context, held.Status)) return;
        int options = context.Args.Remaining;
        long count = FullCount;
        bool isFull = context.Args.TryKeyword("FULL"u8);
        if (options is 0 or 1 or 3 && isFull == (options != 0) && (options != 3 || context.Args.TryKeyword("COUNT"u8)))
        {
            if (options == 3) count = context.Args.NextInt64();
            if (!context.Args.Finish(context.Reply)) return;
            count = count < 0 ? FullCount : count == 0 ? long.MaxValue : count;
            if (isFull) HeldWork.Run(ref context, held, new StreamInfoWork(count));
            else WriteSummary(context.Reply, new StreamView(held.Value.View));
            return;
        }

        HelpReply.FailSubcommand(ref context);
    }

    private static void WriteSummary(ReplyWriter reply, StreamView stream)
    {
        StreamInfo.WriteHead(reply, stream, isFull: false);
        reply.WriteBulk("groups"u8);
        reply.WriteInteger(stream.GroupCount);
        reply.WriteBulk("first-entry"u8);
        WriteEnd(reply, stream, isBackward: false);
        reply.WriteBulk("last-entry"u8);
        WriteEnd(reply, stream, isBackward: true);
    }

    private static void WriteEnd(ReplyWriter reply, StreamView stream, bool isBackward)
    {
        if (stream.Between(StreamId.Zero, StreamId.Max, isBackward).Next(out StreamEntry entry))
            StreamReply.WriteEntry(reply, entry);
        else reply.WriteNull();
    }
}
