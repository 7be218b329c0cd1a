using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>Asks for the memory of what a hint leads to, before the command that will use it is run.</summary>
/// <remarks>Threads: one session's, in a turn. What it says is believed by nobody: the command looks for
/// itself.</remarks>
internal sealed unsafe class LookAhead(SegmentedLog log)
{
    /// <summary>Asks for the head of a large collection.</summary>
    /// <returns>Where the collection is, for <see cref="MemberTable.PrefetchBucket"/>; null when there is none. Good
    /// within the turn.</returns>
    public byte* Region(ulong hint)
    {
        if (hint == 0 || hint == HashIndex.InChain) return null;
        byte* record = log.Pointer(hint);
        ulong word = Record.ReadWord(record);
        if (RecordWord.IsBusy(word) || !RecordWord.HoldsRegion(word)) return null;
        byte* region = Record.RegionOf(record, word).Start;
        Volatile.ReadBarrier();     // the pointer before the word again: half of two pointers is none
        if (!RecordWord.Same(Record.ReadWord(record), word)) return null;
        MemberTable.PrefetchHead(region);
        return region;
    }

    /// <summary>Asks for a byte of the string that a hint may lead to.</summary>
    /// <remarks>Nothing is read at the address, so a stale or torn one does no harm.</remarks>
    public void PrefetchByte(ulong hint, long offset)
    {
        if (hint == 0 || hint == HashIndex.InChain || !Sse.IsSupported) return;
        byte* record = log.Pointer(hint);
        ulong word = Record.ReadWord(record);
        if (RecordWord.IsBusy(word)) return;
        if (RecordWord.HoldsBlock(word)) Sse.Prefetch0(Record.BlockOf(record, word).Content + offset);
        else if (offset < RecordWord.ValueBytes(word)) Sse.Prefetch0(Record.ValueOf(record, word) + offset);
    }
}
