using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A search over many places: finds, orders, then answers or stores, a piece at a time.</summary>
internal sealed class GeoSearchSteps(GeoSearch search, bool stores) : HeldSteps
{
    private bool _isFound;

    /// <summary>Goes on with a search that has only begun; it is disposed by this.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held, GeoSearch search, bool stores) =>
        context.MayStep && new GeoSearchSteps(search, stores)
            .TryBegin(ref context, held, stores ? ReplyHead.Number : ReplyHead.Array);

    public override void Dispose()
    {
        base.Dispose();
        search.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        if (!_isFound)
        {
            _isFound = search.Find(new SortedSetValue(held.Value(0)).View, ElementsPerStep);
            Count = search.Count;
            return false;
        }

        if (!stores)
        {
            for (var budget = new StepBudget(reply); !search.IsWritten && budget.TryTake();)
                search.TryWrite(reply.Next());
            return search.IsWritten;
        }

        if (!search.Store(held.Value(1), ElementsPerStep, out var status)) return false;
        Status = status;
        return true;
    }
}
