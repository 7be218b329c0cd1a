using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very much that is pending looked at, and made another consumer's, for XAUTOCLAIM.</summary>
internal sealed class AutoClaimSteps : HeldSteps
{
    private readonly byte[] _name;
    private readonly uint _group;
    private readonly long _nowMs;
    private readonly CollectedReply _gone;
    private AutoClaimWalk _walk;
    private StreamClaimTerms _terms;
    private uint _consumer;
    private ReplyWriter? _head;     // of what stands ahead of the entries: where to go on, and how many there are
    private ReplyMark _begin;

    private AutoClaimSteps(ref CommandContext context, uint group, ReadOnlySpan<byte> consumer,
        in StreamClaimTerms terms, in AutoClaimWalk walk)
    {
        _name = consumer.ToArray();
        _group = group;
        _nowMs = context.Store.NowMs;
        _terms = terms;
        _walk = walk;
        _gone = new CollectedReply(context.Server.Store,
            context.Server.Options.MaxReplyBytes) { Version = context.Reply.Version };
    }

    /// <inheritdoc/>
    public override bool HasChanged => _consumer != 0;

    /// <summary>Begins, if very much may have to be looked at.</summary>
    /// <param name="group">What it is called in the region.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(
        ref CommandContext context, in HeldKey held, uint group, ReadOnlySpan<byte> consumer, in StreamClaimTerms terms,
        in AutoClaimWalk walk) =>
        IsWanted(ref context, Math.Min(walk.Looks, new StreamValue(held.Value).Groups[group].Pending.Count))
        && new AutoClaimSteps(ref context, group, consumer, terms, walk)
            .TryBegin(ref context, held, ReplyHead.None, count: 0);

    public override void Dispose()
    {
        base.Dispose();
        _gone.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        var claim = new StreamClaim(held.Value(0), _group, _nowMs) { Consumer = _consumer, Terms = _terms };
        if (_head == null)
        {
            if (!claim.TryFindConsumer(_name)) return FailForMemory();
            _consumer = claim.Consumer;
            _head = reply.Next();
            _begin = _head.BeginArray();
        }

        for (var budget = new StepBudget(reply); !_walk.IsEnded;)
        {
            if (!budget.TryTake()) return false;
            if (!claim.TryClaimNext(reply.Next(), ref _walk, out StreamId gone))
            {
                if (_walk.HasAny) break;
                return FailForMemory();
            }

            if (!gone.IsZero) StreamIdText.Write(_gone.Next(), gone);
        }

        StreamClaim.EndEntries(_head, _begin, in _walk);
        reply.Next().WriteArray(_walk.Gone);
        reply.TakeOver(_gone);
        return true;
    }

    private bool FailForMemory()
    {
        Status = StoreStatus.OutOfMemory;
        return true;
    }
}
