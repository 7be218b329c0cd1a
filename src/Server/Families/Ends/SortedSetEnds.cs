using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Takes single elements from the ends of sorted sets that are held, and writes them.</summary>
internal static class SortedSetEnds
{
    /// <summary>Takes an element, and writes its member, then its score, without an array.</summary>
    public static void TakeOne(ReplyWriter reply, SortedSetValue set, bool highest)
    {
        Debug.Assert(set.Count > 0, "a set that exists has a member");
        long rank = highest ? set.Count - 1 : 0;
        set.View.From(rank).Next(out var member, out double score);
        reply.WriteBulk(member);
        reply.WriteDouble(score);
        set.RemoveAt(rank, 1);
        set.Settle();
    }
}
