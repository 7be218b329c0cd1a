using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  63            43 42    37 36      27 26              7 6    3    2      1     0
// +----------------+--------+----------+-----------------+------+---------+------+------+
// | value bytes 21 | use 6  | key  10  |   version 20    | kind | expiry? | dead | lock |
// +----------------+--------+----------+-----------------+------+---------+------+------+
//   lock    one writer owns the record          dead    replaced or deleted; never alive again
//   use     when and how much, EvictionRule     version counts writes, so that a reader notices one
//   expiry? 8 bytes of expiry follow the word   key     bytes of the key; 1,023 = a long key, held elsewhere (16 bytes)
//
//   word 8 | [expiry 8, unix ms, -1 = none] | key | value | padding to a multiple of 8
//
// Invariant: only the owner of the lock changes the word, but for its use, which whoever uses the record changes by
// compare-and-swap from an unlocked word to the same with another use. So the owner's plain stores lose nothing: while
// the lock is set nobody else's swap succeeds. Dead is set together with the unlock, in one store: no reader ever finds
// two live, unlocked records of a key. A filler is dead from the start.

/// <summary>Reads and makes the first word of a record. Pure functions: <see cref="Record"/> has what touches
/// memory.</summary>
internal static class RecordWord
{
    public const ulong Lock = 1UL << 0, Dead = 1UL << 1, HasExpiry = 1UL << 2;

    /// <summary>The value of the key field that says: a long key, in memory of its own.</summary>
    public const int LongKey = 1023;

    /// <summary>Bytes that a long key takes in its record: pointer and length.</summary>
    public const int LongKeyBytes = 16;

    /// <summary>Most bytes of a value inside of a record; longer ones are blocks.</summary>
    public const int InlineValueMax = 64 * 1024;

    /// <summary>The most that the field of its use can be.</summary>
    public const int UseMax = 63;

    private const int KindShift = 3, VersionShift = 7, KeyShift = 27, UseShift = 37, ValueShift = 43;
    private const ulong UseMask = (ulong)UseMax << UseShift;
    private const ulong VersionMask = 0xFFFFFUL << VersionShift, VersionOne = 1UL << VersionShift;

    public static ulong Make(ValueKind kind, int keyField, int valueBytes, bool hasExpiry)
    {
        Debug.Assert((uint)keyField <= LongKey && (uint)valueBytes < 1u << (64 - ValueShift), "fields fit");
        return (ulong)valueBytes << ValueShift | (ulong)keyField << KeyShift | (ulong)kind << KindShift
            | (hasExpiry ? HasExpiry : 0);
    }

    /// <summary>Whether the record is a live, unlocked string, held as bytes, with a key of <paramref
    /// name="keyLength"/> bytes (not a long one): its value is then at <c>KeyOffset(word) + keyLength</c>. It may have
    /// expired.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsPlainString(ulong word, int keyLength)
    {
        const ulong shape = Lock | Dead | ((ulong)15 << KindShift) | ((ulong)LongKey << KeyShift);
        return (word & shape) == ((ulong)ValueKind.String << KindShift
            | (ulong)(uint)keyLength << KeyShift) & keyLength != LongKey;
    }

    /// <summary>A dead word that covers a whole number of 8 bytes.</summary>
    public static ulong Filler(int bytes)
    {
        Debug.Assert(bytes >= 8 && bytes % 8 == 0, "a filler covers whole words");
        return (ulong)(bytes - 8) << ValueShift | Dead;
    }

    public static ValueKind Kind(ulong word) => (ValueKind)((word >> KindShift) & 15);
    public static int KeyField(ulong word) => (int)(word >> KeyShift) & 1023;

    /// <summary>Bytes that the key takes in the record.</summary>
    public static int KeyBytes(ulong word)
    {
        int field = KeyField(word);
        return field == LongKey ? LongKeyBytes : field;
    }

    public static int ValueBytes(ulong word) => (int)(word >> ValueShift);

    /// <summary>Where the key begins, from the record's start.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int KeyOffset(ulong word) => 8 + (int)((word & HasExpiry) << 1);

    public static int ValueOffset(ulong word) => KeyOffset(word) + KeyBytes(word);

    /// <summary>The record's whole extent, a multiple of 8.</summary>
    public static int Size(ulong word) => (ValueOffset(word) + ValueBytes(word) + 7) & ~7;

    /// <summary>The extent of a record that is not made yet.</summary>
    public static int SizeFor(int keyLength, int valueBytes, bool hasExpiry) =>
        (8 + (hasExpiry ? 8 : 0) + (keyLength >= LongKey ? LongKeyBytes : keyLength) + valueBytes + 7) & ~7;

    public static bool IsBusy(ulong word) => (word & (Lock | Dead)) != 0;
    public static bool IsDead(ulong word) => (word & Dead) != 0;

    public static int Use(ulong word) => (int)(word >> UseShift) & UseMax;

    public static ulong WithUse(ulong word, int use)
    {
        Debug.Assert((uint)use <= UseMax, "the use fits into its field");
        return (word & ~UseMask) | (ulong)use << UseShift;
    }

    /// <summary>True when nothing was written between two readings of the word; its use may have changed.</summary>
    public static bool Same(ulong before, ulong after) => ((before ^ after) & ~UseMask) == 0;

    /// <summary>The word after one more write, with the lock as it is.</summary>
    public static ulong NextVersion(ulong word) => (word & ~VersionMask) | ((word + VersionOne) & VersionMask);

    /// <summary>The word after a write of another kind and length of value.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong WithValue(ulong word, ValueKind kind, int valueBytes)
    {
        Debug.Assert((uint)valueBytes < 1u << (64 - ValueShift), "the length fits");
        return NextVersion(word & ~((ulong)15 << KindShift) & ((1UL << ValueShift) - 1)
            | (ulong)kind << KindShift | (ulong)valueBytes << ValueShift);
    }

    /// <summary>Whether a value of this kind is a pointer to a block.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool HoldsBlock(ulong word) => Kind(word) == ValueKind.BlockString;

    /// <summary>Whether a value of this kind is a pointer to a region. Nobody looks into it without the lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool HoldsRegion(ulong word) => Kind(word) is >= ValueKind.List and <= ValueKind.Stream;

    /// <summary>Whether it is a hash, whose fields may expire.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool HoldsFields(ulong word) => Kind(word) is ValueKind.PackedHash or ValueKind.Hash;

    /// <summary>Whether a value of this kind is a pointer to memory outside of the log.</summary>
    public static bool HoldsPointer(ulong word) => HoldsBlock(word) || HoldsRegion(word);
}
