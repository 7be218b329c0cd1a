using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XCLAIM: makes pending entries, given by their ids, another consumer's.</summary>
/// <param name="arguments">Key, group, consumer, time, ids, options.</param>
/// <param name="group">What it is called in the region.</param>
internal struct ClaimWork(KeptArguments arguments, uint group, long nowMs) : IValueWork
{
    private const int FirstId = 5;

    private int _at = FirstId, _end;
    private int _claimed;
    private uint _consumer;
    private StreamClaimTerms _terms;
    private ReplyWriter? _head;     // of the entries, whose number stands ahead of them
    private ReplyMark _begin;

    public readonly ReplyHead Head => ReplyHead.None;

    public readonly long Count => 0;

    public static bool Changes => true;

    public static bool MayFail => true;

    public static bool Owns => true;

    public StoreStatus Status { get; private set; }

    public readonly bool IsLong(HeldValue value) => arguments.Count > StepBudget.OneTurnMax;

    public void Keep() => arguments.Keep();

    public void Dispose() => arguments.Dispose();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var all = arguments.Span;
        if (_head == null)
        {
            // How far the ids go.
            for (; _at < all.Length && StreamIdText.TryParse(all[_at].Span, 0, out _); _at++)
                if (!budget.TryTake()) return false;
            if (!TryBegin(value, reply.Next())) return true;
        }

        var claim = new StreamClaim(value, group, nowMs) { Consumer = _consumer, Terms = _terms };
        for (; _at < _end; _at++)
        {
            if (!budget.TryTake()) return false;
            StreamIdText.TryParse(all[_at].Span, 0, out StreamId id);
            if (!claim.TryClaim(reply.Next(), id, out var outcome))
            {
                if (_claimed == 0) Status = StoreStatus.OutOfMemory;
                break;
            }

            if (outcome == StreamClaimOutcome.Claimed) _claimed++;
        }

        Debug.Assert(_end <= all.Length && _claimed <= _end - FirstId, "no more are claimed than were asked for");
        _head!.EndArray(_begin, _claimed);
        return true;
    }

    /// <summary>Reads what is not an id, and begins the answer.</summary>
    /// <returns>False: there is nothing to claim, or no memory.</returns>
    private bool TryBegin(HeldValue value, ReplyWriter reply)
    {
        Debug.Assert(_at >= FirstId, "the ids begin where they do");
        _end = _at;
        _at = FirstId;
        var words = arguments.Read();
        words.Skip(2);
        var claim = new StreamClaim(value, group, nowMs);
        if (!claim.TryRead(ref words, reply, _end - FirstId)) return false;
        if (!claim.TryBegin())
        {
            Status = StoreStatus.OutOfMemory;
            return false;
        }

        (_consumer, _terms) = (claim.Consumer, claim.Terms);
        _head = reply;
        _begin = reply.BeginArray();
        return true;
    }
}
