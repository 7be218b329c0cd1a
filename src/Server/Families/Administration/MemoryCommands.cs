using System.Text;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Reports;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>MEMORY: where memory goes.</summary>
internal static class MemoryCommands
{
    private static readonly string[] Tips =
        ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];

    internal static readonly Command[] Table =
    [
        new("MEMORY", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell about memory.",
            Complexity = "Depends on the subcommand.", Since = "4.0.0", Group = CommandGroup.Server,
            Subcommands =
            [
                new("DOCTOR", arity: 2, Doctor)
                {
                    Summary = "Says in words where memory is, what is wrong with that, and what can be done.",
                    Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Server, Tips = Tips,
                },
                HelpReply.Row("4.0.0", CommandGroup.Server),
                new("MALLOC-STATS", arity: 2, MallocStats)
                {
                    Summary = "Shows what the allocators of the store and the managed heap have, in tables for people.",
                    Complexity = "O(N), N the segments of 2 MB", Since = "4.0.0", Group = CommandGroup.Server,
                    Tips = Tips,
                },
                new("PURGE", arity: 2, Purge)
                {
                    Summary = "Gives back to the system whatever is free.",
                    Complexity = "O(N), N the pages that are free", Since = "4.0.0", Group = CommandGroup.Server,
                    Tips = ["request_policy:all_shards", "response_policy:all_succeeded"],
                },
                new("STATS", arity: 2, Stats)
                {
                    Summary = "Returns what memory is used for, in bytes.",
                    Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Server, Tips = Tips,
                },
                new("USAGE", arity: -3, MemoryUsage)
                {
                    Usage = "key [SAMPLES count]",
                    Summary = "Returns the bytes that a key and its value take, or nil.",
                    Complexity = "O(1) for strings; O(N) where N is the number of elements sampled.",
                    Since = "4.0.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                    IsNoUse = true,
                },
            ],
        },
    ];

    private static void Doctor(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var reading = new ServerReading(context.Server, context.Store);
        context.Reply.WriteVerbatim(Encoding.ASCII.GetBytes(MemoryDoctor.Write(reading)));
    }

    private static void MallocStats(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteVerbatim(Encoding.ASCII.GetBytes(AllocatorText.Write(new ServerReading(context.Server))));
    }

    private static void Purge(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var server = context.Server;
        if (!context.MayBlock)
        {
            // Whoever is in the middle of something does not wait for it.
            server.Blocked.RunElsewhere(server.Purge.RunAsync);
            context.Reply.WriteOk();
            return;
        }

        var wait = new BlockedPurge(context.Session);
        context.Block(wait, DataType.Any, new KeyRange(1, 0, 1), timeoutMs: 0);
        server.Blocked.RunElsewhere(wait.RunAsync);
    }

    private static void Stats(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var reply = context.Reply;
        var reading = new ServerReading(context.Server);
        var databases = reading.Databases(always: 0).ToList();
        reply.WriteMap(MemoryStats.Head.Length + databases.Count + MemoryStats.Tail.Length);
        foreach (var (name, read) in MemoryStats.Head) Write(reply, name, read(reading));
        foreach (int database in databases)
        {
            reply.WriteBulk($"db.{database}");
            reply.WriteMap(MemoryStats.OfDatabase.Length);
            foreach (var (name, read) in MemoryStats.OfDatabase) Write(reply, name, read(reading, database));
        }

        foreach (var (name, read) in MemoryStats.Tail) Write(reply, name, read(reading));
    }

    private static void Write(ReplyWriter reply, string name, MetricValue value)
    {
        reply.WriteBulk(name);
        if (value.IsFraction) reply.WriteDouble(value.Number);
        else reply.WriteInteger((long)value.Number);
    }

    private static void MemoryUsage(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        while (context.Args.Remaining > 0)
        {
            // The size is known without samples: the count is checked, and that is all.
            if (!context.Args.TryKeyword("SAMPLES"u8) || context.Args.NextInt64() < 0) context.Args.SyntaxError();
        }

        if (!context.Args.Finish(context.Reply)) return;
        var read = default(ReadFootprint);
        var status = context.Store.Read(key, DataType.Any, ref read);
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(read.Bytes);
        else if (status == StoreStatus.NotFound) context.Reply.WriteNull();
        else context.Fail(Errors.For(status));
    }

    /// <summary>The bytes of a record and of its block, and those of its entry in the index.</summary>
    private struct ReadFootprint : IValueRead
    {
        public long Bytes;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Bytes = value.FootprintBytes + KeySize.IndexEntryBytes;
    }
}
