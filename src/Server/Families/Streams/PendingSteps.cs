using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very much that is pending in a group, or has to be looked at, for XPENDING.</summary>
internal sealed class PendingSteps(PendingWalk walk) : HeldSteps
{
    private const int LooksAtOnce = 64;

    private PendingWalk _walk = walk;

    /// <summary>Answers what is pending, or leaves that to later turns, if there is much.</summary>
    public static void Run(ref CommandContext context, scoped HeldKey held, PendingWalk walk)
    {
        var reply = context.Reply;
        var begin = reply.BeginArray();
        PendingWalk rest = walk;
        if (!rest.Write(reply, held.Value, context.MayStep ? StepBudget.OneTurnMax : long.MaxValue, int.MaxValue))
        {
            // How much there is, is not known before: what was looked at is looked at again.
            reply.Rewind(begin);
            if (new PendingSteps(walk).TryBegin(ref context, held, ReplyHead.Array, count: 0)) return;
            rest = walk;
            rest.Write(reply, held.Value, long.MaxValue, int.MaxValue);
        }

        reply.EndArray(begin, rest.Written);
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        bool isDone = false;
        for (var budget = new StepBudget(reply); !isDone && budget.TryTake(LooksAtOnce);)
            isDone = _walk.Write(reply.Next(), held.Value(0), LooksAtOnce, BytesPerStep);
        Count = _walk.Written;
        return isDone;
    }
}
