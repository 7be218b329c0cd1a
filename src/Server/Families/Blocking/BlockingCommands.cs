using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Replication;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Commands on lists and sorted sets that wait for an element when there is none.</summary>
internal static class BlockingCommands
{
    private const KeyAccess Takes = KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete;

    internal static readonly Command[] Table =
    [
        new("BLPOP", arity: -3, BLPop)
        {
            Usage = "key [key ...] timeout",
            Summary = "Takes the first element of the first list that has any, and returns key and element; waits for "
                + "one if need be.",
            Complexity = "O(N) where N is the number of keys.", Since = "2.0.0", Group = CommandGroup.List,
            Event = KeyEvent.LPop,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.Blocking,
            Keys = [KeySpec.Range(1, -2, 1, Takes)],
        },
        new("BRPOP", arity: -3, BRPop)
        {
            Usage = "key [key ...] timeout",
            Summary = "Takes the last element of the first list that has any, and returns key and element; waits for "
                + "one if need be.",
            Complexity = "O(N) where N is the number of keys.", Since = "2.0.0", Group = CommandGroup.List,
            Event = KeyEvent.RPop,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.Blocking,
            Keys = [KeySpec.Range(1, -2, 1, Takes)],
        },
        new("BLMOVE", arity: 6, BLMove)
        {
            Usage = "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
            Summary = "Moves an element from an end of one list to an end of another, and returns it; waits for one if "
                + "need be.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.List,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Blocking,
            Keys = [KeySpec.At(1, Takes), KeySpec.At(2, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("BRPOPLPUSH", arity: 4, BRPopLPush)
        {
            Usage = "source destination timeout",
            Summary = "Moves the last element of one list to the front of another, and returns it; waits for one if "
                + "need be.",
            Complexity = "O(1)", Since = "2.2.0", Group = CommandGroup.List,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Blocking,
            DeprecatedSince = "6.2.0",
            Keys = [KeySpec.At(1, Takes), KeySpec.At(2, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("BLMPOP", arity: -5, BLMPop)
        {
            Usage = "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            Summary = "Takes elements from the first list that has any, and returns key and elements; waits for some "
                + "if need be.",
            Complexity = "O(N+M) where N is the number of keys and M the number of elements taken.",
            Since = "7.0.0", Group = CommandGroup.List,
            Changes = ChangeRule.SecondElements,
            Flags = CommandFlags.Write | CommandFlags.Blocking,
            Keys = [KeySpec.Count(2, Takes)],
        },
        new("BZPOPMIN", arity: -3, BZPopMin)
        {
            Usage = "key [key ...] timeout",
            Summary = "Takes the member with the lowest score of the first set that has any, and returns key and it; "
                + "waits if need be.",
            Complexity = "O(log(N)) where N is the number of members.", Since = "5.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZPopMin,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.Fast | CommandFlags.Blocking,
            Keys = [KeySpec.Range(1, -2, 1, Takes)],
        },
        new("BZPOPMAX", arity: -3, BZPopMax)
        {
            Usage = "key [key ...] timeout",
            Summary = "Takes the member with the highest score of the first set that has any, and returns key and it; "
                + "waits if need be.",
            Complexity = "O(log(N)) where N is the number of members.", Since = "5.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZPopMax,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.Fast | CommandFlags.Blocking,
            Keys = [KeySpec.Range(1, -2, 1, Takes)],
        },
        new("BZMPOP", arity: -5, BZMPop)
        {
            Usage = "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
            Summary = "Takes members with the lowest or highest scores of the first set that has any; waits for some "
                + "if need be.",
            Complexity =
                "O(K) + O(M*log(N)) where K is the number of keys, N that of the members, and M that of those taken.",
            Since = "7.0.0", Group = CommandGroup.SortedSet,
            Changes = ChangeRule.SecondElements,
            Flags = CommandFlags.Write | CommandFlags.Blocking,
            Keys = [KeySpec.Count(2, Takes)],
        },
        new("WAIT", arity: 3, Wait)
        {
            Usage = "numreplicas timeout",
            Summary = "Waits until so many replicas have what this connection has written.",
            Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Generic,
            Categories = AclCategories.Connection,
            Tips = ["request_policy:all_shards", "response_policy:agg_min"],
        },
        new("WAITAOF", arity: 4, WaitAof)
        {
            Usage = "numlocal numreplicas timeout",
            Summary =
                "Waits until what this connection has written is on the disk, in the append-only file.",
            Complexity = "O(1)", Since = "7.2.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.NoScript, Categories = AclCategories.Connection,
            Tips = ["request_policy:all_shards", "response_policy:agg_min"],
        },
    ];

    private static void Wait(ref CommandContext context)
    {
        long replicas = context.Args.NextInt64();
        long timeoutMs = BlockTimeout.NextMilliseconds(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;
        Await(ref context, new AckWait(context.Session, replicas, ofDisk: false, needsLocal: false), timeoutMs);
    }

    private static void WaitAof(ref CommandContext context)
    {
        long local = context.Args.NextInt64(0, 1, "ERR value is out of range, value must between 0 and 1"u8);
        long replicas = context.Args.NextInt64(0, long.MaxValue, "ERR value is out of range, must be positive"u8);
        long timeoutMs = BlockTimeout.NextMilliseconds(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;
        if (local != 0 && !context.Server.Options.AppendOnly) context.Fail(AckWait.NeedsFile);
        else
        {
            var wait = new AckWait(context.Session, replicas, ofDisk: true, needsLocal: local != 0);
            Await(ref context, wait, timeoutMs);
        }
    }

    private static void Await(ref CommandContext context, AckWait wait, long timeoutMs)
    {
        var all = context.Server.Replicas;
        if (!context.MayBlock || (wait.Replicas <= 0 && wait.IsLocalOver))
        {
            wait.Write(context.Reply, all.CountNow(wait));
            return;
        }

        context.Block(wait, DataType.Any, new KeyRange(1, 0, 1), timeoutMs);
        all.Wait(wait);
    }

    private static void BLPop(ref CommandContext context) => Pop(ref context, DataType.List, fromFirst: true);

    private static void BRPop(ref CommandContext context) => Pop(ref context, DataType.List, fromFirst: false);

    private static void BZPopMin(ref CommandContext context) => Pop(ref context, DataType.SortedSet, fromFirst: true);

    private static void BZPopMax(ref CommandContext context) => Pop(ref context, DataType.SortedSet, fromFirst: false);

    private static void Pop(ref CommandContext context, DataType type, bool fromFirst)
    {
        var keys = new KeyRange(1, context.Args.Count - 2, 1);
        context.Args.Skip(keys.Count);
        long timeoutMs = BlockTimeout.NextSeconds(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;

        Pop(ref context, new PopRule { Type = type, FromFirst = fromFirst }, keys, timeoutMs);
    }

    private static void BLMPop(ref CommandContext context) => PopMany(ref context, DataType.List);

    private static void BZMPop(ref CommandContext context) => PopMany(ref context, DataType.SortedSet);

    private static void PopMany(ref CommandContext context, DataType type)
    {
        context.Args.Skip(1);
        var rule = PopRule.ReadMany(ref context.Args, type, out var keys);
        long timeoutMs = BlockTimeout.SecondsAt(ref context.Args, 1);       // the last that is looked at
        if (!context.Args.Finish(context.Reply)) return;

        Pop(ref context, rule, keys, timeoutMs);
    }

    private static void Pop(ref CommandContext context, PopRule rule, KeyRange keys, long timeoutMs)
    {
        if (BlockedClients.Refuses(ref context, keys)) return;
        if (rule.TryTake(ref context, keys, leavesToOthers: context.MayBlock)) return;
        if (context.MayBlock) context.Block(new BlockedPop(context.Session, rule), rule.Type, keys, timeoutMs);
        else context.Reply.WriteNullArray();
    }

    private static void BLMove(ref CommandContext context)
    {
        context.Args.Skip(2);
        bool fromLeft = PopRule.NextEnd(ref context.Args, "LEFT"u8, "RIGHT"u8),
            toLeft = PopRule.NextEnd(ref context.Args, "LEFT"u8, "RIGHT"u8);
        Move(ref context, fromLeft, toLeft);
    }

    private static void BRPopLPush(ref CommandContext context)
    {
        context.Args.Skip(2);
        Move(ref context, fromLeft: false, toLeft: true);
    }

    private static void Move(ref CommandContext context, bool fromLeft, bool toLeft)
    {
        long timeoutMs = BlockTimeout.NextSeconds(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;

        bool mayBlock = context.MayBlock;
        if (ListEnds.TryMove(ref context, fromLeft, toLeft, leavesToOthers: mayBlock)) return;
        if (mayBlock)
            context.Block(new BlockedMove(context.Session, context.Args[2].Span, fromLeft, toLeft), DataType.List,
                new KeyRange(1, 1, 1), timeoutMs);
        else context.Reply.WriteNull();
    }
}
