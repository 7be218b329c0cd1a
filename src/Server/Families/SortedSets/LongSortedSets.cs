using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Large sorted sets combined, for ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD.</summary>
internal sealed class LongSortedSets(SortedSetCombination sets, bool stores, ScoreForm form) : LongElements
{
    private long _rank;
    private bool _isCombined;

    /// <summary>Begins, if there is much to do; the combination is disposed by it.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held, SortedSetCombination sets, bool stores,
        bool withScores)
    {
        var form = new ScoreForm(context.Reply.Version, withScores);
        return IsWanted(ref context, sets.Work(held)) && new LongSortedSets(sets, stores, form)
            .TryBegin(ref context, held, stores || sets.OnlyCounts ? ReplyHead.Number : ReplyHead.Array);
    }

    public override void Dispose()
    {
        base.Dispose();
        sets.Dispose();
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        if (_isCombined) return Write(reply);
        if (!sets.Run(held, ElementsPerStep)) return false;
        _isCombined = true;
        Count = stores || sets.OnlyCounts ? sets.Count : form.Elements(sets.Count);
        Status = sets.Status;
        if (Status == StoreStatus.Ok && stores) Status = sets.Result.Store(held.Value(0));
        return Status != StoreStatus.Ok || stores || sets.OnlyCounts || Count == 0;
    }

    private unsafe bool Write(LongReply reply)
    {
        ScoreCursor cursor = sets.Result.At(_rank);
        for (var budget = new StepBudget(reply); budget.TryTake(); cursor.MoveNext())
        {
            form.Write(reply.Next(), MemberItem.MemberOf(cursor.Item), cursor.Score);
            if (++_rank == sets.Count) return true;
        }

        return false;
    }
}
