using System.Buffers.Binary;
using System.Numerics;

namespace Kv.Server.Persistence.Aof;

/// <summary>The checksum of the append-only file: CRC32C, which processors have an instruction for.</summary>
internal static class AofSum
{
    /// <summary>Goes on with a sum.</summary>
    /// <param name="sum">That of the bytes before; 0 to begin.</param>
    public static uint Add(uint sum, ReadOnlySpan<byte> bytes)
    {
        uint crc = ~sum;
        int i = 0;
        for (; i + 8 <= bytes.Length; i += 8)
            crc = BitOperations.Crc32C(crc, BinaryPrimitives.ReadUInt64LittleEndian(bytes[i..]));
        for (; i < bytes.Length; i++) crc = BitOperations.Crc32C(crc, bytes[i]);
        return ~crc;
    }
}
