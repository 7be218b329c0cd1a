using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LPOS: places of elements that equal one.</summary>
/// <param name="one">The first place alone, or nil; not an array.</param>
internal struct ListSearchWork(KeptArgument element, ListSearch search, bool one) : IValueWork
{
    /// <summary>Elements that are compared in one turn.</summary>
    public const int LookedMax = 16 * 1024;

    public readonly ReplyHead Head => one ? ReplyHead.None : ReplyHead.Array;

    public long Count { get; private set; } = -1;

    public readonly bool IsLong(HeldValue value) => new ListValue(value).Count > LookedMax;

    public void Keep() => element.Keep();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new PlaceSink<TReply>(reply);
        if (!search.Run(new ListValue(value), element.Span, sink, ref budget)) return false;
        Count = search.Found;
        Debug.Assert(!one || Count <= 1, "who asks for one gets no more");
        if (one && Count == 0) reply.Next().WriteNull();
        return true;
    }

    private readonly struct PlaceSink<TReply>(TReply reply) : IPlaceSink where TReply : struct, IReplyTarget
    {
        public void Write(long place) => reply.Next().WriteInteger(place);
    }
}
