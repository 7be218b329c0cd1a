using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes fields of a hash drawn at random: names, or names with their values, which RESP3 pairs and RESP2
/// does not.</summary>
internal readonly struct PairReply(ReplyWriter reply, bool withValues) : IPairSink
{
    private readonly bool _pairs = withValues && reply.Version == RespVersion.Resp3;

    /// <summary>Begins the array of so many.</summary>
    public void Begin(long count) => reply.WriteArray(checked((int)(withValues && !_pairs ? count * 2 : count)));

    public void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        if (_pairs) reply.WriteArray(2);
        reply.WriteBulk(field);
        if (withValues) reply.WriteBulk(value);
    }
}
