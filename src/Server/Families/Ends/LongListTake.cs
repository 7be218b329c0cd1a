using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many elements from an end of a list, for LPOP, RPOP, LMPOP and BLMPOP.</summary>
internal sealed class LongListTake : LongTake
{
    private const int LeavesPerStep = 1024;

    private readonly bool _left;

    private LongListTake(int index, bool left, long count)
        : base(index, count) => _left = left;

    /// <summary>What takes elements in steps, if there are many.</summary>
    /// <param name="value">A list.</param>
    /// <param name="left">From which end.</param>
    /// <param name="most">So many, or all.</param>
    /// <param name="index">Which of the keys it is.</param>
    /// <param name="key">Its name, if that is a part of the reply.</param>
    /// <returns>Null: do it all in this turn.</returns>
    public static LongListTake? IfMany(ref CommandContext context, HeldValue value, bool left, long most, int index = 0,
        byte[]? key = null)
    {
        long count = Math.Min(most, new ListValue(value).Count);
        return IsWanted(ref context, count) ? new LongListTake(index, left, count) { Key = key } : null;
    }

    protected override long CountOf(HeldValue value) => new ListValue(value).Count;

    protected override long Answer(HeldValue value, long from, long most, LongReply reply)
    {
        var list = new ListValue(value).View;
        var walk = list.GetWalk(_left ? from : list.Count - 1 - from, backwards: !_left);
        long answered = 0;
        for (var budget = new StepBudget(reply); answered < most && budget.TryTake() && walk.Next(out var element);
            answered++) reply.Next().WriteBulk(element);
        return answered;
    }

    // By leaves: nothing is looked at, but freed where an element has a leaf of its own.
    protected override long Take(HeldValue value, long most, LongReply reply)
    {
        var list = new ListValue(value);
        long has = list.Count, taken = list.Leaves == 0
            ? most : Math.Min(most, list.CountIn(_left ? 0 : has - 1, LeavesPerStep, backwards: !_left));
        list.Remove(_left ? 0 : has - taken, taken);
        return taken;
    }

    protected override void Settle(HeldValue value) => new ListValue(value).Settle();
}
