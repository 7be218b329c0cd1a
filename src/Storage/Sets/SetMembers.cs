namespace Kv.Storage;

/// <summary>All members of a set.</summary>
internal struct SetMembers
{
    private MemberPlace _place;

    /// <summary>Writes some; of a small set all.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(in SetView set, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget
    {
        bool isLarge = set.Kind == ValueKind.Set;
        var walk = set.GetWalk(_place);
        while (!isLarge || budget.TryTake())
        {
            if (!walk.Next(out var member)) return true;
            sink.Write(member);
        }

        _place = walk.Place;
        return false;
    }
}
