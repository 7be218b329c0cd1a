using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many elements of a sorted set that follow each other, removed, for ZREMRANGEBYRANK and its kin.</summary>
internal sealed class LongRemove(long first, long count) : LongElements
{
    private const int RemovedAtOnce = 64;

    private long _left = count;
    private bool _hasChanged;

    /// <inheritdoc/>
    public override bool HasChanged => _hasChanged;

    /// <summary>Begins, if there are many, and others will stay: to remove all is to free one piece of
    /// memory.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long first, long count) =>
        IsWanted(ref context, count) && count < new SortedSetValue(held.Value).Count
        && new LongRemove(first, count).TryBegin(ref context, held, ReplyHead.Number, count);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        _hasChanged = true;
        var set = new SortedSetValue(value);
        for (var budget = new StepBudget(reply); _left > 0 && budget.TryTake(RemovedAtOnce);)
        {
            long removed = Math.Min(_left, RemovedAtOnce);
            set.RemoveAt(first, removed);
            _left -= removed;
        }

        if (_left == 0) set.Settle();
        return _left == 0;
    }
}
