using System.Diagnostics;

namespace Kv.Storage;

/// <summary>What happens to a number that does not fit into its field.</summary>
internal enum BitOverflow : byte
{
    Wrap,
    Saturate,

    /// <summary>Nothing is written, and there is no result.</summary>
    Fail,
}

/// <summary>A number of 1 to 64 bits, signed or not (63 at most), somewhere in a string.</summary>
/// <param name="IsSigned">Two's complement.</param>
/// <param name="Bits">Its width.</param>
internal readonly record struct BitField(bool IsSigned, byte Bits)
{
    /// <summary>The number that the bits of a field stand for.</summary>
    public long Read(ReadOnlySpan<byte> bytes, long firstBit)
    {
        ulong bits = Bitmap.GetField(bytes, firstBit, Bits);
        return IsSigned ? (long)(bits << (64 - Bits)) >> (64 - Bits) : (long)bits;
    }

    /// <summary>Writes the lowest bits of a number.</summary>
    public void Write(Span<byte> bytes, long firstBit, long number) =>
        Bitmap.SetField(bytes, firstBit, Bits, (ulong)number);

    /// <summary>A sum brought into the field's range.</summary>
    /// <returns>False: it does not fit, and that is a failure.</returns>
    public bool TryAdd(long number, long increment, BitOverflow overflow, out long result)
    {
        Debug.Assert(Bits is > 0 and <= 64 && (IsSigned || Bits < 64), "a field has 1 to 64 bits, 63 without a sign");
        // 128 bits hold any sum. An unsigned field takes what is written to it as 64 bits without a sign.
        Int128 sum = (IsSigned ? number : (Int128)(ulong)number) + increment;
        Int128 max = IsSigned ? (Int128.One << (Bits - 1)) - 1 : (Int128.One << Bits) - 1;
        Int128 min = IsSigned ? -max - 1 : 0;
        if (sum >= min && sum <= max)
        {
            result = (long)sum;
            return true;
        }

        if (overflow == BitOverflow.Saturate)
        {
            // The reference takes the distance to the upper end in 64 bits: a SET of a number so far below that the
            // distance wraps saturates to the upper end there, and so here.
            bool wraps = IsSigned && increment == 0 && unchecked((long)max - number) < 0;
            result = (long)(sum > max || wraps ? max : min);
            return true;
        }

        ulong low = (ulong)(UInt128)(sum & ulong.MaxValue);
        result = IsSigned ? (long)(low << (64 - Bits)) >> (64 - Bits) : (long)(low & (ulong)max);
        return overflow == BitOverflow.Wrap;
    }
}
