using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Storage;

//   | type 1 | value | version 2 | CRC-64 of all before 8 |        little endian

/// <summary>What DUMP returns and RESTORE takes: a value, the version of its format, a checksum.</summary>
internal static class DumpPayload
{
    /// <summary>The version that is written: that of Redis 7.0, or of 7.4, where fields of a hash expire.</summary>
    private const ushort Version = 10, VersionOfExpiry = 12;

    /// <summary>The newest that is read: that of Redis 7.4.</summary>
    public const int VersionMax = 12;

    private const int VersionBytes = 2;

    /// <summary>Bytes after the value.</summary>
    public const int FooterBytes = VersionBytes + sizeof(ulong);

    /// <summary>Ends a payload whose value has been written.</summary>
    public static void Finish(RdbOutput output)
    {
        var sum = default(PartialChecksum);
        TryFinish(output, ref sum, long.MaxValue);
    }

    /// <summary>Writes some more of the payload, from where it left off.</summary>
    /// <param name="sum">The default one to begin.</param>
    /// <param name="most">Bytes that are looked at.</param>
    /// <returns>True when it has ended.</returns>
    public static bool TryFinish(RdbOutput output, ref PartialChecksum sum, long most)
    {
        ReadOnlySpan<byte> written = output.Written;
        Debug.Assert(most > 0 && sum.Bytes <= written.Length, "each call looks at bytes, of those that are written");
        int count = (int)Math.Min(most, written.Length - sum.Bytes);
        sum = new PartialChecksum(Crc64.Append(sum.Crc, written.Slice(sum.Bytes, count)), sum.Bytes + count);
        if (sum.Bytes != written.Length) return false;
        Span<byte> footer = stackalloc byte[FooterBytes];
        bool expires = !written.IsEmpty && written[0] == (byte)RdbType.HashExpiry;
        BinaryPrimitives.WriteUInt16LittleEndian(footer, expires ? VersionOfExpiry : Version);
        BinaryPrimitives.WriteUInt64LittleEndian(footer[VersionBytes..], Crc64.Append(sum.Crc, footer[..VersionBytes]));
        output.Write(footer);
        return true;
    }

    /// <summary>Whether a payload is long enough to be one, and of a version that is known.</summary>
    public static bool HasKnownVersion(ReadOnlySpan<byte> payload) =>
        payload.Length >= FooterBytes && BinaryPrimitives.ReadUInt16LittleEndian(payload[^FooterBytes..]) <= VersionMax;
}

/// <summary>The checksum of the first bytes.</summary>
internal readonly record struct PartialChecksum(ulong Crc, int Bytes);
