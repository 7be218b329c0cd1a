using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes fields of a hash drawn at random: names, or names with their values, which are pairs in RESP3 and
/// follow each other in RESP2.</summary>
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
