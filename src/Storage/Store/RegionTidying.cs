namespace Kv.Storage;

/// <summary>Empties sparse pages of a large collection, a little with each change, so that what its elements leave behind is used again whatever their lengths.</summary>
/// <remarks>
/// Whoever changes a collection that has to grow though a tenth of it is free does a piece of the work: some microseconds. So it keeps
/// pace with the changes, and a collection that is never left alone is tidied, too. The store's thread does the same for one that has become sparse.
/// Invariant: no reservation is open. A round takes memory of its own (docs/storage-format.md, Region).
/// Threads: the owner of the record's lock.
/// </remarks>
internal static unsafe class RegionTidying
{
    private const int PagesPerStep = 256, PiecesPerStep = 32, BucketsPerStep = 8, LeavesPerStep = 4;
    private const long BytesPerStep = 16 * 1024, GrowthPerStep = 512, StepsMax = 64;

    /// <summary>Does some of the work, behind a change: the more of it, the more the change took. A round ends before the collection has grown by a 128th.</summary>
    public static void KeepPace(HeldValue value)
    {
        if (Step(value)) return;
        long steps = Math.Min(value.Region.TakeGrowth() / GrowthPerStep, StepsMax);
        // Ends: fewer each round.
        for (; steps > 0; steps--)
            if (Step(value)) return;
    }

    /// <summary>Does a piece of the work.</summary>
    /// <param name="share">So many times what a change does.</param>
    /// <param name="together">Where a round begins: how many pages are emptied together.</param>
    /// <returns>True when a round has ended, or there is no memory to go on.</returns>
    public static bool Step(HeldValue value, int share = 1, int together = 1)
    {
        Region region = value.Region;
        if (region.Round.Phase == TidyPhase.None) region.BeginRound(together);
        switch (region.Round.Phase)
        {
            case TidyPhase.Sort:
                region.Sort(PiecesPerStep * share);
                return false;
            case TidyPhase.Join:
                region.Join(PiecesPerStep * share);
                return false;
            case TidyPhase.Move:
                return !TryMove(value, share);
            default:
                return region.Collect(PagesPerStep * share);
        }
    }

    private static bool TryMove(HeldValue value, int share)
    {
        long bytes = Math.Max(BytesPerStep * share, value.Region.Round.Room);
        if (!value.TryReserve(bytes, isWatched: false)) return false;
        Region region = value.Region;
        RegionPages round = region.Round;
        var mover = new PieceMover(region, bytes);
        ulong* walk = round.Walk;
        bool isDone, goesOn;
        switch (value.Kind)
        {
            case ValueKind.List:
                var list = new LargeList(region);
                goesOn = list.MoveLeaves(ref mover, ref walk[0], LeavesPerStep * share);
                isDone = (long)walk[0] >= list.Leaves;
                break;
            case ValueKind.Stream:
                goesOn = new LargeStream(region).MoveLeaves(ref mover, ref *(StreamId*)walk, LeavesPerStep * share, out isDone);
                break;
            default:
                goesOn = MoveMembers(value, ref mover, walk, share, out isDone);
                break;
        }

        round.Room = goesOn ? 0 : mover.Wanted;
        if (goesOn && isDone) region.BeginCollecting();
        return true;
    }

    private static bool MoveMembers(HeldValue value, ref PieceMover mover, ulong* walk, int share, out bool isDone)
    {
        var table = new MemberTable(value.Region, in value.Hash);
        isDone = false;
        if (!table.IsBehindAll(walk[0])) return table.MoveItems(ref mover, ref walk[0], BucketsPerStep * share, value.Kind);
        isDone = true;
        if (value.Kind != ValueKind.SortedSet) return true;
        var tree = new ScoreTree(value.Region);
        bool goesOn = tree.MoveNodes(ref mover, ref walk[1], LeavesPerStep * share);
        isDone = (long)walk[1] >= tree.Count;
        return goesOn;
    }
}
