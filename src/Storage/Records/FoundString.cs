namespace Kv.Storage;

/// <summary>A string where it was found, nothing about it being unusual: held as bytes, behind a short key, its time
/// not passed.</summary>
/// <remarks>
/// Plain pointers, so that a hot path keeps them in registers; of use only inside of the epoch, and for what was read
/// of the bytes only once the word has been found the same behind the reading.
/// </remarks>
internal readonly unsafe struct FoundString(byte* record, ulong word, int offset)
{
    public bool Exists => Record != null;

    public byte* Record { get; } = record;

    /// <summary>The record's word as it was found.</summary>
    public ulong Word { get; } = word;

    /// <summary>Where the value begins, from the record's start.</summary>
    public int Offset { get; } = offset;

    public byte* Bytes => Record + Offset;

    public int Length => RecordWord.ValueBytes(Word);
}
