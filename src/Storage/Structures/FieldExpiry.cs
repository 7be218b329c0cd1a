using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>When fields of hashes expire.</summary>
internal static unsafe class FieldExpiry
{
    /// <summary>The expiry of a field that lives as long as its hash.</summary>
    public const long None = -1;

    /// <summary>The earliest expiry of a hash without a field that expires.</summary>
    public const long Never = long.MaxValue;

    /// <summary>The latest that a client may ask for, unix milliseconds: 46 bits.</summary>
    public const long ClientMaxMs = (1L << 46) - 1;

    /// <summary>Whether a field with this expiry has expired.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsPast(long expiryMs, long nowMs) => (ulong)expiryMs <= (ulong)nowMs;      // none is the largest

    /// <summary>When the first field of a hash expires, or earlier: a bound. <see cref="Never"/>: none has an
    /// expiry.</summary>
    /// <param name="value">Of a record: a packed run, or the pointer to a region.</param>
    /// <param name="valueBytes">Of the record.</param>
    public static long EarliestOf(byte* value, ValueKind kind, int valueBytes) => kind switch
    {
        ValueKind.PackedHash => new PackedFields(new PackedRun(value, valueBytes)).EarliestMs,
        ValueKind.Hash => FieldTable.EarliestOf(new Region((byte*)Unsafe.ReadUnaligned<nint>(value))),
        _ => Never,
    };
}
