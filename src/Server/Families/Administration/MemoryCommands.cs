using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What people ask to find out where memory and time go.</summary>
internal static class DiagnosticCommands
{
    internal static readonly Command[] Table =
    [
        new("MEMORY", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell about memory.",
            Complexity = "Depends on the subcommand.", Since = "4.0.0", Group = CommandGroup.Server,
            Subcommands =
            [
                HelpReply.Row("4.0.0", CommandGroup.Server),
                new("USAGE", arity: -3, MemoryUsage)
                {
                    Usage = "key [SAMPLES count]",
                    Summary = "Returns the bytes that a key and its value take, or nil.",
                    Complexity = "O(1) for strings; O(N) where N is the number of elements sampled.",
                    Since = "4.0.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                },
            ],
        },
    ];

    private static void MemoryUsage(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        while (context.Args.Remaining > 0)
        {
            // Strings have no elements to sample: the count is checked, and that is all.
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
        private const int IndexEntryBytes = 8;

        public long Bytes;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Bytes = value.FootprintBytes + IndexEntryBytes;
    }
}
