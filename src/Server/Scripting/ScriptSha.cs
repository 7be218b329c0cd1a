using System.Buffers;
using System.Buffers.Binary;
using System.Security.Cryptography;

namespace Kv.Server.Scripting;

/// <summary>The SHA-1 of a script's text: what EVALSHA calls it by.</summary>
internal readonly record struct ScriptSha(ulong First, ulong Second, uint Third)
{
    /// <summary>Hexadecimal digits of one.</summary>
    public const int TextLength = 40;

    /// <summary>Of a script's text.</summary>
    public static ScriptSha Of(ReadOnlySpan<byte> text)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        SHA1.HashData(text, hash);
        return OfHash(hash);
    }

    /// <summary>Reads 40 digits of either case.</summary>
    /// <returns>False for everything else.</returns>
    public static bool TryParse(ReadOnlySpan<byte> text, out ScriptSha sha)
    {
        sha = default;
        if (text.Length != TextLength) return false;
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        if (Convert.FromHexString(text, hash, out _, out _) != OperationStatus.Done) return false;
        sha = OfHash(hash);
        return true;
    }

    /// <summary>In lower case.</summary>
    public override string ToString() => $"{First:x16}{Second:x16}{Third:x8}";

    /// <summary>Of the 20 bytes of a hash.</summary>
    public static ScriptSha OfHash(ReadOnlySpan<byte> hash) =>
        new(BinaryPrimitives.ReadUInt64BigEndian(hash), BinaryPrimitives.ReadUInt64BigEndian(hash[8..]),
            BinaryPrimitives.ReadUInt32BigEndian(hash[16..]));
}
