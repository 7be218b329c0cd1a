using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>A string where it was found, of the usual form: held as bytes, with a short key, not expired.</summary>
/// <remarks>
/// Plain pointers, so that a hot path keeps them in registers; valid only inside of the epoch. What was read of the
/// bytes counts only if <see cref="IsUnchanged"/> afterwards.
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

    /// <summary>Whether it was not written to since it was found.</summary>
    public bool IsUnchanged
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            Volatile.ReadBarrier();     // the value before the word again
            return RecordWord.Same(Storage.Record.ReadWord(Record), Word);
        }
    }

    /// <summary>A record's string, if it is of this key, held as bytes, and has not expired.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static FoundString In(byte* record, byte* key, int length, long nowMs)
    {
        ulong word = Storage.Record.ReadWord(record);
        int offset = RecordWord.KeyOffset(word);
        if (!RecordWord.IsPlainString(word, length) || !Storage.Record.BytesEqual(record + offset, key, length))
            return default;
        if (Storage.Record.IsExpired(record, word, nowMs)) return default;      // whoever looks closer removes it
        return new FoundString(record, word, offset + length);
    }
}
