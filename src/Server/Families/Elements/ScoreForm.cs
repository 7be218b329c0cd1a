using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>How elements of a sorted set are written: members, or members with their scores, which are pairs in RESP3
/// and follow each other in RESP2.</summary>
/// <param name="pairsAlways">Whether RESP2 has pairs, too.</param>
internal readonly struct ScoreForm(RespVersion version, bool withScores, bool pairsAlways = false)
{
    private readonly bool _pairs = withScores && (pairsAlways || version == RespVersion.Resp3);

    /// <summary>How many elements of the reply a number of members take.</summary>
    public int Elements(long members) => checked((int)(withScores && !_pairs ? members * 2 : members));

    /// <summary>Writes an element.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(ReplyWriter reply, ReadOnlySpan<byte> member, double score)
    {
        if (_pairs) reply.WriteArray(2);
        reply.WriteBulk(member);
        if (withScores) reply.WriteDouble(score);
    }
}

/// <summary>Writes elements of a sorted set.</summary>
internal readonly struct ScoreSink<TReply>(TReply reply, ScoreForm form) : IScoreSink
    where TReply : struct, IReplyTarget
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(ReadOnlySpan<byte> member, double score) => form.Write(reply.Next(), member, score);
}
