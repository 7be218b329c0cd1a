using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Sorted sets: members, each once, in the order of their scores.</summary>
internal static class SortedSetCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Stores = KeyAccess.OW | KeyAccess.Update;

    internal static readonly Command[] Table =
    [
        new("ZADD", arity: -4, ZAdd)
        {
            Usage = "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
            Summary = "Adds members with their scores to a sorted set, or changes the scores of those that are there.",
            Complexity = "O(log(N)) for each member, where N is the number of members.",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZAdd,
            Changes = ChangeRule.Number,
            Member = 3, Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)],
        },
        new("ZINCRBY", arity: 4, ZIncrBy)
        {
            Usage = "key increment member",
            Summary = "Adds to the score of a member and returns what it is then; a new member begins at 0.",
            Complexity = "O(log(N)) where N is the number of members.",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZIncr,
            Changes = ChangeRule.None,
            Member = 3, Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("ZREM", arity: -3, ZRem)
        {
            Usage = "key member [member ...]",
            Summary = "Removes members from a sorted set and returns how many there were.",
            Complexity = "O(M*log(N)) where N is the number of members and M of those removed.",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZRem,
            Changes = ChangeRule.Number,
            Member = 2, Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("ZSCORE", arity: 3, ZScore)
        {
            Usage = "key member",
            Summary = "Returns the score of a member.",
            Complexity = "O(1)",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZMSCORE", arity: -3, ZMScore)
        {
            Usage = "key member [member ...]",
            Summary = "Returns the scores of several members, as of one instant.",
            Complexity = "O(N) where N is the number of members asked for.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZCARD", arity: 2, ZCard)
        {
            Usage = "key",
            Summary = "Returns the number of members of a sorted set.",
            Complexity = "O(1)",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("ZCOUNT", arity: 4, ZCount)
        {
            Usage = "key min max",
            Summary = "Counts the members whose scores are in a range.",
            Complexity = "O(log(N)) where N is the number of members.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZLEXCOUNT", arity: 4, ZLexCount)
        {
            Usage = "key min max",
            Summary = "Counts the members in a range of bytes, where all scores are the same.",
            Complexity = "O(log(N)) where N is the number of members.",
            Since = "2.8.9", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZRANK", arity: -3, ZRank)
        {
            Usage = "key member [WITHSCORE]",
            Summary = "Returns the place of a member, from the lowest score on.",
            Complexity = "O(log(N)) where N is the number of members.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZREVRANK", arity: -3, ZRevRank)
        {
            Usage = "key member [WITHSCORE]",
            Summary = "Returns the place of a member, from the highest score on.",
            Complexity = "O(log(N)) where N is the number of members.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZRANGE", arity: -4, ZRange)
        {
            Usage = "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
            Summary = "Returns the members in a range of places, scores or bytes, in order.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZREVRANGE", arity: -4, ZRevRange)
        {
            Usage = "key start stop [WITHSCORES]",
            Summary = "Returns the members in a range of places, from the highest score on.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "1.2.0", Group = CommandGroup.SortedSet, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZRANGEBYSCORE", arity: -4, ZRangeByScore)
        {
            Usage = "key min max [WITHSCORES] [LIMIT offset count]",
            Summary = "Returns the members whose scores are in a range, from the lowest on.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "1.0.5", Group = CommandGroup.SortedSet, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZREVRANGEBYSCORE", arity: -4, ZRevRangeByScore)
        {
            Usage = "key max min [WITHSCORES] [LIMIT offset count]",
            Summary = "Returns the members whose scores are in a range, from the highest on.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "2.2.0", Group = CommandGroup.SortedSet, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZRANGEBYLEX", arity: -4, ZRangeByLex)
        {
            Usage = "key min max [LIMIT offset count]",
            Summary = "Returns the members in a range of bytes, where all scores are the same.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "2.8.9", Group = CommandGroup.SortedSet, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZREVRANGEBYLEX", arity: -4, ZRevRangeByLex)
        {
            Usage = "key max min [LIMIT offset count]",
            Summary = "Returns the members in a range of bytes, the last ones first, where all scores are the same.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those returned.",
            Since = "2.8.9", Group = CommandGroup.SortedSet, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("ZRANGESTORE", arity: -5, ZRangeStore)
        {
            Usage = "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
            Summary = "Stores the members in a range of one sorted set as another.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those stored.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZRangeStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Stores), KeySpec.At(2, Reads)],
        },
        new("ZREMRANGEBYRANK", arity: 4, ZRemRangeByRank)
        {
            Usage = "key start stop",
            Summary = "Removes the members in a range of places.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those removed.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZRemRangeByRank,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("ZREMRANGEBYSCORE", arity: 4, ZRemRangeByScore)
        {
            Usage = "key min max",
            Summary = "Removes the members whose scores are in a range.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those removed.",
            Since = "1.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZRemRangeByScore,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("ZREMRANGEBYLEX", arity: 4, ZRemRangeByLex)
        {
            Usage = "key min max",
            Summary = "Removes the members in a range of bytes, where all scores are the same.",
            Complexity = "O(log(N)+M) where N is the number of members and M of those removed.",
            Since = "2.8.9", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZRemRangeByLex,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("ZPOPMIN", arity: -2, ZPopMin)
        {
            Usage = "key [count]",
            Summary = "Removes and returns the members with the lowest scores.",
            Complexity = "O(log(N)*M) where N is the number of members and M of those removed.",
            Since = "5.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZPopMin,
            Changes = ChangeRule.Scored,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
        },
        new("ZPOPMAX", arity: -2, ZPopMax)
        {
            Usage = "key [count]",
            Summary = "Removes and returns the members with the highest scores.",
            Complexity = "O(log(N)*M) where N is the number of members and M of those removed.",
            Since = "5.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZPopMax,
            Changes = ChangeRule.Scored,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
        },
        new("ZMPOP", arity: -4, ZMPop)
        {
            Usage = "numkeys key [key ...] <MIN | MAX> [COUNT count]",
            Summary = "Removes and returns members with the lowest or highest scores of the first key that has any.",
            Complexity = "O(K) + O(M*log(N)) where K is the number of keys, N of members, M of those removed.",
            Since = "7.0.0", Group = CommandGroup.SortedSet,
            Changes = ChangeRule.SecondElements,
            Flags = CommandFlags.Write,
            Keys = [KeySpec.Count(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
        },
        new("ZRANDMEMBER", arity: -2, ZRandMember)
        {
            Usage = "key [count [WITHSCORES]]",
            Summary = "Returns any members of a sorted set, different ones or each drawn anew.",
            Complexity = "O(N) where N is the number of members returned.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("ZSCAN", arity: -3, ZScan)
        {
            Usage = "key cursor [MATCH pattern] [COUNT count]",
            Summary = "Returns some members with their scores, and the cursor to ask for more with.",
            Complexity = "O(1) for a call, O(N) for a whole round, where N is the number of members.",
            Since = "2.8.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
    ];

    private static ReadOnlySpan<byte> NotANumber => "ERR resulting score is not a number (NaN)"u8;

    private static void ZAdd(ref CommandContext context) => Add(ref context, ScoreRule.None);

    private static void ZIncrBy(ref CommandContext context) => Add(ref context, ScoreRule.Increment);

    private static void Add(ref CommandContext context, ScoreRule rule)
    {
        var key = context.Args.NextKey();
        rule |= ReadRule(ref context.Args, out bool countsChanges);
        if ((rule & ScoreRule.Increment) != 0) context.Arm(KeyEvent.ZIncr);
        int first = context.Args.Position, pairs = CountPairs(ref context.Args, rule);
        if (AdditionSteps<SetScores>.TryBegin(ref context, first, new SetScores(rule, countsChanges))) return;
        var room = default(ScoreRoom);
        double score = 0;
        for (int i = 0; i < pairs; i++)
        {
            score = NextScore(ref context.Args);
            room.Add(context.Args.NextBytes().Length, score);
        }

        if (!context.Args.Finish(context.Reply)) return;
        Debug.Assert(pairs > 0 && first + (2 * pairs) == context.Args.Count, "each score has its member");
        bool createsNone = (rule & ScoreRule.OnlyExisting) != 0;
        using var held = context.Store.Hold(key, DataType.SortedSet,
            createsNone ? HeldKey.OnlyIfThere : room.ExpectedBytes);
        long added = 0, changed = 0;
        ScoreOutcome outcome = ScoreOutcome.Refused;
        if (held.Status == StoreStatus.Ok)
        {
            var set = new SortedSetValue(held.Value);
            for (int i = 0; i < pairs; i++)
            {
                bool isScore = pairs == 1 || TryParseScore(context.Args[first + (2 * i)].Span, out score);
                Debug.Assert(isScore, "all scores were read before");
                outcome = set.Set(context.Args[first + (2 * i) + 1].Span, ref score, rule, ref room);
                if (outcome == ScoreOutcome.Added) added++;
                else if (outcome == ScoreOutcome.Changed) changed++;
                else if (outcome is ScoreOutcome.OutOfMemory or ScoreOutcome.NotANumber) break;
            }

            set.Settle();
            Debug.Assert(added + changed <= pairs, "each member is new, or changed, at most");
            // The row counts what is replied.
            if ((rule & ScoreRule.Increment) != 0) context.CountChanges(added + changed);
            else if (!countsChanges) context.CountChanges(changed);
        }

        if (held.Status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(held.Status));
        else if (outcome == ScoreOutcome.OutOfMemory) context.Fail(Errors.OutOfMemory);
        else if (outcome == ScoreOutcome.NotANumber) context.Fail(NotANumber);
        else if ((rule & ScoreRule.Increment) == 0) context.Reply.WriteInteger(countsChanges ? added + changed : added);
        else if (outcome == ScoreOutcome.Refused) context.Reply.WriteNull();
        else context.Reply.WriteDouble(score);
    }

    private static ScoreRule ReadRule(ref CommandArguments arguments, out bool countsChanges)
    {
        var rule = ScoreRule.None;
        countsChanges = false;
        // Ends: each round reads a word, or there is none.
        while (true)
        {
            if (arguments.TryKeyword("NX"u8)) rule |= ScoreRule.OnlyNew;
            else if (arguments.TryKeyword("XX"u8)) rule |= ScoreRule.OnlyExisting;
            else if (arguments.TryKeyword("CH"u8)) countsChanges = true;
            else if (arguments.TryKeyword("INCR"u8)) rule |= ScoreRule.Increment;
            else if (arguments.TryKeyword("GT"u8)) rule |= ScoreRule.OnlyGreater;
            else if (arguments.TryKeyword("LT"u8)) rule |= ScoreRule.OnlyLess;
            else return rule;
        }
    }

    private static int CountPairs(ref CommandArguments arguments, ScoreRule rule)
    {
        const ScoreRule exclusive = ScoreRule.OnlyNew | ScoreRule.OnlyGreater | ScoreRule.OnlyLess;
        int count = arguments.Remaining;
        if (count == 0 || count % 2 != 0) arguments.SyntaxError();
        if ((rule & ScoreRule.OnlyNew) != 0 && (rule & ScoreRule.OnlyExisting) != 0)
            arguments.Fail("ERR XX and NX options at the same time are not compatible"u8);
        if (System.Numerics.BitOperations.PopCount((uint)(rule & exclusive)) > 1)
            arguments.Fail("ERR GT, LT, and/or NX options at the same time are not compatible"u8);
        if ((rule & ScoreRule.Increment) != 0 && count > 2)
            arguments.Fail("ERR INCR option supports a single increment-element pair"u8);
        return count / 2;
    }

    private static double NextScore(ref CommandArguments arguments)
    {
        var text = arguments.NextBytes();
        if (!arguments.Failed && TryParseScore(text, out double score)) return score;
        arguments.Fail(Errors.NotAFloat);
        return 0;
    }

    private static bool TryParseScore(ReadOnlySpan<byte> text, out double score)
    {
        // Most scores are whole numbers; up to 15 digits a double has them exactly.
        if (text.Length <= 15 && NumberText.TryParseInt64(text, out long whole))
        {
            score = whole;
            return true;
        }

        return NumberText.TryParseDouble(text, out score) && !double.IsNaN(score);
    }

    private static void ZRem(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        context.Args.Skip(context.Args.Remaining);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok) context.Reply.WriteInteger(0);
        else HeldWork.Run(ref context, held, new ArgumentWork<RemoveScored>(context.Args.All(context.Server.Store)));
    }

    private static void ZScore(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var member = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadScore(member, in context.Store.MemberHash);
        var status = context.Store.Read(key, DataType.SortedSet, ref read);
        if (status == StoreStatus.WrongType) context.Fail(Errors.WrongType);
        else if (status == StoreStatus.Ok && read.IsMember) context.Reply.WriteDouble(read.Score);
        else context.Reply.WriteNull();
    }

    private static void ZMScore(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        int count = context.Args.Remaining;
        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status == StoreStatus.Ok)
        {
            HeldWork.Run(ref context, held, new ArgumentWork<FindScores>(context.Args.All(context.Server.Store)));
            return;
        }

        context.Reply.WriteArray(count);
        for (; count > 0; count--) context.Reply.WriteNull();
    }

    private static void ZCard(ref CommandContext context) => CollectionCount.Reply(ref context, DataType.SortedSet);

    private static void ZCount(ref CommandContext context) => Count(ref context, RangeKind.Score);

    private static void ZLexCount(ref CommandContext context) => Count(ref context, RangeKind.Lex);

    private static void Count(ref CommandContext context, RangeKind kind)
    {
        var key = context.Args.NextKey();
        var range = ElementRange.ReadEnds(ref context.Args, kind);
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadElementCount(in context.Store.MemberHash) { Range = range };
        var status = context.Store.Read(key, DataType.SortedSet, ref read);
        if (status == StoreStatus.WrongType) context.Fail(Errors.WrongType);
        else context.Reply.WriteInteger(status == StoreStatus.Ok ? read.Count : 0);
    }

    private static void ZRank(ref CommandContext context) => Rank(ref context, isReversed: false);

    private static void ZRevRank(ref CommandContext context) => Rank(ref context, isReversed: true);

    private static void Rank(ref CommandContext context, bool isReversed)
    {
        var key = context.Args.NextKey();
        var member = context.Args.NextBytes();
        bool withScore = context.Args.TryKeyword("WITHSCORE"u8);
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadScore(member, in context.Store.MemberHash) { WantsRank = true,
            IsReversed = isReversed };
        var status = context.Store.Read(key, DataType.SortedSet, ref read);
        var reply = context.Reply;
        if (status == StoreStatus.WrongType)
        {
            context.Fail(Errors.WrongType);
        }
        else if (status != StoreStatus.Ok || !read.IsMember)
        {
            if (withScore) reply.WriteNullArray();
            else reply.WriteNull();
        }
        else
        {
            if (withScore) reply.WriteArray(2);
            reply.WriteInteger(read.Rank);
            if (withScore) reply.WriteDouble(read.Score);
        }
    }

    private static void ZRange(ref CommandContext context) => Range(ref context, RangeKind.ByArguments, reversed: null);

    private static void ZRevRange(ref CommandContext context) => Range(ref context, RangeKind.Rank, reversed: true);

    private static void ZRangeByScore(ref CommandContext context) =>
        Range(ref context, RangeKind.Score, reversed: false);

    private static void ZRevRangeByScore(ref CommandContext context) =>
        Range(ref context, RangeKind.Score, reversed: true);

    private static void ZRangeByLex(ref CommandContext context) => Range(ref context, RangeKind.Lex, reversed: false);

    private static void ZRevRangeByLex(ref CommandContext context) => Range(ref context, RangeKind.Lex, reversed: true);

    private static void Range(ref CommandContext context, RangeKind kind, bool? reversed)
    {
        var key = context.Args.NextKey();
        var range = ElementRange.Read(ref context.Args, kind, reversed);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteArray(0);
            return;
        }

        range.Find(new SortedSetValue(held.Value).View, out long first, out long count);
        HeldWork.Run(ref context, held, new RankRangeWork(new RankRange(first, count, range.IsReversed),
            new ScoreForm(context.Reply.Version, range.WithScores)));
    }

    private static void ZRangeStore(ref CommandContext context)
    {
        context.Args.Skip(2);
        var range = ElementRange.Read(ref context.Args, RangeKind.ByArguments, reversed: null, stores: true);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(context.ListKeys(1, 2));
        if (!context.TryBegin(held.Status)) return;
        if (held.Value(1).Type is not (DataType.SortedSet or DataType.Any))
        {
            context.Fail(Errors.WrongType);
            return;
        }

        long first = 0, count = 0;
        if (held.Exists(1)) range.Find(new SortedSetValue(held.Value(1)).View, out first, out count);
        bool replaces = held.Exists(0);
        HeldWork.Run(ref context, held,
            new RangeStoreWork(context.Server.Store, first, Math.Max(0, count), range.IsReversed));
        if (replaces) ChangeRule.NoteEmptied(ref context);
    }

    private static void ZRemRangeByRank(ref CommandContext context) => RemoveRange(ref context, RangeKind.Rank);

    private static void ZRemRangeByScore(ref CommandContext context) => RemoveRange(ref context, RangeKind.Score);

    private static void ZRemRangeByLex(ref CommandContext context) => RemoveRange(ref context, RangeKind.Lex);

    private static void RemoveRange(ref CommandContext context, RangeKind kind)
    {
        var key = context.Args.NextKey();
        var range = ElementRange.ReadEnds(ref context.Args, kind);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            context.Reply.WriteInteger(0);
            return;
        }

        range.Find(new SortedSetValue(held.Value).View, out long first, out long count);
        HeldWork.Run(ref context, held, new RankRemovalWork(new RankRemoval(first, count), count));
    }

    private static void ZPopMin(ref CommandContext context) => Pop(ref context, fromEnd: false);

    private static void ZPopMax(ref CommandContext context) => Pop(ref context, fromEnd: true);

    private static void Pop(ref CommandContext context, bool fromEnd)
    {
        var key = context.Args.NextKey();
        bool hasCount = context.Args.Remaining > 0;
        if (context.Args.Remaining > 1) context.Args.SyntaxError();
        long count = hasCount ? context.Args.NextInt64(0, long.MaxValue, Errors.MustBePositive) : 1;
        if (!context.Args.Finish(context.Reply)) return;

        var reply = context.Reply;
        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok)
        {
            reply.WriteArray(0);
            return;
        }

        var set = new SortedSetValue(held.Value);
        if (hasCount)
        {
            HeldWork.Run(ref context, held, new SortedSetTakeWork(new SortedSetTake(set, fromEnd, count),
                new ScoreForm(reply.Version, withScores: true)));
            return;
        }

        // One element alone is not paired, in neither version.
        reply.WriteArray(2);
        SortedSetEnds.TakeOne(reply, set, fromEnd);
    }

    private static void ZMPop(ref CommandContext context)
    {
        var rule = PopRule.ReadMany(ref context.Args, DataType.SortedSet, out var keys);
        if (!context.Args.Finish(context.Reply)) return;

        if (!rule.TryTake(ref context, keys)) context.Reply.WriteNullArray();
    }

    private static void ZRandMember(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var sample = SampleArguments.Read(ref context.Args, "WITHSCORES"u8);
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.SortedSet);
        var reply = context.Reply;
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok && sample.HasCount) reply.WriteArray(0);
        else if (held.Status != StoreStatus.Ok) reply.WriteNull();
        else if (sample.IsTooLarge) context.Fail(Errors.ReplyTooLarge);
        else WriteRandom(ref context, held, sample);
    }

    private static void WriteRandom(ref CommandContext context, in HeldKey held, SampleArguments sample)
    {
        var reply = context.Reply;
        var set = new SortedSetValue(held.Value).View;
        Debug.Assert(set.Count > 0, "a set that exists has a member");
        if (!sample.HasCount)
        {
            var dice = Dice.New();
            set.Random(ref dice, out var member, out _);
            reply.WriteBulk(member);
            return;
        }

        long count = Math.Min(sample.Count, set.Count);
        var form = new ScoreForm(reply.Version, sample.WithValues);
        if (count == set.Count)
        {
            // All of them come in their order.
            HeldWork.Run(ref context, held, new RankRangeWork(new RankRange(0, count, descending: false), form));
            return;
        }

        HeldWork.Run(ref context, held, new SampleWork(held.Value, reply.Version, count, sample.WithValues));
    }

    private static void ZScan(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!ScanArguments.TryRead(ref context, out var scan)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!ScanArguments.TryBegin(ref context, held.Status)) return;
        var mark = context.Reply.Mark();
        var set = new SortedSetValue(held.Value).View;
        scoped var visit = new ReplyElements(set, context.Reply, scan);
        ulong cursor = scan.Run(set, ref visit, context.Reply);
        context.Reply.EndScan(mark, cursor, visit.Written * 2);
    }

    /// <summary>Writes the elements that ZSCAN meets and takes.</summary>
    private unsafe ref struct ReplyElements(SortedSetView set, ReplyWriter reply, ScanArguments scan) : IScanReply
    {
        private readonly SortedSetView _set = set;
        private readonly ScanArguments _scan = scan;

        public int Seen { get; private set; }

        public int Written { get; private set; }

        public void Visit(byte* item)
        {
            _set.Split(item, out var member, out double score);
            Seen++;
            if (!_scan.Takes(member)) return;
            Span<byte> text = stackalloc byte[NumberText.MaxDoubleBytes];
            reply.WriteBulk(member);
            reply.WriteBulk(text[..NumberText.FormatDouble(score, text)]);      // a bulk in RESP3, too
            Written++;
        }
    }

    /// <summary>Very many scores and members for ZADD.</summary>
    private struct SetScores(ScoreRule rule, bool countsChanges) : IArgumentAddition
    {
        private ScoreAddition _addition = new(rule, countsChanges);

        public static DataType Type => DataType.SortedSet;
        public static int Stride => 2;
        public readonly ReplyHead Head => ReplyHead.Number;

        public void Read(ref CommandArguments arguments)
        {
            double score = NextScore(ref arguments);
            _addition.Read(arguments.NextBytes(), score);
        }

        public readonly int ExpectedBytes(PackedLimits limits) => _addition.ExpectedBytes;

        public StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count)
        {
            bool isScore = TryParseScore(arguments[0].Span, out double score);
            Debug.Assert(isScore, "all scores were read before");
            return _addition.Set(value, arguments[1].Span, score, ref count);
        }

        public readonly void Settle(HeldValue value) => _addition.Settle(value);
    }

    /// <summary>Very many members for ZREM.</summary>
    private readonly struct RemoveScored : IArgumentUse
    {
        public static bool Changes => true;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget => new SortedSetValue(value).Remove(argument);

        public static void Settle(HeldValue value) => new SortedSetValue(value).Settle();
    }

    /// <summary>For ZMSCORE.</summary>
    private readonly struct FindScores : IArgumentUse
    {
        public static bool Changes => false;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget
        {
            bool isMember = new SortedSetValue(value).View.TryGetScore(argument, out double score);
            if (isMember) reply.Next().WriteDouble(score);
            else reply.Next().WriteNull();
            return isMember;
        }
    }
}
