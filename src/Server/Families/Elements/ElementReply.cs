using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes elements of a sorted set: members, or members with their scores, which RESP3 pairs and RESP2 does
/// not.</summary>
/// <param name="pairsAlways">Whether RESP2 has pairs, too.</param>
internal readonly struct ElementReply(ReplyWriter reply, bool withScores, bool pairsAlways = false) : IScoreSink
{
    private readonly bool _pairs = withScores && (pairsAlways || reply.Version == RespVersion.Resp3);

    /// <summary>Begins the array of so many elements.</summary>
    public void Begin(long count) => reply.WriteArray(checked((int)(withScores && !_pairs ? count * 2 : count)));

    public void Write(ReadOnlySpan<byte> member, double score)
    {
        if (_pairs) reply.WriteArray(2);
        reply.WriteBulk(member);
        if (withScores) reply.WriteDouble(score);
    }

    /// <summary>Writes the elements of a range.</summary>
    public void WriteRange(in SortedSetView set, long first, long count, bool isReversed)
    {
        Begin(count);
        if (count == 0) return;
        var walk = set.From(first, isReversed);
        for (; count > 0 && walk.Next(out var member, out double score); count--) Write(member, score);
    }
}
