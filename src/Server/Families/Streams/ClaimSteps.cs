using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very many pending entries that become another consumer's, for XCLAIM.</summary>
internal sealed class ClaimSteps : IdSteps
{
    private const int FirstId = 5;

    private readonly uint _group;
    private readonly long _nowMs;
    private uint _consumer;
    private StreamClaimTerms _terms;
    private ReplyWriter? _head;     // of the entries, whose number stands ahead of them
    private ReplyMark _begin;

    private ClaimSteps(ref CommandContext context, uint group)
        : base(ref context, FirstId)
    {
        _group = group;
        _nowMs = context.Store.NowMs;
    }

    /// <summary>Begins, if there are very many.</summary>
    /// <param name="group">What it is called in the region.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, uint group) =>
        AreMany(ref context) && new ClaimSteps(ref context, group).TryBegin(ref context, held);

    protected override bool TryBegin(HeldValue value, ref CommandArguments arguments, int ids, CollectedReply reply)
    {
        arguments.Skip(2);
        var claim = new StreamClaim(value, _group, _nowMs);
        if (!claim.TryRead(ref arguments, reply.Next(), ids)) return false;
        if (!claim.TryBegin())
        {
            reply.Next().WriteError(Errors.OutOfMemory);
            return false;
        }

        (_consumer, _terms) = (claim.Consumer, claim.Terms);
        _head = reply.Next();
        _begin = _head.BeginArray();
        return true;
    }

    protected override bool Do(HeldValue value, StreamId id, CollectedReply reply)
    {
        var claim = new StreamClaim(value, _group, _nowMs) { Consumer = _consumer, Terms = _terms };
        if (claim.TryClaim(reply.Next(), id, out var outcome))
        {
            if (outcome == StreamClaimOutcome.Claimed) Count++;
            return true;
        }

        if (Count == 0) Status = StoreStatus.OutOfMemory;
        return false;
    }

    protected override void End(CollectedReply reply) => _head!.EndArray(_begin, (int)Count);
}
