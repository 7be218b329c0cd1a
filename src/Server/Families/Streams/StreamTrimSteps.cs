using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many entries removed from the front of a stream, for XTRIM and XADD.</summary>
internal sealed class StreamTrimSteps(StreamTrim trim, long removed, StreamId added, bool answersId) : HeldSteps
{
    private const int LeavesPerStep = 64;

    private readonly StreamTrim _trim = trim;
    private long _removed = removed;

    /// <inheritdoc/>
    public override bool HasChanged => true;

    /// <summary>Removes them, and answers how many there were; or leaves that to later turns, if there are
    /// many.</summary>
    /// <param name="added">What was added just before: its id is the answer instead; 0-0: nothing was.</param>
    public static void Run(ref CommandContext context, in HeldKey held, in StreamTrim trim, StreamId added = default)
    {
        var stream = new StreamValue(held.Value);
        long removed = 0;
        // It cannot be begun anew, so in the first turn of EXEC all is removed.
        bool mayStep = context.Session.Transaction is not { IsRunning: true, Pace: not TransactionPace.Steps };
        if (!stream.Trim(in trim, ref removed, mayStep ? LeavesPerStep : long.MaxValue))
        {
            if (new StreamTrimSteps(trim, removed, added, !added.IsZero)
                .TryBegin(ref context, held, added.IsZero ? ReplyHead.Number : ReplyHead.None, removed)) return;
            stream.Trim(in trim, ref removed, long.MaxValue);
        }

        if (added.IsZero) context.Reply.WriteInteger(removed);
        else StreamIdText.Write(context.Reply, added);
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        bool isDone = new StreamValue(held.Value(0)).Trim(in _trim, ref _removed, LeavesPerStep);
        Count = _removed;
        if (isDone && answersId) StreamIdText.Write(reply.Next(), added);
        return isDone;
    }
}
