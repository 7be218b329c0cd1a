using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Takes the members with the lowest or the highest scores from sorted sets that are held, and answers them.</summary>
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

    /// <summary>Up to so many: an array of pairs, in both versions.</summary>
    public static void TakeMany(ReplyWriter reply, SortedSetValue set, bool highest, long most)
    {
        long total = set.Count, count = Math.Min(most, total);
        reply.WriteArray((int)count);
        var walk = set.View.From(highest ? total - 1 : 0, highest);
        for (long left = count; left > 0 && walk.Next(out var member, out double score); left--)
        {
            reply.WriteArray(2);
            reply.WriteBulk(member);
            reply.WriteDouble(score);
        }

        set.RemoveAt(highest ? total - count : 0, count);
        set.Settle();
    }
}
