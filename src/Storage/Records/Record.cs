using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>What is done to a record in memory: locking, comparing its key, reading its parts.</summary>
/// <remarks>Addresses are plain pointers; whoever holds one is inside of an epoch.</remarks>
internal static unsafe class Record
{
    /// <summary>The expiry of a record that has none.</summary>
    public const long NoExpiry = -1;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong ReadWord(byte* record) => Volatile.Read(ref *(ulong*)record);

    /// <summary>Publishes everything written to the record before (release).</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void WriteWord(byte* record, ulong word) => Volatile.Write(ref *(ulong*)record, word);

    /// <summary>Locks the record if its word is still the one given.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool TryLockFrom(byte* record, ulong word)
    {
        Debug.Assert(!RecordWord.IsBusy(word), "only a live record that nobody has locked is locked");
        return Interlocked.CompareExchange(ref *(ulong*)record, word | RecordWord.Lock, word) == word;
    }

    /// <summary>Lets go of a record that the caller holds, as the given word says.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Unlock(byte* record, ulong word)
    {
        Debug.Assert(IsLocked(record), "only who holds a record lets go of it");
        WriteWord(record, word & ~RecordWord.Lock);
    }

    /// <summary>Marks dead and unlocks in one store.</summary>
    public static void Kill(byte* record, ulong word)
    {
        // Held; or complete but known to nobody, when another was published first.
        Debug.Assert(!RecordWord.IsDead(ReadWord(record)), "a record dies once");
        WriteWord(record, (word | RecordWord.Dead) & ~RecordWord.Lock);
    }

    /// <summary>Whether somebody holds it: for assertions of who does.</summary>
    public static bool IsLocked(byte* record) =>
        (ReadWord(record) & (RecordWord.Lock | RecordWord.Dead)) == RecordWord.Lock;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool KeyEquals(byte* record, ulong word, ReadOnlySpan<byte> key)
    {
        int length = RecordWord.KeyField(word);
        if (length != key.Length || length == RecordWord.LongKey)
            return length == RecordWord.LongKey && LongKeyEquals(record, word, key);

        ref byte left = ref MemoryMarshal.GetReference(key);
        byte* right = record + RecordWord.KeyOffset(word);
        // Two loads that overlap cover 8 to 16 bytes, the common keys.
        if (length is >= 8 and <= 16)
            return Unsafe.ReadUnaligned<ulong>(ref left) == Unsafe.ReadUnaligned<ulong>(right)
                && Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref left, length - 8))
                    == Unsafe.ReadUnaligned<ulong>(right + length - 8);
        return key.SequenceEqual(new ReadOnlySpan<byte>(right, length));
    }

    /// <summary>Whether two pieces of memory have equal bytes: fast for 8 to 16 bytes, the common keys.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool BytesEqual(byte* left, byte* right, int length)
    {
        if ((uint)(length - 8) <= 8)
            return Unsafe.ReadUnaligned<ulong>(left) == Unsafe.ReadUnaligned<ulong>(right)
                && Unsafe.ReadUnaligned<ulong>(left + length - 8) == Unsafe.ReadUnaligned<ulong>(right + length - 8);
        return new ReadOnlySpan<byte>(left, length).SequenceEqual(new ReadOnlySpan<byte>(right, length));
    }

    /// <summary>Copies memory: fast for 8 to 16 bytes, the common values.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void CopyBytes(byte* to, byte* from, int length)
    {
        if ((uint)(length - 8) <= 8)
        {
            ulong last = Unsafe.ReadUnaligned<ulong>(from + length - 8);
            Unsafe.WriteUnaligned(to, Unsafe.ReadUnaligned<ulong>(from));
            Unsafe.WriteUnaligned(to + length - 8, last);
            return;
        }

        Unsafe.CopyBlockUnaligned(to, from, (uint)length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool LongKeyEquals(byte* record, ulong word, ReadOnlySpan<byte> key) =>
        key.Length >= RecordWord.LongKey && key.SequenceEqual(KeyOf(record, word));

    /// <summary>The key; it never changes while the record lives or may still be read.</summary>
    public static ReadOnlySpan<byte> KeyOf(byte* record, ulong word)
    {
        Debug.Assert(record != null, "a key is of a record");
        byte* at = record + RecordWord.KeyOffset(word);
        int length = RecordWord.KeyField(word);
        return length != RecordWord.LongKey
            ? new ReadOnlySpan<byte>(at, length)
            : new ReadOnlySpan<byte>(Unsafe.ReadUnaligned<Block>(at).Content, (int)Unsafe.ReadUnaligned<long>(at + 8));
    }

    /// <summary>The block that holds a long key.</summary>
    public static Block LongKeyBlock(byte* record, ulong word)
    {
        Debug.Assert(RecordWord.KeyField(word) == RecordWord.LongKey, "only a long key has a block");
        return Unsafe.ReadUnaligned<Block>(record + RecordWord.KeyOffset(word));
    }

    public static byte* ValueOf(byte* record, ulong word) => record + RecordWord.ValueOffset(word);

    /// <summary>The block of a value; only for the owner of the lock, or when the word is known not to have
    /// changed.</summary>
    public static Block BlockOf(byte* record, ulong word)
    {
        Debug.Assert(RecordWord.HoldsBlock(word), "the value is in a block");
        return Unsafe.ReadUnaligned<Block>(ValueOf(record, word));
    }

    /// <summary>The region of a large collection; only for the owner of the lock.</summary>
    public static Region RegionOf(byte* record, ulong word)
    {
        Debug.Assert(RecordWord.HoldsRegion(word), "the value is in a region");
        return new Region((byte*)Unsafe.ReadUnaligned<nint>(ValueOf(record, word)));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long ExpiryOf(byte* record, ulong word) =>
        (word & RecordWord.HasExpiry) == 0 ? NoExpiry : Volatile.Read(ref *(long*)(record + 8));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void SetExpiry(byte* record, long expiryMs)
    {
        Debug.Assert((ReadWord(record) & RecordWord.HasExpiry) != 0 && IsLocked(record), "there is room for an expiry");
        Volatile.Write(ref *(long*)(record + 8), expiryMs);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsExpired(byte* record, ulong word, long nowMs)
    {
        if ((word & RecordWord.HasExpiry) == 0) return false;
        long expiry = Volatile.Read(ref *(long*)(record + 8));
        return (ulong)expiry <= (ulong)nowMs;   // -1, none, is the largest
    }
}
