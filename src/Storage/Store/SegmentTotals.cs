namespace Kv.Storage;

/// <summary>What is in the segments of all databases.</summary>
/// <param name="Active">Segments that a session appends to.</param>
/// <param name="Sealed">Segments that are full, or were given up.</param>
/// <param name="WrittenBytes">Bytes of records, dead ones included.</param>
/// <param name="DeadBytes">Of these, what is dead.</param>
/// <param name="ByDeadQuarter">Segments of which less than a quarter is dead, less than a half, and so on.</param>
internal readonly record struct SegmentTotals(int Active, int Sealed, long WrittenBytes, long DeadBytes,
    int[] ByDeadQuarter)
{
    private const int Quarters = 4;

    /// <summary>Adds them up. From any thread; of no single instant.</summary>
    public static unsafe SegmentTotals Of(Store store)
    {
        int active = 0, full = 0;
        long written = 0, dead = 0;
        int[] byDeadQuarter = new int[Quarters];
        List<int> segments = [];
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(segments);
            foreach (int segment in segments)
            {
                // The entries of segments stay where they are for as long as the store.
                SegmentInfo* info = store.Log.Info(segment);
                int tail = Volatile.Read(ref info->Tail), gone = Math.Min(Volatile.Read(ref info->DeadBytes), tail);
                if (Volatile.Read(ref *(int*)&info->State) == (int)SegmentState.Active) active++;
                else full++;
                written += tail;
                dead += gone;
                byDeadQuarter[tail == 0 ? 0 : Math.Min(Quarters - 1, (int)((long)gone * Quarters / tail))]++;
            }
        }

        return new SegmentTotals(active, full, written, dead, byDeadQuarter);
    }
}
