using System.Diagnostics;
using Kv.Server.Blocking;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>The arguments of XREAD and XREADGROUP: all before the keys, and where keys and ids are.</summary>
internal struct StreamReadArguments
{
    /// <summary>How many entries of each stream at most.</summary>
    public long Count;

    /// <summary>How long to wait, milliseconds, 0 for ever; -1: not at all.</summary>
    public long BlockMs;

    /// <summary>Index of the first key; the first id is <see cref="Streams"/> arguments after it.</summary>
    public int FirstKey;

    public int Streams;

    /// <summary>Index of the group's name, which the consumer's follows; 0: none.</summary>
    public int Group;

    /// <summary>What is delivered is not pending.</summary>
    public bool NoAck;

    public readonly int FirstId => FirstKey + Streams;

    /// <summary>Reads them.</summary>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context, bool isGroup)
    {
        Count = long.MaxValue;
        BlockMs = -1;
        ref CommandArguments arguments = ref context.Args;
        while (arguments.Remaining > 0 && FirstKey == 0)
        {
            bool hasMore = arguments.Remaining > 1;
            if (hasMore && arguments.TryKeyword("BLOCK"u8)) BlockMs = BlockTimeout.NextMilliseconds(ref arguments);
            else if (hasMore && arguments.TryKeyword("COUNT"u8)) ReadCount(ref arguments);
            else if (hasMore && arguments.TryKeyword("STREAMS"u8)) ReadStreams(ref arguments, isGroup);
            else if (arguments.Remaining > 2 && arguments.TryKeyword("GROUP"u8)) ReadGroup(ref arguments, isGroup);
            else if (arguments.TryKeyword("NOACK"u8))
            {
                NoAck = true;
                if (!isGroup)
                    arguments.Fail("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."u8);
            }
            else arguments.SyntaxError();
        }

        if (FirstKey == 0) arguments.SyntaxError();
        if (isGroup && Group == 0) arguments.Fail("ERR Missing GROUP option for XREADGROUP"u8);
        return arguments.Finish(context.Reply);
    }

    private void ReadCount(ref CommandArguments arguments)
    {
        long count = arguments.NextInt64();
        Count = count <= 0 ? long.MaxValue : count;
    }

    private void ReadGroup(ref CommandArguments arguments, bool isGroup)
    {
        Group = arguments.Position;
        arguments.Skip(2);
        if (!isGroup)
            arguments.Fail("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."u8);
    }

    private void ReadStreams(ref CommandArguments arguments, bool isGroup)
    {
        int words = arguments.Remaining;
        if (words % 2 != 0)
        {
            arguments.Fail(isGroup
                ? "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."u8
                : "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."u8);
            return;
        }

        // As many as a client may wait for; to hold them takes some milliseconds.
        arguments.RequireAtMost(words / 2, BlockedClients.KeysMax, "streams to read");
        FirstKey = arguments.Position;
        Streams = words / 2;
        arguments.Skip(words);
        Debug.Assert(FirstId + Streams == arguments.Count || arguments.Failed, "each stream has its id");
    }
}
