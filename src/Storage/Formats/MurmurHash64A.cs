using System.Buffers.Binary;

namespace Kv.Storage;

/// <summary>Austin Appleby's MurmurHash2 in its 64-bit form: the hash that HyperLogLogs of every server agree
/// on.</summary>
/// <remarks>
/// Little endian on any machine. It resists nobody who chooses its input: for counting only.
/// Source: MurmurHash2, 64-bit version A, in the public domain.
/// </remarks>
internal static class MurmurHash64A
{
    private const ulong Factor = 0xC6A4A7935BD1E995;
    private const int Shift = 47;

    public static ulong Of(ReadOnlySpan<byte> bytes, ulong seed)
    {
        ulong hash = seed ^ unchecked((ulong)bytes.Length * Factor);
        for (; bytes.Length >= sizeof(ulong); bytes = bytes[sizeof(ulong)..])
            hash = (hash ^ Mixed(BinaryPrimitives.ReadUInt64LittleEndian(bytes))) * Factor;
        if (bytes.Length > 0) hash = (hash ^ Tail(bytes)) * Factor;
        hash = (hash ^ (hash >> Shift)) * Factor;
        return hash ^ (hash >> Shift);
    }

    private static ulong Mixed(ulong word)
    {
        word *= Factor;
        return (word ^ (word >> Shift)) * Factor;
    }

    /// <summary>Up to seven bytes as a number, the first the lowest.</summary>
    private static ulong Tail(ReadOnlySpan<byte> bytes)
    {
        // Two halves that may overlap instead of a loop.
        if (bytes.Length >= 4)
        {
            int rest = bytes.Length - 4;
            ulong high = BinaryPrimitives.ReadUInt32LittleEndian(bytes[rest..]);
            return BinaryPrimitives.ReadUInt32LittleEndian(bytes) | (high << (8 * rest));
        }

        ulong number = bytes[0];
        if (bytes.Length > 1) number |= (ulong)bytes[1] << 8;
        if (bytes.Length > 2) number |= (ulong)bytes[2] << 16;
        return number;
    }
}
