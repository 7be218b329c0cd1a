using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XAUTOCLAIM: makes what has been pending for long another consumer's.</summary>
/// <param name="group">What it is called in the region.</param>
/// <remarks>Where memory ends in the middle, the answer has what was claimed so far; where it ends at once, it is an
/// error.</remarks>
internal struct AutoClaimWork(uint group, KeptArgument name, StreamClaimTerms terms, AutoClaimWalk walk, long nowMs)
    : IValueWork
{
    private uint _consumer;
    private ReplyWriter? _head;     // of what stands ahead of the entries: where to go on, and how many there are
    private ReplyMark _begin;
    // Deleted entries: few as a rule. Each has been taken from what is pending, which was larger.
    private List<StreamId>? _gone;
    private bool _isAtEnd;
    private int _goneWritten;

    public readonly ReplyHead Head => ReplyHead.None;

    public readonly long Count => 0;

    public static bool Changes => true;

    public static bool MayFail => true;

    public StoreStatus Status { get; private set; }

    public readonly bool IsLong(HeldValue value) =>
        Math.Min(walk.Looks, new StreamValue(value).Groups[group].Pending.Count) > StepBudget.OneTurnMax;

    public void Keep() => name.Keep();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var claim = new StreamClaim(value, group, nowMs) { Consumer = _consumer, Terms = terms };
        if (_head == null && !TryBegin(ref claim, reply.Next())) return true;
        while (!_isAtEnd && !walk.IsEnded)
        {
            if (!budget.TryTake()) return false;
            if (!claim.TryClaimNext(reply.Next(), ref walk, out StreamId gone))
            {
                if (walk.HasAny) break;
                Status = StoreStatus.OutOfMemory;
                return true;
            }

            if (!gone.IsZero) (_gone ??= []).Add(gone);
        }

        if (!_isAtEnd) EndEntries(reply.Next());
        Debug.Assert(_goneWritten <= walk.Gone && (_gone?.Count ?? 0) == walk.Gone,
            "each that is gone is answered once");
        for (; _goneWritten < walk.Gone; _goneWritten++)
        {
            if (!budget.TryTake()) return false;
            StreamIdText.Write(reply.Next(), _gone![_goneWritten]);
        }

        return true;
    }

    private bool TryBegin(ref StreamClaim claim, ReplyWriter reply)
    {
        Debug.Assert(_head == null && group != 0, "it begins once, for a group");
        if (!claim.TryFindConsumer(name.Span))
        {
            Status = StoreStatus.OutOfMemory;
            return false;
        }

        _consumer = claim.Consumer;
        _head = reply;
        _begin = reply.BeginArray();
        return true;
    }

    /// <summary>Writes the cursor ahead of the entries, and how many come behind them that were deleted.</summary>
    private void EndEntries(ReplyWriter reply)
    {
        Debug.Assert(_head != null && !_isAtEnd, "the entries have begun, and end once");
        _isAtEnd = true;
        Span<byte> cursor = stackalloc byte[StreamIdText.BytesMax];
        _head!.EndCursor(_begin, cursor[..StreamIdText.Format(walk.Next, cursor)], walk.Claimed);
        reply.WriteArray(walk.Gone);
    }
}
