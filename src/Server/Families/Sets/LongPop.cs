using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many members of a large set, taken out at random, for SPOP.</summary>
internal sealed class LongPop(long count) : LongElements
{
    private long _left = count;
    private bool _hasChanged;

    /// <inheritdoc/>
    public override bool HasChanged => _hasChanged;

    /// <summary>Begins, if there are many.</summary>
    /// <param name="count">Fewer than there are.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long count) =>
        IsWanted(ref context, count) && held.Value.Kind == ValueKind.Set
        && new LongPop(count).TryBegin(ref context, held, ReplyHead.Set, count);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        _hasChanged = true;
        var set = new SetValue(value);
        var batch = new MemberBatch();
        for (var budget = new StepBudget(reply); _left > 0 && budget.TryTake(MemberBatch.CountMax);
            _left -= batch.Count)
        {
            set.Draw(ref batch, Random.Shared, _left);
            for (int i = 0; i < batch.Count; i++)
            {
                reply.Next().WriteBulk(batch.Member(i));
                set.Remove(batch.Member(i));
            }
        }

        if (_left == 0) set.Settle();
        return _left == 0;
    }
}
