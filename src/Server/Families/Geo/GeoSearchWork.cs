using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>GEOSEARCH and GEOSEARCHSTORE: finds, orders, then answers or stores.</summary>
/// <param name="search">Disposed by this.</param>
internal struct GeoSearchWork(GeoSearch search, bool stores) : IKeysWork
{
    private bool _isFound;

    public readonly ReplyHead Head => stores ? ReplyHead.Number : ReplyHead.Array;

    public readonly long Count => _isFound ? search.Count : -1;

    public static bool MayFail => true;

    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    /// <inheritdoc/>
    /// <remarks>Most searches look at few places, however many the set has: as far as a turn has room for that is done
    /// here, and only what goes on is left to steps.</remarks>
    public bool IsLong(in HeldKeys held)
    {
        _isFound = Find(held, StepBudget.OneTurnMax);
        return !_isFound;
    }

    public readonly void Dispose() => search.Dispose();

    public bool Run<TReply, TBudget>(in HeldKeys held, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        int elements = TBudget.IsBounded ? IStepBudget.WholePiece : int.MaxValue;
        if (!_isFound)
        {
            _isFound = Find(held, elements);
            return false;
        }

        if (stores)
        {
            Debug.Assert(_isFound, "what is stored was found");
            bool isDone = search.Store(held.Value(1), elements, out var status);
            if (isDone) Status = status;
            return isDone;
        }

        while (!search.IsWritten && budget.TryTake()) search.TryWrite(reply.Next());
        return search.IsWritten;
    }

    private readonly bool Find(in HeldKeys held, int elements) =>
        !held.Exists(0) || search.Find(new SortedSetValue(held.Value(0)).View, elements);
}
