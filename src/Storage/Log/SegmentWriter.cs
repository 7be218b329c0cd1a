using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A session's place in the log for one database: hands out records by moving a tail that nobody else
/// moves.</summary>
/// <remarks>
/// Threads: the session's only. Before the tail moves past a record, its word says how long it is (locked): a walk of
/// an active segment never meets an unknown extent.
/// </remarks>
internal sealed unsafe class SegmentWriter(
    SegmentedLog log, MemoryBudget budget, EpochTable epochs, SegmentQueue queue)
{
    private const int ChargeStep = 64 * 1024;   // as large as the memory that a small database needs

    private byte* _start;
    private int _segment = -1, _tail, _charged;

    /// <summary>The database that the segment belongs to.</summary>
    public SegmentSet? Owner { get; private set; }

    /// <summary>Space for a record, its word written and locked; null when there is no memory.</summary>
    /// <remarks>Throws nothing: callers hold locks.</remarks>
    public byte* Allocate(SegmentSet owner, ulong word, long nowMs)
    {
        Debug.Assert(!RecordWord.IsDead(word), "a record begins alive");
        Debug.Assert(Owner != owner || log.Info(_segment)->State != SegmentState.Free, "the segment is this writer's");
        int size = RecordWord.Size(word);
        Debug.Assert(size <= SegmentedLog.SegmentBytes, "a record fits into a segment");
        if (Owner != owner || _tail + size > SegmentedLog.SegmentBytes)
        {
            if (!TryOpen(owner, nowMs)) return null;
        }

        byte* record = _start + _tail;
        int tail = _tail + size;
        if (tail > _charged) Charge(tail);
        Record.WriteWord(record, word | RecordWord.Lock);
        Volatile.Write(ref log.Info(_segment)->Tail, tail);     // release: the word first
        _tail = tail;
        return record;
    }

    private bool TryOpen(SegmentSet owner, long nowMs)
    {
        // Not for a session's first segment: many write little, and a huge page would be 2 MB from the first record on.
        bool huge = Owner == owner && owner.Bytes >= VirtualMemory.HugePagesFromBytes;
        Seal();
        if (!log.TryTake(owner.DatabaseId, queue, huge, nowMs / 1000, out int segment)) return false;
        try
        {
            Fault.Point("segment.open");
            owner.Add(segment);
        }
        catch
        {
            log.Free(segment, 0);       // nobody knows of it: as if there had been none
            return false;
        }

        Owner = owner;
        _segment = segment;
        _start = log.Start(segment);
        _tail = _charged = 0;
        return true;
    }

    private void Charge(int tail)
    {
        Debug.Assert(tail <= SegmentedLog.SegmentBytes, "a segment has no more bytes");
        int charged = ChargedFor(tail);
        Debug.Assert(charged >= tail && charged > _charged, "what is used is charged");
        budget.ChargeLog(charged - _charged);
        _charged = charged;
    }

    /// <summary>Gives the segment up if an eighth of it is dead, and more than what is charged at a time.</summary>
    public void SealDead()
    {
        if (Owner != null && Volatile.Read(ref log.Info(_segment)->DeadBytes) >= Math.Max(ChargeStep, _tail / 8))
            Seal();
    }

    /// <summary>Gives the segment up: nothing is appended to it any more.</summary>
    public void Seal()
    {
        if (Owner == null) return;
        SegmentInfo* info = log.Info(_segment);
        if (!Owner.IsDropped)   // a dropped database frees its segments itself
        {
            info->SealEpoch = epochs.Current;
            Volatile.Write(ref *(int*)&info->State, (int)SegmentState.Sealed);      // release: the epoch first
        }

        Owner = null;
        _segment = -1;
    }

    /// <summary>What was charged for a segment with this tail.</summary>
    public static int ChargedFor(int tail) =>
        Math.Min(SegmentedLog.SegmentBytes, (tail + ChargeStep - 1) / ChargeStep * ChargeStep);
}
