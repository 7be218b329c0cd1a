using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Empties sparse pages of a large collection, a little with each change, so that the room of elements that
/// are gone is used again whatever their lengths.</summary>
/// <remarks>
/// Whoever changes a collection that has to grow though an eighth of it is free, or of which a sixth is, does a piece
/// of the work: some microseconds. So it keeps pace with the changes, and a collection that is never left alone is
/// tidied, too. The store's thread does the same for one that has become sparse. Invariant: no reservation is open. A
/// round takes memory of its own (docs/storage-format.md, Region). Threads: the owner of the record's lock.
/// </remarks>
internal static unsafe class RegionTidying
{
    private const int PagesPerStep = 256, PiecesPerStep = 32, BucketsPerStep = 8, LeavesPerStep = 4;

    // A page is emptied when one unit in 8 is free, or one in 32 where it is thorough: seven bytes are copied for each
    // that is won, or thirty-one. One unit in 16 may stay free, for what comes next.
    private const uint Least = 8, LeastThorough = 32, KeptFree = 16;

    // A round that was of use is followed by the next when one unit in this many is free: the later, the fewer are
    // copied for each that is won. The leaves of a list have spare of their own, so that less of its region may be free
    // for the whole to be within 1.25 times; and where memory is short, what was deleted is to have room again.
    private const uint NextShare = 6, TightNextShare = 8;
    private const long BytesPerStep = 16 * 1024, GrowthPerStep = 512, StepsMax = 256;

    /// <summary>Does some of the work after a change: the more of it, the more the change took. A round ends before the
    /// collection has grown by a 128th.</summary>
    public static void KeepPace(HeldValue value)
    {
        if (Step(value)) return;
        long steps = Math.Min(TakeGrowth(value.Region) / GrowthPerStep, StepsMax);
        // Ends: fewer each round.
        for (; steps > 0; steps--)
            if (Step(value)) return;
    }

    /// <summary>Does a piece of the work.</summary>
    /// <param name="share">So many times what a change does.</param>
    /// <param name="isThorough">Whether all that can be won is to be, and nothing that is free is kept for what comes
    /// next.</param>
    /// <returns>True when a round has ended, or there is no memory to go on.</returns>
    public static bool Step(HeldValue value, int share = 1, bool isThorough = false)
    {
        Debug.Assert(share > 0, "each step does something");
        Region region = value.Region;
        RegionRound round = region.Round;
        switch (region.Pages.Phase)
        {
            case TidyPhase.None:
                round.Begin();
                return false;
            case TidyPhase.Sort:
                round.Sort(PiecesPerStep * share, isThorough ? LeastThorough : Least);
                return false;
            case TidyPhase.Join:
                round.Join(PiecesPerStep * share);
                return false;
            case TidyPhase.Move:
                return !TryMove(value, share);
            case TidyPhase.Collect:
                round.Collect(PagesPerStep * share);
                return false;
            default:
                bool isTight = value.Kind == ValueKind.List || value.Budget.IsNearlyFull;
                return round.GiveBack(PiecesPerStep, isThorough ? uint.MaxValue : KeptFree,
                    isTight ? TightNextShare : NextShare);
        }
    }

    /// <summary>Bytes that it has more in memory, or free, since this was last asked, in a round.</summary>
    private static long TakeGrowth(Region region)
    {
        RegionPages pages = region.Pages;
        uint now = region.TouchedUnits + region.DeadUnits;
        long grown = now - (long)pages.UsedBefore;
        pages.UsedBefore = now;
        return grown * Region.UnitBytes;
    }

    private static bool TryMove(HeldValue value, int share)
    {
        long bytes = Math.Max(BytesPerStep, value.Region.Pages.Room);
        if (!value.TryReserve(bytes, isWatched: false)) return false;
        Region region = value.Region;
        RegionPages round = region.Pages;
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
                goesOn = new StreamMover(new LargeStream(region))
                    .Move(ref mover, walk, LeavesPerStep * share, out isDone);
                break;
            default:
                goesOn = MoveMembers(value, ref mover, walk, share, out isDone);
                break;
        }

        round.Room = goesOn ? 0 : mover.Wanted;
        if ((goesOn && isDone) || region.Round.IsOverLimit) region.Round.BeginCollecting();
        return true;
    }

    private static bool MoveMembers(HeldValue value, ref PieceMover mover, ulong* walk, int share, out bool isDone)
    {
        var table = new MemberTable(value.Region, in value.Hash);
        isDone = false;
        if (!table.HasPassedAll(walk[0]))
            return table.MoveItems(ref mover, ref walk[0], BucketsPerStep * share, value.Kind);
        isDone = true;
        if (value.Kind != ValueKind.SortedSet) return true;
        var tree = new ScoreTree(value.Region);
        bool goesOn = tree.MoveNodes(ref mover, ref walk[1], LeavesPerStep * share);
        isDone = (long)walk[1] >= tree.Count;
        return goesOn;
    }
}
