using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Lists.</summary>
internal static class ListCommands
{
    private const KeyAccess Takes = KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete,
        Reads = KeyAccess.RO | KeyAccess.Access;

    internal static readonly Command[] Table =
    [
        new("LPUSH", arity: -3, LPush)
        {
            Usage = "key element [element ...]",
            Summary = "Puts elements in front of a list, one after another; a missing key counts as an empty list.",
            Complexity = "O(1) for each element.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.LPush,
            Changes = ChangeRule.Arguments,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.LeftEnd, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("RPUSH", arity: -3, RPush)
        {
            Usage = "key element [element ...]",
            Summary = "Puts elements behind a list, one after another; a missing key counts as an empty list.",
            Complexity = "O(1) for each element.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.RPush,
            Changes = ChangeRule.Arguments,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.RightEnd, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("LPUSHX", arity: -3, LPushX)
        {
            Usage = "key element [element ...]",
            Summary = "Puts elements in front of a list, if there is one.",
            Complexity = "O(1) for each element.", Since = "2.2.0", Group = CommandGroup.List,
            Event = KeyEvent.LPush,
            Changes = ChangeRule.ArgumentsIfAny,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.LeftEnd, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("RPUSHX", arity: -3, RPushX)
        {
            Usage = "key element [element ...]",
            Summary = "Puts elements behind a list, if there is one.",
            Complexity = "O(1) for each element.", Since = "2.2.0", Group = CommandGroup.List,
            Event = KeyEvent.RPush,
            Changes = ChangeRule.ArgumentsIfAny,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.RightEnd, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("LPOP", arity: -2, LPop)
        {
            Usage = "key [count]",
            Summary = "Takes the first element of a list, or several, and returns them.",
            Complexity = "O(N) where N is the number of elements taken.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.LPop,
            Changes = ChangeRule.Elements,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.LeftEnd, Keys = [KeySpec.At(1, Takes)],
        },
        new("RPOP", arity: -2, RPop)
        {
            Usage = "key [count]",
            Summary = "Takes the last element of a list, or several, the last one first, and returns them.",
            Complexity = "O(N) where N is the number of elements taken.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.RPop,
            Changes = ChangeRule.Elements,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Member = 1, MemberIs = MemberKind.RightEnd, Keys = [KeySpec.At(1, Takes)],
        },
        new("LLEN", arity: 2, LLen)
        {
            Usage = "key",
            Summary = "Returns the length of a list, 0 for a missing key.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.List,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("LINDEX", arity: 3, LIndex)
        {
            Usage = "key index",
            Summary = "Returns the element at a place of a list; below 0 counts from the end.",
            Complexity = "O(1); of a large list the counts of its leaves are added up, hundreds of elements at a time.",
            Since = "1.0.0", Group = CommandGroup.List,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, Reads)],
        },
        new("LSET", arity: 4, LSet)
        {
            Usage = "key index element",
            Summary = "Exchanges the element at a place of a list.",
            Complexity = "As LINDEX.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.LSet,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)],
        },
        new("LRANGE", arity: 4, LRange)
        {
            Usage = "key start stop",
            Summary = "Returns the elements from one place of a list to another.",
            Complexity = "O(N) where N is the number of elements returned.", Since = "1.0.0", Group = CommandGroup.List,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, Reads)],
        },
        new("LTRIM", arity: 4, LTrim)
        {
            Usage = "key start stop",
            Summary = "Removes the elements outside of a range.",
            Complexity = "O(N) where N is the number of elements removed, hundreds at a time.", Since = "1.0.0",
            Group = CommandGroup.List,
            Event = KeyEvent.LTrim,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("LINSERT", arity: 5, LInsert)
        {
            Usage = "key <BEFORE | AFTER> pivot element",
            Summary = "Puts an element next to the first one that equals the pivot.",
            Complexity = "O(N) where N is the number of elements up to the pivot.", Since = "2.2.0",
            Group = CommandGroup.List,
            Event = KeyEvent.LInsert,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("LREM", arity: 4, LRem)
        {
            Usage = "key count element",
            Summary =
                "Removes the elements that equal one: the first so many, or below 0 the last so many, or with 0 all.",
            Complexity = "O(N) where N is the length of the list.", Since = "1.0.0", Group = CommandGroup.List,
            Event = KeyEvent.LRem,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("LPOS", arity: -3, LPos)
        {
            Usage = "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
            Summary = "Returns the places of elements that equal one.",
            Complexity = "O(N) where N is the number of elements looked at.", Since = "6.0.6",
            Group = CommandGroup.List,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, Reads)],
        },
        new("LMOVE", arity: 5, LMove)
        {
            Usage = "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
            Summary = "Takes an element from an end of one list, puts it at an end of another, and returns it.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.List,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Takes), KeySpec.At(2, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("RPOPLPUSH", arity: 3, RPopLPush)
        {
            Usage = "source destination",
            Summary = "Takes the last element of one list, puts it in front of another, and returns it.",
            Complexity = "O(1)", Since = "1.2.0", Group = CommandGroup.List,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            DeprecatedSince = "6.2.0",
            Keys = [KeySpec.At(1, Takes), KeySpec.At(2, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("LMPOP", arity: -4, LMPop)
        {
            Usage = "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            Summary = "Takes elements from the first of several lists that has any, and returns its key and them.",
            Complexity = "O(N+M) where N is the number of keys and M the number of elements taken.",
            Since = "7.0.0", Group = CommandGroup.List,
            Changes = ChangeRule.SecondElements,
            Flags = CommandFlags.Write,
            Keys = [KeySpec.Count(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
        },
    ];

    private static void LPush(ref CommandContext context) => Push(ref context, left: true, onlyIfThere: false);

    private static void RPush(ref CommandContext context) => Push(ref context, left: false, onlyIfThere: false);

    private static void LPushX(ref CommandContext context) => Push(ref context, left: true, onlyIfThere: true);

    private static void RPushX(ref CommandContext context) => Push(ref context, left: false, onlyIfThere: true);

    private static void Push(ref CommandContext context, bool left, bool onlyIfThere)
    {
        var key = context.Args.NextKey();
        if (AdditionSteps<PushElements>.TryBegin(ref context, first: 2, new PushElements(left, onlyIfThere))) return;
        int first = context.Args.Position, end = context.Args.Count;
        Debug.Assert(first == 2 && first < end, "the arity leaves something to be pushed");
        var push = default(ListPush);
        for (int i = first; i < end; i++) push = push.With(context.Args[i].Length);
        using var held = context.Store.Hold(key, DataType.List,
            onlyIfThere ? HeldKey.OnlyIfThere : ListValue.ExpectedBytes(context.Server.Options.PackedLimits, push));
        if (held.Status == StoreStatus.Ok)
        {
            var list = new ListValue(held.Value);
            if (!list.TryReservePush(left, push))
            {
                context.Fail(Errors.OutOfMemory);
                return;
            }

            for (int i = first; i < end; i++) list.Push(left, context.Args[i].Span);
            list.EndPush();
            Debug.Assert(list.Count >= end - first, "what was pushed is there");
            context.Reply.WriteInteger(list.Count);
        }
        else if (held.Status == StoreStatus.NotFound)
        {
            context.Reply.WriteInteger(0);
        }
        else
        {
            context.Fail(Errors.For(held.Status));
        }
    }

    private static void LPop(ref CommandContext context) =>
        Pop(ref context, left: true, "ERR wrong number of arguments for 'lpop' command"u8);

    private static void RPop(ref CommandContext context) =>
        Pop(ref context, left: false, "ERR wrong number of arguments for 'rpop' command"u8);

    private static void Pop(ref CommandContext context, bool left, ReadOnlySpan<byte> arityError)
    {
        var key = context.Args.NextKey();
        if (context.Args.Remaining > 1)
        {
            context.Fail(arityError);
            return;
        }

        bool hasCount = context.Args.Remaining == 1;
        long count = hasCount ? context.Args.NextInt64(0, long.MaxValue, Errors.MustBePositive) : 1;
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        bool isThere = held.Status == StoreStatus.Ok;
        if (isThere && hasCount)
            HeldWork.Run(ref context, held, new ListTakeWork(new ListTake(new ListValue(held.Value), left, count)));
        else if (isThere) ListEnds.TakeOne(context.Reply, held.Value, left);
        else if (hasCount) context.Reply.WriteNullArray();
        else context.Reply.WriteNull();
    }

    private static void LLen(ref CommandContext context) => CollectionCount.Reply(ref context, DataType.List);

    private static void LIndex(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var read = new ReadElement(context.Reply) { Index = context.Args.NextInt64() };
        bool isBad = context.Args.Failed;
        var status = context.Store.Read(key, DataType.List, ref read);
        if (status == StoreStatus.Ok && !isBad) return;
        // The key comes first: of a missing one a bad index is not looked at.
        read.Forget();
        if (status == StoreStatus.Ok) context.Fail(Errors.NotAnInteger);
        else if (context.TryBegin(status)) context.Reply.WriteNull();
    }

    private static void LSet(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        long index = context.Args.NextInt64();
        var element = context.Args.NextBytes();

        using var held = context.Store.Hold(key, DataType.List);
        // The key comes first, as it does of LINDEX.
        if (held.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(held.Status));
            return;
        }

        if (!context.Args.Finish(context.Reply)) return;

        var list = new ListValue(held.Value);
        if (index < 0) index += list.Count;
        if (index < 0 || index >= list.Count)
        {
            context.Fail(Errors.IndexOutOfRange);
            return;
        }

        if (!list.TryReserveReplace(index, element.Length))
        {
            context.Fail(Errors.OutOfMemory);
            return;
        }

        list.Replace(index, element);
        list.Settle();
        context.Reply.WriteOk();
    }

    private static void LRange(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        long start = context.Args.NextInt64(), stop = context.Args.NextInt64();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteArray(0);
            return;
        }

        long count = IndexRange.Resolve(ref start, stop, new ListValue(held.Value).Count);
        HeldWork.Run(ref context, held, new ListRangeWork(new ListRange(start, count)));
    }

    private static void LTrim(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        long start = context.Args.NextInt64(), stop = context.Args.NextInt64();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteOk();
            return;
        }

        long count = IndexRange.Resolve(ref start, stop, new ListValue(held.Value).Count);
        long removed = new ListValue(held.Value).Count - count;
        Debug.Assert(removed >= 0, "no more stays than was there");
        HeldWork.Run(ref context, held, new ListTrimWork(new ListTrim(start, count)));
        context.CountChanges(removed);
    }

    private static void LInsert(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        bool isBefore = context.Args.TryKeyword("BEFORE"u8);
        if (!isBefore && !context.Args.TryKeyword("AFTER"u8)) context.Args.SyntaxError();
        KeptArgument pivot = context.Args.NextKept(), element = context.Args.NextKept();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteInteger(0);
            return;
        }

        var search = new ListSearch(rank: 1, most: 1, new ListValue(held.Value).Count);
        HeldWork.Run(ref context, held, new ListInsertWork(pivot, element, search, isBefore));
    }

    private static void LRem(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        long count = context.Args.NextInt64();
        var element = context.Args.NextKept();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteInteger(0);
            return;
        }

        // The least integer has no positive: as many as there can be.
        long most = count == 0 || count == long.MinValue ? long.MaxValue : Math.Abs(count);
        HeldWork.Run(ref context, held, new ListRemovalWork(element, new ListRemoval(most, fromRight: count < 0)));
    }

    private static void LPos(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var element = context.Args.NextKept();
        long rank = 1, count = -1, most = 0;
        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("RANK"u8))
            {
                rank = context.Args.NextInt64();
                if (rank == long.MinValue) context.Args.Fail(Errors.OutOfSymmetricRange);
                if (rank == 0)
                {
                    context.Args.Fail(
                        ("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "u8
                        + "or use negative to start from the end of the list"u8));
                }
            }
            else if (context.Args.TryKeyword("COUNT"u8))
            {
                count = context.Args.NextInt64(0, long.MaxValue, "ERR COUNT can't be negative"u8);
            }
            else if (context.Args.TryKeyword("MAXLEN"u8))
            {
                most = context.Args.NextInt64(0, long.MaxValue, "ERR MAXLEN can't be negative"u8);
            }
            else
            {
                context.Args.SyntaxError();
            }
        }

        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.List);
        if (!context.TryBegin(held.Status)) return;
        bool one = count < 0;
        if (held.Status == StoreStatus.Ok)
        {
            long has = new ListValue(held.Value).Count, looked = most == 0 ? has : Math.Min(most, has);
            var search = new ListSearch(rank, one ? 1 : count == 0 ? long.MaxValue : count, looked);
            HeldWork.Run(ref context, held, new ListSearchWork(element, search, one));
        }
        else if (one)
        {
            context.Reply.WriteNull();
        }
        else
        {
            context.Reply.WriteArray(0);
        }
    }

