using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Sets: members, each once, in no order.</summary>
internal static class SetCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access;

    internal static readonly Command[] Table =
    [
        new("SADD", arity: -3, SAdd)
        {
            Usage = "key member [member ...]",
            Summary = "Adds members to a set and returns how many are new.",
            Complexity = "O(1) for each member.", Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SAdd,
            Changes = ChangeRule.Number,
            Member = 2, Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("SREM", arity: -3, SRem)
        {
            Usage = "key member [member ...]",
            Summary = "Removes members and returns how many there were; a set without members is gone.",
            Complexity = "O(N) where N is the number of members to remove.", Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SRem,
            Changes = ChangeRule.Number,
            Member = 2, Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("SMOVE", arity: 4, SMove)
        {
            Usage = "source destination member",
            Summary = "Moves a member from one set to another.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Set,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete),
                KeySpec.At(2, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("SISMEMBER", arity: 3, SIsMember)
        {
            Usage = "key member",
            Summary = "Tells whether a set has a member.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Set,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("SMISMEMBER", arity: -3, SMIsMember)
        {
            Usage = "key member [member ...]",
            Summary = "Tells of each member whether a set has it, as of one instant.",
            Complexity = "O(N) where N is the number of members asked for.", Since = "6.2.0", Group = CommandGroup.Set,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("SCARD", arity: 2, SCard)
        {
            Usage = "key",
            Summary = "Returns the number of members.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("SMEMBERS", arity: 2, SMembers)
        {
            Usage = "key",
            Summary = "Returns all members.",
            Complexity = "O(N) where N is the number of members.", Since = "1.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output_order"],
        },
        new("SPOP", arity: -2, SPop)
        {
            Usage = "key [count]",
            Summary = "Removes members at random and returns them.",
            Complexity = "O(N) where N is the count; O(1) without one.", Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SPop,
            Changes = ChangeRule.Elements,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
            Tips = ["nondeterministic_output"],
        },
        new("SRANDMEMBER", arity: -2, SRandMember)
        {
            Usage = "key [count]",
            Summary = "Returns members at random: different ones, or with a negative count any.",
            Complexity = "O(N) where N is the absolute count; O(1) without one.", Since = "1.0.0",
            Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("SINTER", arity: -2, SInter)
        {
            Usage = "key [key ...]",
            Summary = "Returns the members that all sets have.",
            Complexity = "O(N*M) at worst, where N is the size of the smallest set and M the number of sets.",
            Since = "1.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Range(1, -1, 1, Reads)],
            Tips = ["nondeterministic_output_order"],
        },
        new("SINTERCARD", arity: -3, SInterCard)
        {
            Usage = "numkeys key [key ...] [LIMIT limit]",
            Summary = "Returns how many members all sets have, counting up to a limit.",
            Complexity = "O(N*M) at worst, where N is the size of the smallest set and M the number of sets.",
            Since = "7.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Count(1, Reads)],
        },
        new("SINTERSTORE", arity: -3, SInterStore)
        {
            Usage = "destination key [key ...]",
            Summary = "Stores the members that all sets have, and returns how many.",
            Complexity = "O(N*M) at worst, where N is the size of the smallest set and M the number of sets.",
            Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SInterStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update), KeySpec.Range(2, -1, 1, Reads)],
        },
        new("SUNION", arity: -2, SUnion)
        {
            Usage = "key [key ...]",
            Summary = "Returns the members that any of the sets has.",
            Complexity = "O(N) where N is the sum of the sizes.", Since = "1.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Range(1, -1, 1, Reads)],
            Tips = ["nondeterministic_output_order"],
        },
        new("SUNIONSTORE", arity: -3, SUnionStore)
        {
            Usage = "destination key [key ...]",
            Summary = "Stores the members that any of the sets has, and returns how many.",
            Complexity = "O(N) where N is the sum of the sizes.", Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SUnionStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update), KeySpec.Range(2, -1, 1, Reads)],
        },
        new("SDIFF", arity: -2, SDiff)
        {
            Usage = "key [key ...]",
            Summary = "Returns the members of the first set that no other one has.",
            Complexity = "O(N) where N is the sum of the sizes.", Since = "1.0.0", Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Range(1, -1, 1, Reads)],
            Tips = ["nondeterministic_output_order"],
        },
        new("SDIFFSTORE", arity: -3, SDiffStore)
        {
            Usage = "destination key [key ...]",
            Summary = "Stores the members of the first set that no other one has, and returns how many.",
            Complexity = "O(N) where N is the sum of the sizes.", Since = "1.0.0", Group = CommandGroup.Set,
            Event = KeyEvent.SDiffStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update), KeySpec.Range(2, -1, 1, Reads)],
        },
        new("SSCAN", arity: -3, SScan)
        {
            Usage = "key cursor [MATCH pattern] [COUNT count]",
            Summary = "Returns some of the members, and the cursor to ask for more with; 0 begins and ends.",
            Complexity = "O(1) for a call, O(N) for a whole round, where N is the number of members.", Since = "2.8.0",
            Group = CommandGroup.Set,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
    ];

    private static void SAdd(ref CommandContext context)
    {
        if (AdditionSteps<AddMembers>.TryBegin(ref context, first: 2)) return;
        var key = context.Args.NextKey();
        int count = context.Args.Remaining, longest = 0, added = 0;
        long bytes = 0;
        bool areIntegers = true;
        for (int i = 2; i < count + 2; i++)
        {
            var member = context.Args[i].Span;
            bytes += member.Length;
            longest = Math.Max(longest, member.Length);
            areIntegers = areIntegers && IntegerText.TryParse(member, out _);
        }

        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Set,
            SetValue.ExpectedBytes(count, bytes, longest, areIntegers));
        var status = held.Status;
        if (status == StoreStatus.Ok)
        {
            var set = new SetValue(held.Value);
            int i = 2;
            // To add what is there is no change, of which WATCH would hear.
            while (held.Value.Exists && i < count + 2 && set.View.Contains(context.Args[i].Span)) i++;
            if (i < count + 2 && !set.TryReserve(count, bytes, longest, areIntegers)) status = StoreStatus.OutOfMemory;
            if (i < count + 2 && status == StoreStatus.Ok)
            {
                for (; i < count + 2; i++)
                    if (set.Add(context.Args[i].Span)) added++;
                set.Settle();
            }
        }

        Debug.Assert(added <= count, "no more are new than were sent");
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(added);
        else context.Fail(Errors.For(status));
    }

    private static void SRem(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        context.Args.Skip(context.Args.Remaining);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Set);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok) context.Reply.WriteInteger(0);
        else HeldWork.Run(ref context, held, new ArgumentWork<RemoveMembers>(context.Args.All(context.Server.Store)));
    }

    private static void SMove(ref CommandContext context)
    {
        context.Args.Skip(2);
        var member = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        bool isInteger = IntegerText.TryParse(member, out _);
        var keys = context.Store.Keys;
        keys.Clear();
        context.Args.AddKey(1, keys, context.Session.Database);
        context.Args.AddKey(2, keys, context.Session.Database,
            SetValue.ExpectedBytes(1, member.Length, member.Length, isInteger));
        using var held = context.Store.Hold(keys);
        if (!context.TryBegin(held.Status)) return;
        if (!held.Exists(0))
        {
            context.Reply.WriteInteger(0);
            return;
        }

        if (held.Value(0).Type != DataType.Set || held.Value(1).Type is not (DataType.Set or DataType.Any))
        {
            context.Fail(Errors.WrongType);
            return;
        }

        var source = new SetValue(held.Value(0));
        bool isMember = source.View.Contains(member), same = context.Args[1].Span.SequenceEqual(context.Args[2].Span);
        if (isMember && same) context.CountChanges(-1);
        if (isMember && !same)
        {
            var destination = new SetValue(held.Value(1));
            bool adds = !held.Exists(1) || !destination.View.Contains(member);
            if (adds)
            {
                if (!destination.TryReserve(1, member.Length, member.Length, isInteger))
                {
                    context.Fail(Errors.OutOfMemory);
                    return;
                }

                destination.Add(member);
                destination.Settle();
            }

            source.Remove(member);
            source.Settle();
            context.Notify(KeyEvent.SRem, 1);
            if (adds) context.Notify(KeyEvent.SAdd, 2);
            if (adds) context.CountChanges(1);
        }

        context.Reply.WriteInteger(isMember ? 1 : 0);
    }

    private static void SIsMember(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var member = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadMember(member, in context.Store.MemberHash);
        var status = context.Store.Read(key, DataType.Set, ref read);
        if (status == StoreStatus.WrongType) context.Fail(Errors.WrongType);
        else context.Reply.WriteInteger(status == StoreStatus.Ok && read.IsMember ? 1 : 0);
    }

    private static void SMIsMember(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        int count = context.Args.Remaining;
        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Set);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status == StoreStatus.Ok)
        {
            HeldWork.Run(ref context, held, new ArgumentWork<FindMembers>(context.Args.All(context.Server.Store)));
            return;
        }

        context.Reply.WriteArray(count);
        for (; count > 0; count--) context.Reply.WriteInteger(0);
    }

    private static void SCard(ref CommandContext context) => CollectionCount.Reply(ref context, DataType.Set);

    private static void SMembers(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Set);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteSet(0);
            return;
        }

        HeldWork.Run(ref context, held, new SetMembersWork(new SetValue(held.Value).Count, deletes: false));
    }

    private static void SPop(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        bool hasCount = context.Args.Remaining > 0;
        if (context.Args.Remaining > 1) context.Args.SyntaxError();
        long count = hasCount ? context.Args.NextInt64(0, long.MaxValue, Errors.MustBePositive) : 1;
        if (!context.Args.Finish(context.Reply)) return;

        var reply = context.Reply;
        using var held = context.Store.Hold(key, DataType.Set);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            if (hasCount) reply.WriteSet(0);
            else reply.WriteNull();
            return;
        }

        long has = new SetValue(held.Value).Count;
        count = Math.Min(count, has);
        if (hasCount && count == has) context.Say("DEL"u8, key.Bytes);
        else context.SayNothing();
        if (hasCount && count == has) HeldWork.Run(ref context, held, new SetMembersWork(count, deletes: true));
        else HeldWork.Run(ref context, held, new SetDrawWork(new SetDraw(count), count, alone: !hasCount));
    }

    private static void SRandMember(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        bool hasCount = context.Args.Remaining > 0;
        if (context.Args.Remaining > 1) context.Args.SyntaxError();
        long count = hasCount ? context.Args.NextInt64() : 1;
        if (count == long.MinValue) context.Args.Fail(Errors.OutOfSymmetricRange);
        if (!context.Args.Finish(context.Reply)) return;

        var reply = context.Reply;
        using var held = context.Store.Hold(key, DataType.Set);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            if (hasCount) reply.WriteArray(0);
            else reply.WriteNull();
            return;
        }

        var set = new SetValue(held.Value).View;
        if (!hasCount)
        {
            var dice = Dice.New();
            reply.WriteBulk(set.Random(ref dice));
        }
        else if (count < -int.MaxValue)
        {
            context.Fail(Errors.ReplyTooLarge);
        }
        else
        {
            HeldWork.Run(ref context, held,
                new SampleWork(held.Value, reply.Version, Math.Min(count, set.Count)));
        }
    }

    private static void SInter(ref CommandContext context) =>
        Combine(ref context, SetOperation.Intersection, stores: false);

    private static void SUnion(ref CommandContext context) => Combine(ref context, SetOperation.Union, stores: false);

    private static void SDiff(ref CommandContext context) =>
        Combine(ref context, SetOperation.Difference, stores: false);

    private static void SInterStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Intersection, stores: true);

    private static void SUnionStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Union, stores: true);

    private static void SDiffStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Difference, stores: true);

    /// <summary>Combines the sets at all keys but, when it stores, the first, which then takes the result.</summary>
    private static void Combine(ref CommandContext context, SetOperation operation, bool stores)
    {
        int first = stores ? 1 : 0, count = context.Args.Remaining;
        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply) || context.HoldsInSteps(1, count)) return;
        Debug.Assert(!stores || count >= 2, "the arity leaves a destination and a source");
        using var held = context.Hold(1, count);
        Run(ref context, held, new SetCombination(context.Server.Store, operation, first,
            count - first) { IsOfMany = context.Places != null }, stores);
    }

    private static void Run(ref CommandContext context, in HeldKeys held, SetCombination sets, bool stores)
    {
        if (!context.TryBegin(held.Status)) return;
        if (!sets.IsOfMany && sets.HasWrongType(held))
        {
            context.Fail(Errors.WrongType);
            return;
        }

        bool replaces = stores && held.Exists(0);
        HeldWork.Run(ref context, held, new SetCombinationWork(sets, stores));
        if (replaces) ChangeRule.NoteEmptied(ref context);
    }

    private static void SInterCard(ref CommandContext context)
    {
        int count = context.Args.NextInt32(1, int.MaxValue, "ERR numkeys should be greater than 0"u8);
        int keysLeft = context.Args.Remaining;
        if (!context.Args.Failed && count > keysLeft)
            context.Args.Fail("ERR Number of keys can't be greater than number of args"u8);
        context.Args.Skip(Math.Min(count, context.Args.Remaining));
        long limit = CombinationOptions.ReadLimit(ref context.Args);

        if (!context.Args.Finish(context.Reply) || context.HoldsInSteps(2, count)) return;
        using var held = context.Hold(2, count);
        Run(ref context, held, new SetCombination(context.Server.Store, SetOperation.Intersection, 0,
            count) { Limit = limit, OnlyCounts = true, IsOfMany = context.Places != null }, stores: false);
    }

    private static void SScan(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!ScanArguments.TryRead(ref context, out var scan)) return;
        using var held = context.Store.Hold(key, DataType.Set);
        if (!ScanArguments.TryBegin(ref context, held.Status)) return;
        var mark = context.Reply.Mark();
        var set = new SetValue(held.Value).View;
        ulong cursor = 0;
        scoped var visit = new ReplyMembers(context.Reply, scan);
        if (set.Kind == ValueKind.Set)
        {
            cursor = scan.Run(set, ref visit, context.Reply);
        }
        else
        {
            var walk = set.GetWalk();
            while (walk.Next(out var member)) visit.Visit(member);
        }

        context.Reply.EndScan(mark, cursor, visit.Written);
    }

    /// <summary>Writes the members that SSCAN meets and takes.</summary>
    private unsafe ref struct ReplyMembers(ReplyWriter reply, ScanArguments scan) : IScanReply
    {
        private readonly ScanArguments _scan = scan;

        public int Seen { get; private set; }

        public int Written { get; private set; }

        public void Visit(byte* item) => Visit(MemberItem.MemberOf(item));

        public void Visit(scoped ReadOnlySpan<byte> member)
        {
            Seen++;
            if (!_scan.Takes(member)) return;
            reply.WriteBulk(member);
            Written++;
        }
    }

    /// <summary>Very many members for SADD.</summary>
    private struct AddMembers : IArgumentAddition
    {
        private long _bytes;
        private int _count, _longest;
        private bool _hasTexts, _isReserved;

        public static DataType Type => DataType.Set;
        public static int Stride => 1;
        public readonly ReplyHead Head => ReplyHead.Number;

        public void Read(ref CommandArguments arguments)
        {
            var member = arguments.NextBytes();
            _count++;
            _bytes += member.Length;
            _longest = Math.Max(_longest, member.Length);
            _hasTexts = _hasTexts || !IntegerText.TryParse(member, out _);
        }

        public readonly int ExpectedBytes(PackedLimits limits) =>
            SetValue.ExpectedBytes(_count, _bytes, _longest, !_hasTexts);

        public StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count)
        {
            var set = new SetValue(value);
            if (!_isReserved)
            {
                if (value.Exists && set.View.Contains(arguments[0].Span)) return StoreStatus.Ok;
                if (!set.TryReserve(_count, _bytes, _longest, !_hasTexts)) return StoreStatus.OutOfMemory;
                _isReserved = true;
            }

            if (set.Add(arguments[0].Span)) count++;
            return StoreStatus.Ok;
        }

        public readonly void Settle(HeldValue value)
        {
            if (_isReserved) new SetValue(value).Settle();
        }
    }

    /// <summary>For SREM.</summary>
    private readonly struct RemoveMembers : IArgumentUse
    {
        public static bool Changes => true;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget => new SetValue(value).Remove(argument);

        public static void Settle(HeldValue value) => new SetValue(value).Settle();
    }

    /// <summary>For SMISMEMBER.</summary>
    private readonly struct FindMembers : IArgumentUse
    {
        public static bool Changes => false;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget
        {
            bool isMember = new SetValue(value).View.Contains(argument);
            reply.Next().WriteInteger(isMember ? 1 : 0);
            return isMember;
        }
    }
}
