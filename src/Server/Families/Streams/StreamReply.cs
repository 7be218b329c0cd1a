using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Answers entries of streams.</summary>
internal static class StreamReply
{
    /// <summary>An entry: its id, and its fields and values in turn.</summary>
    public static void WriteEntry(ReplyWriter reply, StreamEntry entry)
    {
        reply.WriteArray(2);
        StreamIdText.Write(reply, entry.Id);
        reply.WriteArray(entry.FieldCount * 2);
        while (entry.Next(out var field, out var value))
        {
            reply.WriteBulk(field);
            reply.WriteBulk(value);
        }
    }

    /// <summary>Writes some of the entries after an id.</summary>
    /// <param name="behind">The id; afterwards, that of the last entry written.</param>
    /// <param name="most">How many entries at most.</param>
    /// <param name="bytes">Ends after the entry that makes it this many bytes.</param>
    /// <returns>How many were written; 0: there are no more.</returns>
    public static int WriteBehind(ReplyWriter reply, StreamView stream, ref StreamId behind, long most, int bytes)
    {
        Debug.Assert(most >= 0 && bytes > 0, "each call has room for an entry");
        int written = 0;
        if (!behind.TryNext(out StreamId first)) return 0;
        long end = (long)reply.Output.Length + bytes;
        for (var walk = stream.Between(first, StreamId.Max);
            written < most && reply.Output.Length < end && walk.Next(out StreamEntry entry); written++)
        {
            WriteEntry(reply, entry);
            behind = entry.Id;
        }

        return written;
    }

    /// <summary>A number, or nil for one that is not known.</summary>
    public static void WriteKnown(ReplyWriter reply, bool isKnown, long number)
    {
        if (isKnown) reply.WriteInteger(number);
        else reply.WriteNull();
    }

    /// <summary>Answers that there is no such key or no such group in it.</summary>
    public static void FailNoGroup(ref CommandContext context, ReadOnlySpan<byte> key, ReadOnlySpan<byte> group,
        ReadOnlySpan<byte> where = default) =>
        context.Fail((byte[])[.. "NOGROUP No such key '"u8, .. key, .. "' or consumer group '"u8, .. group,
            .. "'"u8, .. where]);

    /// <summary>Answers that there is no such group, of a key that is there.</summary>
    public static void FailNoGroupAt(ref CommandContext context, ReadOnlySpan<byte> key, ReadOnlySpan<byte> group) =>
        context.Fail((byte[])[.. "NOGROUP No such consumer group '"u8, .. group, .. "' for key name '"u8,
            .. key, .. "'"u8]);
}