    private static void LMove(ref CommandContext context)
    {
        context.Args.Skip(2);
        bool fromLeft = PopRule.NextEnd(ref context.Args, "LEFT"u8, "RIGHT"u8),
            toLeft = PopRule.NextEnd(ref context.Args, "LEFT"u8, "RIGHT"u8);
        if (!context.Args.Finish(context.Reply)) return;

        if (!ListEnds.TryMove(ref context, fromLeft, toLeft)) context.Reply.WriteNull();
    }

    private static void RPopLPush(ref CommandContext context)
    {
        context.Args.Skip(2);
        if (!context.Args.Finish(context.Reply)) return;

        if (!ListEnds.TryMove(ref context, fromLeft: false, toLeft: true)) context.Reply.WriteNull();
    }

    private static void LMPop(ref CommandContext context)
    {
        var rule = PopRule.ReadMany(ref context.Args, DataType.List, out var keys);
        if (!context.Args.Finish(context.Reply)) return;

        if (!rule.TryTake(ref context, keys)) context.Reply.WriteNullArray();
    }

    private ref struct ReadElement : IValueRead
    {
        private readonly ReplyWriter _reply;
        private readonly ReplyMark _mark;

        public ReadElement(ReplyWriter reply)
        {
            _reply = reply;
            _mark = reply.Mark();
        }

        public long Index { readonly get; init; }

        /// <summary>Takes back what was written.</summary>
        public readonly void Forget() => _reply.Rewind(_mark);

        public readonly void Read(in ValueView value)
        {
            Forget();
            if (new ListView(value).TryGet(Index, out var element)) _reply.WriteBulk(element);
            else _reply.WriteNull();
        }
    }

    /// <summary>Very many elements for LPUSH, RPUSH, LPUSHX and RPUSHX.</summary>
    private struct PushElements(bool left, bool onlyIfThere) : IArgumentAddition
    {
        private ListPush _push;
        private bool _isReserved;

        public static DataType Type => DataType.List;
        public static int Stride => 1;
        public readonly ReplyHead Head => ReplyHead.Number;

        public void Read(ref CommandArguments arguments) => _push = _push.With(arguments.NextBytes().Length);

        public readonly int ExpectedBytes(PackedLimits limits) =>
            onlyIfThere ? HeldKey.OnlyIfThere : ListValue.ExpectedBytes(limits, _push);

        public StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count)
        {
            var list = new ListValue(value) { Pending = _push };
            if (!_isReserved && !list.TryReservePush(left, _push)) return StoreStatus.OutOfMemory;
            _isReserved = true;
            list.Push(left, arguments[0].Span);
            _push = list.Pending;
            count = list.Count;
            return StoreStatus.Ok;
        }

        public readonly void Settle(HeldValue value) => new ListValue(value).EndPush();
    }
}
