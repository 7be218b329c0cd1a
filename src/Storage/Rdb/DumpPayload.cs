using System.Buffers.Binary;

namespace Kv.Storage;

//   | type 1 | value | version 2 | CRC-64 of all before 8 |        little endian

/// <summary>What DUMP answers and RESTORE takes: a value, the version of its format, a checksum.</summary>
internal static class DumpPayload
{
    /// <summary>The version that is written: that of Redis 7.0, or of 7.4, where fields of a hash expire.</summary>
    private const ushort Version = 10, VersionOfExpiry = 12;

    /// <summary>The newest that is read: that of Redis 7.4.</summary>
    public const int VersionMax = 12;

    private const int VersionBytes = 2;

    /// <summary>Bytes behind the value.</summary>
    public const int FooterBytes = VersionBytes + sizeof(ulong);

    /// <summary>Ends a payload whose value has been written.</summary>
    public static void Finish(RdbOutput output)
    {
        Span<byte> footer = stackalloc byte[FooterBytes];
        bool expires = !output.Written.IsEmpty && output.Written[0] == (byte)RdbType.HashExpiry;
        BinaryPrimitives.WriteUInt16LittleEndian(footer, expires ? VersionOfExpiry : Version);
        ulong crc = Crc64.Append(Crc64.Append(0, output.Written), footer[..VersionBytes]);
        BinaryPrimitives.WriteUInt64LittleEndian(footer[VersionBytes..], crc);
        output.Write(footer);
    }

    /// <summary>Whether a payload is long enough to be one, and of a version that is known.</summary>
    public static bool HasKnownVersion(ReadOnlySpan<byte> payload) =>
        payload.Length >= FooterBytes && BinaryPrimitives.ReadUInt16LittleEndian(payload[^FooterBytes..]) <= VersionMax;
}
