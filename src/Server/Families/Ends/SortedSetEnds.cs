using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Takes the members with the lowest or the highest scores from sorted sets that are held, and answers
/// them.</summary>
internal static class SortedSetEnds
{
    /// <summary>One: member and score, not paired.</summary>
    public static void TakeOne(ReplyWriter reply, SortedSetValue set, bool highest)
    {
        long rank = highest ? set.Count - 1 : 0;
        set.View.From(rank).Next(out var member, out double score);
        reply.WriteBulk(member);
        reply.WriteDouble(score);
        set.RemoveAt(rank, 1);
        set.Settle();
    }

    /// <summary>Up to so many.</summary>
    public static void TakeMany(ElementReply reply, SortedSetValue set, bool highest, long most)
    {
        long total = set.Count, count = Math.Min(most, total);
        reply.WriteRange(set.View, highest ? total - 1 : 0, count, highest);
        set.RemoveAt(highest ? total - count : 0, count);
        set.Settle();
    }
}
