using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Members of a set drawn at random, each as likely as another, and removed.</summary>
/// <param name="count">At most as many as there are.</param>
internal struct SetDraw(long count)
{
    private long _left = count;
    private Dice _dice = Dice.New();

    /// <summary>Writes some and removes them.</summary>
    /// <returns>True when all are removed.</returns>
    public bool Run<TSink, TBudget>(HeldValue value, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget
    {
        Debug.Assert(_left <= new SetValue(value).Count, "no more are drawn than there are");
        if (_left == 0) return true;
        var set = new SetValue(value);
        if (value.Kind == ValueKind.Set && _left > 1)
        {
            var batch = new MemberBatch();
            // Ends: each round takes one at least.
            for (; _left > 0; _left -= batch.Count)
            {
                if (!budget.TryTake(MemberBatch.CountMax)) return false;
                set.Draw(ref batch, ref _dice, _left);
                for (int i = 0; i < batch.Count; i++)
                {
                    sink.Write(batch.Member(i));
                    value.Tell(new KeyDetail(KeyDetailKind.MemberDrawn) { Member = batch.Member(i) });
                    set.Remove(batch.Member(i));
                }
            }
        }

        for (; _left > 0; _left--)
        {
            var member = set.View.Random(ref _dice);
            sink.Write(member);
            value.Tell(new KeyDetail(KeyDetailKind.MemberDrawn) { Member = member });
            set.Remove(member);
        }

        set.Settle();
        return true;
    }
}
