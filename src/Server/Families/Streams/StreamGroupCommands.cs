using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Groups of consumers of a stream: each entry goes to one of them, and is pending until that one acknowledges
/// it.</summary>
internal static class StreamGroupCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Updates = KeyAccess.RW | KeyAccess.Update;
    private const KeyAccess Inserts = KeyAccess.RW | KeyAccess.Insert, Deletes = KeyAccess.RW | KeyAccess.Delete;

    internal static readonly Command[] Table =
    [
        new("XGROUP", arity: -2, handler: null)
        {
            Summary = "Holds the commands that make and change groups of consumers.",
            Complexity = "Depends on the subcommand.", Since = "5.0.0", Group = CommandGroup.Stream,
            Subcommands =
            [
                new("CREATE", arity: -5, XGroupCreate)
                {
                    Usage = "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
                    Summary = "Makes a group that reads a stream from behind an id on.",
                    Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Stream,
                    Event = KeyEvent.XGroupCreate,
                    Flags = CommandFlags.Write | CommandFlags.DenyOom, Keys = [KeySpec.At(2, Inserts)],
                },
                new("CREATECONSUMER", arity: 5, XGroupCreateConsumer)
                {
                    Usage = "key group consumer",
                    Summary = "Adds a consumer to a group.",
                    Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.Stream,
                    Event = KeyEvent.XGroupCreateConsumer,
                    Changes = ChangeRule.Number,
                    Flags = CommandFlags.Write | CommandFlags.DenyOom, Keys = [KeySpec.At(2, Inserts)],
                },
                new("DELCONSUMER", arity: 5, XGroupDelConsumer)
                {
                    Usage = "key group consumer",
                    Summary = "Removes a consumer from a group and returns how many entries were pending with it.",
                    Complexity = "O(N*log(M)) where N is the number of its pending entries and M of the group's.",
                    Since = "5.0.0", Group = CommandGroup.Stream,
                    Event = KeyEvent.XGroupDelConsumer,
                    Changes = ChangeRule.None,
                    Flags = CommandFlags.Write, Keys = [KeySpec.At(2, Deletes)],
                },
                new("DESTROY", arity: 4, XGroupDestroy)
                {
                    Usage = "key group",
                    Summary = "Removes a group with its consumers.",
                    Complexity = "O(N) where N is the number of its pending entries.", Since = "5.0.0",
                    Group = CommandGroup.Stream,
                    Event = KeyEvent.XGroupDestroy,
                    Changes = ChangeRule.Number,
                    Flags = CommandFlags.Write, Keys = [KeySpec.At(2, Deletes)],
                },
                HelpReply.Row("5.0.0", CommandGroup.Stream),
                new("SETID", arity: -5, XGroupSetId)
                {
                    Usage = "key group <id | $> [ENTRIESREAD entriesread]",
                    Summary = "Says behind which id a group goes on to read.",
                    Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Stream,
                    Event = KeyEvent.XGroupSetId,
                    Flags = CommandFlags.Write, Keys = [KeySpec.At(2, Updates)],
                },
            ],
        },
        new("XREADGROUP", arity: -7, XReadGroup)
        {
            Usage = "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key ...] ID [ID ...]",
            Summary = "Returns entries that no consumer of a group has got, or again what is pending with one; waits "
                + "where asked to.",
            Complexity = "O(log(N)+M) for each stream, where N is the number of its entries and M of those returned.",
            Since = "5.0.0", Group = CommandGroup.Stream,
            Event = KeyEvent.XGroupCreateConsumer,
            Changes = ChangeRule.Elements,
            Flags = CommandFlags.Write | CommandFlags.Blocking,
            Keys = [KeySpec.After("STREAMS", 4, -1, 1, Reads, limit: 2).Among(KeyOptions.OfGroupRead)],
        },
        new("XACK", arity: -4, XAck)
        {
            Usage = "key group ID [ID ...]",
            Summary = "Ends what is pending of entries and returns how many were.",
            Complexity = "O(log(N)) for each id, where N is the number of pending entries.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast, Keys = [KeySpec.At(1, Updates)],
        },
        new("XPENDING", arity: -3, XPending)
        {
            Usage = "key group [[IDLE min-idle-time] start end count [consumer]]",
            Summary = "Returns what is pending in a group: how much, or which entries, with whom and since when.",
            Complexity = "O(N) where N is the number of consumers, or of the entries looked at.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("XCLAIM", arity: -6, XClaim)
        {
            Usage = "key group consumer min-idle-time ID [ID ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT "
                + "count] [FORCE] [JUSTID] [LASTID lastid]",
            Summary = "Makes pending entries another consumer's, as if delivered to it, and returns them.",
            Complexity = "O(log(N)) for each id, where N is the number of pending entries.", Since = "5.0.0",
            Group = CommandGroup.Stream,
            Event = KeyEvent.XGroupCreateConsumer,
            Changes = ChangeRule.Elements,
            Flags = CommandFlags.Write | CommandFlags.Fast, Keys = [KeySpec.At(1, Updates)],
            Tips = ["nondeterministic_output"],
        },
        new("XAUTOCLAIM", arity: -6, XAutoClaim)
        {
            Usage = "key group consumer min-idle-time start [COUNT count] [JUSTID]",
            Summary =
                "Makes entries that have been pending for long another consumer's, from an id on, and returns them.",
            Complexity = "O(log(N)) for each entry, where N is the number of pending entries.", Since = "6.2.0",
            Group = CommandGroup.Stream,
            Event = KeyEvent.XGroupCreateConsumer,
            Changes = ChangeRule.LaterElements,
            Flags = CommandFlags.Write | CommandFlags.Fast, Keys = [KeySpec.At(1, Deletes)],
            Tips = ["nondeterministic_output"],
        },
    ];

    private static void XGroupCreate(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        var text = context.Args.NextBytes();
        if (!TryReadOptions(ref context, mayCreate: true, out bool creates, out long entriesRead)) return;
        int expectedBytes = creates ? StreamValue.ExpectedBytes : HeldKey.OnlyIfThere;
        using var held = context.Store.Hold(key, DataType.Stream, expectedBytes);
        if (!TryFindStream(ref context, held.Status)) return;
        var stream = new StreamValue(held.Value);
        StreamId id = stream.Exists ? stream.View.LastId : StreamId.Zero;
        if (text is not [(byte)'$'] && !StreamIdText.TryParse(text, 0, out id)) context.Fail(StreamIdText.Invalid);
        else if (stream.Exists && stream.View.FindGroup(name).Exists)
            context.Fail("BUSYGROUP Consumer Group name already exists"u8);
        else if (!stream.TryAddGroup(name, id, entriesRead)) context.Fail(Errors.OutOfMemory);
        else context.Reply.WriteOk();
    }

    /// <summary>Reads what may follow the id of a group.</summary>
    private static bool TryReadOptions(ref CommandContext context, bool mayCreate, out bool creates,
        out long entriesRead)
    {
        creates = false;
        entriesRead = StreamGroup.NotKnown;
        while (context.Args.Remaining > 0)
        {
            if (mayCreate && context.Args.TryKeyword("MKSTREAM"u8))
            {
                creates = true;
            }
            else if (context.Args.Remaining > 1 && context.Args.TryKeyword("ENTRIESREAD"u8))
            {
                entriesRead = context.Args.NextInt64();
                if (entriesRead < StreamGroup.NotKnown)
                    context.Args.Fail("ERR value for ENTRIESREAD must be positive or -1"u8);
            }
            else
            {
                HelpReply.FailSubcommand(ref context);
                return false;
            }
        }

        Debug.Assert(entriesRead >= StreamGroup.NotKnown || context.Args.Failed, "entries are counted, or not known");
        return context.Args.Finish(context.Reply);
    }

    /// <summary>Answers what stops an XGROUP: a wrong type, a key that is not there.</summary>
    private static bool TryFindStream(ref CommandContext context, StoreStatus status)
    {
        if (status == StoreStatus.Ok) return true;
        context.Fail(status != StoreStatus.NotFound ? Errors.For(status)
            : "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the "u8
                + "MKSTREAM option to create an empty stream automatically."u8);
        return false;
    }

    /// <summary>Finds the group of an XGROUP that needs one; answers that there is none.</summary>
    private static bool TryFindGroup(ref CommandContext context, HeldValue value, ReadOnlySpan<byte> name,
        out uint group)
    {
        group = new StreamView(value.View).FindGroup(name).Record;
        if (group == 0) StreamReply.FailNoGroupAt(ref context, context.Args[2].Span, name);
        return group != 0;
    }

    private static void XGroupCreateConsumer(ref CommandContext context) => ChangeConsumer(ref context, adds: true);

    private static void XGroupDelConsumer(ref CommandContext context) => ChangeConsumer(ref context, adds: false);

    private static void ChangeConsumer(ref CommandContext context, bool adds)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        var consumer = context.Args.NextKept();
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryFindStream(ref context, held.Status) || !TryFindGroup(ref context, held.Value, name, out uint group))
            return;
        var groups = new StreamValue(held.Value).Groups;
        StreamConsumer found = groups[group].Find(consumer.Span);
        bool wasThere = found.Exists;
        if (found.Exists == adds) context.Reply.WriteInteger(0);
        else if (!adds)
            HeldWork.Run(ref context, held, new StreamConsumerRemovalWork(consumer,
                new StreamConsumerRemoval(group, found.Record), found.Pending.Count));
        else if (groups.TryAddConsumer(group, consumer.Span, context.Store.NowMs) == 0)
            context.Fail(Errors.OutOfMemory);
        else context.Reply.WriteInteger(1);
        if (!adds && wasThere) context.CountChanges(1);
    }

    private static void XGroupDestroy(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextKept();
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryFindStream(ref context, held.Status)) return;
        StreamGroup group = new StreamView(held.Value.View).FindGroup(name.Span);
        if (group.Exists)
            HeldWork.Run(ref context, held, new StreamGroupRemovalWork(name, new StreamGroupRemoval(group.Record),
                group.Pending.Count));
        else context.Reply.WriteInteger(0);
    }

    private static void XGroupSetId(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        var text = context.Args.NextBytes();
        if (!TryReadOptions(ref context, mayCreate: false, out _, out long entriesRead)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryFindStream(ref context, held.Status) || !TryFindGroup(ref context, held.Value, name, out uint group))
            return;
        var stream = new StreamValue(held.Value);
        StreamId id = stream.View.LastId;
        if (text is not [(byte)'$'] && !StreamIdText.TryParseAny(text, 0, out id))
        {
            context.Fail(StreamIdText.Invalid);
            return;
        }

        stream.Groups.SetRead(group, id, entriesRead);
        context.Reply.WriteOk();
    }

    private static void XReadGroup(ref CommandContext context)
    {
        context.SayNothing();
        StreamRead.Run(ref context, isGroup: true);
    }

    private static void XAck(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        int first = context.Args.Position;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (held.Status is not (StoreStatus.Ok or StoreStatus.NotFound))
        {
            context.Fail(Errors.For(held.Status));
            return;
        }

        uint group = held.Status == StoreStatus.Ok ? new StreamView(held.Value.View).FindGroup(name).Record : 0;
        if (group == 0)
        {
            context.Reply.WriteInteger(0);
            return;
        }

        HeldWork.Run(ref context, held, new IdRemovalWork(context.Args.All(context.Server.Store), first, group));
    }

    private static void XPending(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        var query = default(StreamPendingQuery);
        if (!query.TryRead(ref context)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryHold(ref context, held, key, name, out uint record)) return;
        if (query.IsSummary) StreamPendingQuery.WriteSummary(context.Reply, new StreamValue(held.Value).Groups[record]);
        else query.Run(ref context, held, record);
    }

    /// <summary>Finds the group; answers what stops a command.</summary>
    private static bool TryHold(ref CommandContext context, scoped HeldKey held, scoped in Key key,
        ReadOnlySpan<byte> name, out uint group)
    {
        group = held.Status == StoreStatus.Ok ? new StreamView(held.Value.View).FindGroup(name).Record : 0;
        if (held.Status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(held.Status));
        else if (group == 0) StreamReply.FailNoGroup(ref context, key.Bytes, name);
        return group != 0;
    }

    private static void XClaim(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryHold(ref context, held, key, name, out uint group)) return;
        context.SayNothing();
        bool isNew = !new StreamValue(held.Value).Groups[group].Find(context.Args[3].Span).Exists;
        HeldWork.Run(ref context, held,
            new ClaimWork(context.Args.All(context.Server.Store), group, context.Store.NowMs));
        if (isNew) ChangeRule.NoteCreated(ref context);
    }

    private static void XAutoClaim(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var name = context.Args.NextBytes();
        var consumer = new KeptArgument(context.Args[context.Args.Position]);
        context.Args.Skip(1);
        var options = default(AutoClaimOptions);
        if (!options.TryRead(ref context)) return;
        using var held = context.Store.Hold(key, DataType.Stream);
        if (!TryHold(ref context, held, key, name, out uint group)) return;
        context.SayNothing();
        long now = context.Store.NowMs;
        var walk = new AutoClaimWalk { Next = new StreamValue(held.Value).Groups.PendingFrom(group, options.First),
            Left = options.Count, Looks = options.Count * StreamClaimTerms.LooksEach };
        var terms = new StreamClaimTerms { IdleMs = options.IdleMs, DeliveredMs = now, Deliveries = -1,
            IsDelivery = !options.OnlyIds };
        HeldWork.Run(ref context, held, new AutoClaimWork(group, consumer, terms, walk, now));
    }
}
