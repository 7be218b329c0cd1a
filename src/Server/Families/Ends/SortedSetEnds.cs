using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Takes single elements from the ends of sorted sets that are held, and answers them.</summary>
internal static class SortedSetEnds
{
    /// <summary>Member and score, not paired.</summary>
    public static void TakeOne(ReplyWriter reply, SortedSetValue set, bool highest)
    {
        long rank = highest ? set.Count - 1 : 0;
        set.View.From(rank).Next(out var member, out double score);
        reply.WriteBulk(member);
        reply.WriteDouble(score);
        set.RemoveAt(rank, 1);
        set.Settle();
    }
}
