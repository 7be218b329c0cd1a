using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Strings that count different elements in at most 12 KB.</summary>
internal static class HyperLogLogCommands
{
    internal static readonly Command[] Table =
    [
        new("PFADD", arity: -2, PfAdd)
        {
            Usage = "key [element [element ...]]",
            Summary = "Adds elements to the HyperLogLog at a key, which is made if it is missing; answers 1 if that "
                + "changed it.",
            Complexity = "O(1) for each element.", Since = "2.8.9", Group = CommandGroup.HyperLogLog,
            Event = KeyEvent.PfAdd,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Member = 2, MemberIs = MemberKind.Element, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("PFCOUNT", arity: -2, PfCount)
        {
            Usage = "key [key ...]",
            Summary = "Estimates how many different elements went into a HyperLogLog, or into several together.",
            Complexity = "O(1) for one key, O(N) for N keys. The constant is much larger for several, and for one that "
                + "has changed.",
            Since = "2.8.9", Group = CommandGroup.HyperLogLog,
            Flags = CommandFlags.ReadOnly | CommandFlags.MayReplicate,
            StepsNoteKeys = true,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RW | KeyAccess.Access)],
        },
        new("PFMERGE", arity: -2, PfMerge)
        {
            Usage = "destkey [sourcekey [sourcekey ...]]",
            Summary = "Adds all that went into some HyperLogLogs to another one, which is made if it is missing.",
            Complexity = "O(N) where N is the number of keys.", Since = "2.8.9", Group = CommandGroup.HyperLogLog,
            Event = KeyEvent.PfAdd,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Insert),
                KeySpec.Range(2, -1, 1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("PFDEBUG", arity: 3, HyperLogLogDebug.PfDebug)
        {
            Usage = "subcommand key",
            Summary = "Shows a HyperLogLog from inside: GETREG, DECODE, ENCODING; TODENSE makes it dense.",
            Complexity = "O(N) where N is the number of registers.", Since = "2.8.9", Group = CommandGroup.HyperLogLog,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Admin,
            Keys = [KeySpec.At(2, KeyAccess.RW | KeyAccess.Access)],
        },
        new("PFSELFTEST", arity: 1, PfSelfTest)
        {
            Summary = "Checks that HyperLogLogs count as they should. Other clients are served meanwhile.",
            Complexity = "Ten million elements.", Since = "2.8.9", Group = CommandGroup.HyperLogLog,
            Flags = CommandFlags.Admin,
        },
    ];

    private static void PfAdd(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (context.Args.Remaining == 1)
        {
            // Most elements raise nothing once there are many: that takes a look, and no lock.
            var look = new ReadRegister { Seen = HyperLogLog.Observe(context.Args.Peek()) };
            if (context.Store.Read(key, DataType.String, ref look) == StoreStatus.Ok && look.IsHighEnough)
            {
                context.Reply.WriteInteger(0);
                return;
            }
        }

        if (!ObservationSteps.TryBegin(ref context, ArgumentElements.First)) PfAddSlow(ref context, key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void PfAddSlow(ref CommandContext context, in Key key)
    {
        HyperLogLogReply.Add(ref context, key, new ArgumentElements(context.Args));
    }

    private static void PfCount(ref CommandContext context)
    {
        if (context.Args.Count > 2)
        {
            PfCountMany(ref context);
            return;
        }

        var key = context.Args.NextKey();
        var read = default(ReadCardinality);
        var status = context.Store.Read(key, DataType.String, ref read);
        if (status == StoreStatus.Ok && !read.IsKnown)
        {
            // What is found is written into the header, for the next one who asks. Without memory for that it is still
            // right.
            var count = default(CountHyperLogLog);
            status = context.Store.Update(key, DataType.String, ref count);
            if (status == StoreStatus.Ok) context.CountChanges(1);      // it is part of the value
            if (status == StoreStatus.OutOfMemory) status = StoreStatus.Ok;
            (read.Status, read.Cardinality) = (count.Status, count.Cardinality);
        }

        if (status == StoreStatus.NotFound) context.Reply.WriteInteger(0);
        else if (status != StoreStatus.Ok) context.Fail(Errors.For(status));
        else if (read.Status != HyperLogLogStatus.Ok) context.Fail(Errors.For(read.Status));
        else context.Reply.WriteInteger(read.Cardinality);
    }

    private static void PfCountMany(ref CommandContext context)
    {
        if (context.IsLong(context.Args.Count - 1))
        {
            context.ContinueLong(ManyKeysKind.CountDistinct);
            return;
        }

        var union = new RegisterUnion(context.Store.Draft.Registers);
        context.Store.ReadMany(AllKeys(ref context), ref union);
        if (union.Status == HyperLogLogStatus.Ok) context.Reply.WriteInteger(union.Cardinality);
        else context.Fail(Errors.For(union.Status));
    }

    private static void PfMerge(ref CommandContext context)
    {
        if (context.HoldsInSteps(1, context.Args.Count - 1)) return;
        if (context.Places != null)
        {
            MergeSteps.Begin(ref context);
            return;
        }

        var keys = AllKeys(ref context);
        var merge = new MergeHyperLogLogs(HyperLogLogReply.DraftOf(ref context));
        using HeldKeys held = context.Store.Hold(keys);
        var status = held.Status;
        if (status == StoreStatus.Ok)
        {
            for (int i = 0; i < keys.Count; i++) merge.Union.Read(i, held.View(i));
            if (merge.Union.Status != HyperLogLogStatus.Ok)
            {
                context.Fail(Errors.For(merge.Union.Status));
                return;
            }

            status = held.Update(0, DataType.String, ref merge);
        }

        if (status == StoreStatus.Ok) context.Reply.WriteOk();
        else context.Fail(Errors.For(status));
    }

    private static KeyList AllKeys(ref CommandContext context)
    {
        var keys = context.Store.Keys;
        keys.Clear();
        for (int i = 1; i < context.Args.Count; i++)
            context.Args.AddKey(i, keys, context.Session.Database, HyperLogLog.EmptyBytes);
        return keys;
    }

    private static void PfSelfTest(ref CommandContext context) => context.Continue(new HyperLogLogSelfTest());

    /// <summary>The elements of a PFADD.</summary>
    private readonly ref struct ArgumentElements(CommandArguments args) : IElementList
    {
        public const int First = 2;
        private readonly CommandArguments _args = args;

        public int Count => _args.Count - First;

        public HyperLogLog.Observation Observe(int index) => HyperLogLog.Observe(_args[First + index].Span);
    }
}
