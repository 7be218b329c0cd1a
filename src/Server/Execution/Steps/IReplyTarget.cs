using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Where the elements of a reply go: to the client, or to what is collected for it.</summary>
internal interface IReplyTarget
{
    /// <summary>Takes the next element.</summary>
    ReplyWriter Next();
}

/// <summary>To the client.</summary>
internal readonly struct DirectTarget(ReplyWriter reply) : IReplyTarget
{
    public ReplyWriter Next() => reply;
}

/// <summary>To what is collected.</summary>
internal readonly struct CollectedTarget(CollectedReply reply) : IReplyTarget
{
    public ReplyWriter Next() => reply.Next();
}

/// <summary>Writes elements as bulk strings.</summary>
internal readonly struct BulkSink<TReply>(TReply reply) : IElementSink where TReply : struct, IReplyTarget
{
    public void Write(ReadOnlySpan<byte> element) => reply.Next().WriteBulk(element);
}
