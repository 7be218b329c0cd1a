using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes fields of a hash drawn at random: names, or names with their values, which RESP3 pairs and RESP2
/// does not.</summary>
internal readonly struct PairSink<TReply>(TReply reply, bool withValues) : IPairSink
    where TReply : struct, IReplyTarget
{
    public void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        var to = reply.Next();
        if (withValues && to.Version == RespVersion.Resp3) to.WriteArray(2);
        to.WriteBulk(field);
        if (withValues) to.WriteBulk(value);
    }
}
