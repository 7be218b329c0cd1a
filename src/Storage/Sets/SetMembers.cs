using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>All members of a set.</summary>
internal struct SetMembers
{
    private MemberPlace _place;

    /// <summary>Writes some; of a small set all.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(in SetView set, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget =>
        set.Kind == ValueKind.Set ? RunLarge(set, sink, ref budget) : RunSmall(set, sink);

    // Both are compiled by themselves, as those of HashFields.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool RunSmall<TSink>(in SetView set, TSink sink) where TSink : IElementSink
    {
        for (var walk = set.GetWalk(); walk.Next(out var member);) sink.Write(member);
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private unsafe bool RunLarge<TSink, TBudget>(in SetView set, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget
    {
        var walk = set.Table.GetWalk(_place);
        bool isDone = false;
        while (budget.TryTake())
        {
            isDone = !walk.Next(out byte* item);
            if (isDone) break;
            sink.Write(MemberItem.MemberOf(item));
        }

        _place = walk.Place;
        return isDone;
    }
}
