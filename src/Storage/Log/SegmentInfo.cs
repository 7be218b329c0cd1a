using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  one segment's entry, 64 bytes
//   0       4       8         12     16                 24            32             40           48      52
//  +-------+-------+---------+------+------------------+-------------+--------------+------------+-------+--------+
//  | tail  | state | dead    | db   | earliest expiry  | seal epoch  | last write s | generation | queue | spare  |
//  +-------+-------+---------+------+------------------+-------------+--------------+------------+-------+--------+
//   tail: bytes handed out (the writer's; release)     dead: bytes of dead records and fillers (atomic)
//   generation: how often the segment was taken into use
//   earliest expiry: unix ms, at most the smallest of its records; long.MaxValue = none (atomic minimum)

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

    /// <summary>Tells two uses of a segment apart, and so two records that had one address.</summary>
    public long Generation;

    /// <summary>Written once, when the segment is taken, before any record of it can be found.</summary>
    public SegmentQueue Queue;

    private fixed int _spare[3];

    /// <summary>Lowers the earliest expiry to at most this one, for a record that the caller locked by compare-and-swap
    /// before it wrote the expiry.</summary>
    /// <remarks>Usually a load and a compare: most expiries are later than the segment's earliest.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void NoteExpiryOfLocked(long expiryMs)
    {
        // The lock is the full fence before the read of the mark. A sweep that raised the mark later finds the record
        // locked and comes back, or unlocked with the new expiry; one that found it unlocked before had raised the mark
        // before.
        if (expiryMs < Volatile.Read(ref EarliestExpiryMs)) NoteExpiry(expiryMs);
    }

    /// <summary>Lowers the earliest expiry to at most this one.</summary>
    public void NoteExpiry(long expiryMs)
    {
        Debug.Assert(expiryMs >= 0, "no expiry is not noted");
        // The expiry that the caller wrote into its record before the read of the mark: else the mark could be read as
        // it was before a sweep raised it, and the record by the sweep as it was before: nobody would remember the
        // expiry.
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
