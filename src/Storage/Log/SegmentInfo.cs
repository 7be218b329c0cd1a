namespace Kv.Storage;

//  one segment's entry, 64 bytes
//   0       4       8         12     16                 24            32             40           48
//  +-------+-------+---------+------+------------------+-------------+--------------+------------+--------+
//  | tail  | state | dead    | db   | earliest expiry  | seal epoch  | last write s | generation | spare  |
//  +-------+-------+---------+------+------------------+-------------+--------------+------------+--------+
//   tail: bytes handed out (the writer's; release)     dead: bytes of dead records and fillers (atomic)
//   generation: how often the segment was taken into use     earliest expiry: unix ms, at most the smallest of its records; long.MaxValue = none (atomic minimum)

/// <summary>What is known of a segment without reading it.</summary>
internal unsafe struct SegmentInfo
{
    public const int SizeBytes = 64;

    public int Tail;
    public SegmentState State;
    public int DeadBytes;
    public int DatabaseId;
    public long EarliestExpiryMs;
    public ulong SealEpoch;
    public long LastWriteSeconds;

    /// <summary>Tells an address from the same one after the segment was freed and taken again.</summary>
    public long Generation;

    private fixed long _spare[2];

    /// <summary>Lowers the earliest expiry to at most this one.</summary>
    public void NoteExpiry(long expiryMs)
    {
        // The expiry that the caller wrote into its record before the read of the mark: else the mark could be read as it
        // was before a sweep raised it, and the record by the sweep as it was before: nobody would remember the expiry.
        Interlocked.MemoryBarrier();
        // Ends: each failure means that another session stored a value, and values only fall between two sweeps.
        long seen = Volatile.Read(ref EarliestExpiryMs);
        while (expiryMs < seen)
        {
            long found = Interlocked.CompareExchange(ref EarliestExpiryMs, expiryMs, seen);
            if (found == seen) return;
            seen = found;
        }
    }
}
