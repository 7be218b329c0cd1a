using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Unions, intersections and differences of sorted sets.</summary>
internal static class SortedSetCombinationCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Stores = KeyAccess.OW | KeyAccess.Update;

    internal static readonly Command[] Table =
    [
        new("ZUNION", arity: -3, ZUnion)
        {
            Usage = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]",
            Summary = "Returns the members that any of several sorted sets has, with their scores combined.",
            Complexity = "O(N)+O(M*log(M)) where N is the sum of the sizes and M the size of the result.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Count(1, Reads)],
        },
        new("ZINTER", arity: -3, ZInter)
        {
            Usage = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]",
            Summary = "Returns the members that all of several sorted sets have, with their scores combined.",
            Complexity =
                "O(N*K)+O(M*log(M)) where N is the smallest size, K the number of sets, M the size of the result.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Count(1, Reads)],
        },
        new("ZDIFF", arity: -3, ZDiff)
        {
            Usage = "numkeys key [key ...] [WITHSCORES]",
            Summary = "Returns the members of a sorted set that others do not have.",
            Complexity = "O(N*K)+O(M*log(M)) where N is the size of the first set, K the number of sets, M the size of "
                + "the result.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Count(1, Reads)],
        },
        new("ZINTERCARD", arity: -3, ZInterCard)
        {
            Usage = "numkeys key [key ...] [LIMIT limit]",
            Summary = "Counts the members that all of several sorted sets have, up to a limit.",
            Complexity = "O(N*K) where N is the smallest size and K the number of sets.",
            Since = "7.0.0", Group = CommandGroup.SortedSet,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.Count(1, Reads)],
        },
        new("ZUNIONSTORE", arity: -4, ZUnionStore)
        {
            Usage = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]",
            Summary = "Stores the members that any of several sorted sets has, with their scores combined.",
            Complexity = "O(N)+O(M*log(M)) where N is the sum of the sizes and M the size of the result.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZUnionStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Stores), KeySpec.Count(2, Reads)],
        },
        new("ZINTERSTORE", arity: -4, ZInterStore)
        {
            Usage = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX]",
            Summary = "Stores the members that all of several sorted sets have, with their scores combined.",
            Complexity =
                "O(N*K)+O(M*log(M)) where N is the smallest size, K the number of sets, M the size of the result.",
            Since = "2.0.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZInterStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Stores), KeySpec.Count(2, Reads)],
        },
        new("ZDIFFSTORE", arity: -4, ZDiffStore)
        {
            Usage = "destination numkeys key [key ...]",
            Summary = "Stores the members of a sorted set that others do not have.",
            Complexity = "O(N*K)+O(M*log(M)) where N is the size of the first set, K the number of sets, M the size of "
                + "the result.",
            Since = "6.2.0", Group = CommandGroup.SortedSet,
            Event = KeyEvent.ZDiffStore,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Stores), KeySpec.Count(2, Reads)],
        },
    ];

    private static void ZUnion(ref CommandContext context) => Combine(ref context, SetOperation.Union, stores: false);

    private static void ZInter(ref CommandContext context) =>
        Combine(ref context, SetOperation.Intersection, stores: false);

    private static void ZDiff(ref CommandContext context) =>
        Combine(ref context, SetOperation.Difference, stores: false);

    private static void ZUnionStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Union, stores: true);

    private static void ZInterStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Intersection, stores: true);

    private static void ZDiffStore(ref CommandContext context) =>
        Combine(ref context, SetOperation.Difference, stores: true);

    /// <summary>Combines the sets of a counted list of keys; when it stores, a key ahead of them takes the
    /// result.</summary>
    private static void Combine(ref CommandContext context, SetOperation operation, bool stores)
    {
        if (stores) context.Args.Skip(1);
        int sets = SetsCount(ref context), first = stores ? 1 : 0;
        if (context.Args.Failed)
        {
            context.Args.Finish(context.Reply);
            return;
        }

        int firstKey = stores ? 3 : 2, destination = stores ? 1 : 0;
        Debug.Assert(sets > 0 && firstKey + sets <= context.Args.Count, "the keys are arguments");
        if (context.HoldsInSteps(firstKey, sets, destination)) return;
        var options = CombinationOptions.Read(ref context.Args, sets,
            mayWeigh: operation != SetOperation.Difference, stores);
        using var held = context.Hold(firstKey, sets, destination);
        var combination = new SortedSetCombination(context.Server.Store, operation, first,
            sets) { Weights = options.Weights, Aggregate = options.Aggregate, IsOfMany = context.Places != null };
        Run(ref context, held, combination, stores, options.WithScores);
    }

    private static void Run(ref CommandContext context, in HeldKeys held, SortedSetCombination sets, bool stores,
        bool withScores)
    {
        if (!context.TryBegin(held.Status)) return;
        // Redis looks at the types first; but of very many only in steps.
        if (!sets.IsOfMany && sets.HasWrongType(held))
        {
            context.Fail(Errors.WrongType);
            return;
        }

        if (!context.Args.Finish(context.Reply)) return;
        bool replaces = stores && held.Exists(0);
        HeldWork.Run(ref context, held,
            new SortedSetCombinationWork(sets, stores, new ScoreForm(context.Reply.Version, withScores)));
        if (replaces) ChangeRule.NoteEmptied(ref context);
    }

    private static void ZInterCard(ref CommandContext context)
    {
        int sets = SetsCount(ref context);
        if (context.Args.Failed)
        {
            context.Args.Finish(context.Reply);
            return;
        }

        if (context.HoldsInSteps(2, sets)) return;
        long limit = CombinationOptions.ReadLimit(ref context.Args);
        using var held = context.Hold(2, sets);
        var combination = new SortedSetCombination(context.Server.Store, SetOperation.Intersection, 0,
            sets) { Limit = limit, OnlyCounts = true, IsOfMany = context.Places != null };
        Run(ref context, held, combination, stores: false, withScores: false);
    }

    /// <summary>Reads how many keys follow, and passes over them.</summary>
    private static int SetsCount(ref CommandContext context)
    {
        long count = context.Args.NextInt64();
        if (count < 1 && !context.Args.Failed)
            context.Args.Fail(System.Text.Encoding.ASCII.GetBytes(
                $"ERR at least 1 input key is needed for '{context.Command.FullName}' command"));
        context.Args.Skip((int)Math.Clamp(count, 0, int.MaxValue));
        return (int)Math.Clamp(count, 0, int.MaxValue);
    }
}
