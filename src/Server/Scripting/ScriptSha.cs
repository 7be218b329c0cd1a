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
        return new ScriptSha(System.Buffers.Binary.BinaryPrimitives.ReadUInt64BigEndian(hash),
            System.Buffers.Binary.BinaryPrimitives.ReadUInt64BigEndian(hash[8..]),
            System.Buffers.Binary.BinaryPrimitives.ReadUInt32BigEndian(hash[16..]));
    }

    /// <summary>Reads 40 digits of either case.</summary>
    /// <returns>False for everything else.</returns>
    public static bool TryParse(ReadOnlySpan<byte> text, out ScriptSha sha)
    {
        sha = default;
        if (text.Length != TextLength) return false;
        if (!TryRead(text[..16], out ulong first) || !TryRead(text[16..32], out ulong second)
            || !TryRead(text[32..], out ulong third)) return false;
        sha = new ScriptSha(first, second, (uint)third);
        return true;
    }

    /// <summary>In lower case.</summary>
    public override string ToString() => $"{First:x16}{Second:x16}{Third:x8}";

    private static bool TryRead(ReadOnlySpan<byte> digits, out ulong value)
    {
        value = 0;
        foreach (byte digit in digits)
        {
            int letter = digit | 0x20;
            int part = digit is >= (byte)'0' and <= (byte)'9' ? digit - '0' : letter is >= 'a' and <= 'f'
                ? letter - 'a' + 10 : -1;
            if (part < 0) return false;
            value = (value << 4) | (uint)part;
        }

        return true;
    }
}
