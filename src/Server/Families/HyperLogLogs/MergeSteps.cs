using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>PFMERGE of very many keys.</summary>
internal sealed class MergeSteps(HyperLogLogDraft draft, int keys) : HeldSteps
{
    /// <summary>What reading one takes of the budget: up to some microseconds.</summary>
    private const int ElementsPerKey = 16;

    private MergeHyperLogLogs _merge = new(draft);
    private int _next;

    /// <summary>Begins, with all keys of the command, which are held.</summary>
    public static void Begin(ref CommandContext context)
    {
        var draft = new HyperLogLogDraft { SparseBytesMax = context.Server.Options.HllSparseMaxBytes };
        using var held = context.Places!.Held;
        new MergeSteps(draft, context.Places.Count).TryBegin(ref context, held, ReplyHead.Ok);
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        var budget = new StepBudget(reply);
        for (; _next < keys && _merge.Union.Status == HyperLogLogStatus.Ok; _next++)
        {
            if (!budget.TryTake(ElementsPerKey)) return false;
            _merge.Union.Read(_next, held.View(_next));
        }

        if (_merge.Union.Status == HyperLogLogStatus.Ok) Status = held.Update(0, DataType.String, ref _merge);
        return true;
    }

    protected override bool Finish(ref CommandContext context)
    {
        if (Failure != null || _merge.Union.Status == HyperLogLogStatus.Ok) return Answer(ref context);
        context.Fail(Errors.For(_merge.Union.Status));
        return true;
    }
}
