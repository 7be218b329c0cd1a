namespace Kv.Server.Patterns;

/// <summary>Glob patterns over bytes, as KEYS, SCAN, PSUBSCRIBE and CONFIG GET take them.</summary>
/// <remarks>
/// <c>*</c> any bytes, <c>?</c> one byte, <c>[abc]</c> one of these bytes, <c>[a-z]</c> a range whose ends may be
/// swapped, <c>[^a]</c> a byte that is none of these, <c>\x</c> the byte x. Malformed patterns mean what they mean in
/// Redis: an unterminated class ends with the pattern, a backslash at the end is itself.
/// <para>
/// Between its stars a pattern has pieces, each with one element for each byte that it matches. The first piece stands
/// at the text's beginning, the last at its end, and each of the others is taken where it is first found: a later place
/// would leave less text to the rest. Cost: linear in the text whatever the pattern, no recursion; see
/// <see cref="GlobSearch"/>.
/// Clients' patterns are bounded by <see cref="BytesMax"/>, so that one comparison costs at most some 30 ns for each
/// byte of the text.
/// </para>
/// </remarks>
public static class GlobPattern
{
    /// <summary>The longest pattern that clients may compare keys, members and channels with.</summary>
    public const int BytesMax = 1024;

    /// <summary>Whether the whole text matches the whole pattern.</summary>
    /// <param name="ignoreCase">Whether to compare ASCII letters without regard to case.</param>
    public static bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false) =>
        IsMatch(pattern, text, ignoreCase, out _);

    /// <param name="cost">Bytes of the pattern that were compared in search of pieces, and words of bits that were
    /// moved.</param>
    internal static bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase, out long cost)
    {
        int p = 0, t = 0;
        cost = 0;
        for (; p < pattern.Length && pattern[p] != '*'; t++)
            if (t == text.Length || !MatchesOne(pattern, ref p, text[t], ignoreCase)) return false;
        if (p == pattern.Length) return t == text.Length;

        // Ends: each round steps over a star and the piece after it, or returns.
        while (true)
        {
            while (p < pattern.Length && pattern[p] == '*') p++;
            if (p == pattern.Length) return true;
            var piece = GlobSearch.NextPiece(pattern[p..], ignoreCase);
            var rest = text[t..];
            if (piece.Elements > rest.Length) return false;
            p += piece.Bytes;
            if (p == pattern.Length) return piece.MatchesAt(rest, rest.Length - piece.Elements);
            int found = piece.Find(rest, ref cost);
            if (found == GlobSearch.NotFound) return false;
            t += found + piece.Elements;
        }
    }

    /// <summary>Compares one byte with the element of the pattern at <paramref name="p"/>, and steps over the
    /// element.</summary>
    internal static bool MatchesOne(ReadOnlySpan<byte> pattern, ref int p, byte value, bool ignoreCase)
    {
        byte first = pattern[p++];
        switch (first)
        {
            case (byte)'?':
                return true;
            case (byte)'[':
                return MatchesClass(pattern, ref p, value, ignoreCase);
            case (byte)'\\' when p < pattern.Length:
                first = pattern[p++];
                break;
        }

        return Fold(first, ignoreCase) == Fold(value, ignoreCase);
    }

    /// <summary>Compares one byte with the class whose first byte after '[' is at <paramref name="p"/>.</summary>
    private static bool MatchesClass(ReadOnlySpan<byte> pattern, ref int p, byte value, bool ignoreCase)
    {
        bool negated = p < pattern.Length && pattern[p] == '^';
        if (negated) p++;
        bool found = false;
        byte folded = Fold(value, ignoreCase);

        // Ends: each round steps over at least one byte of the pattern.
        while (p < pattern.Length)
        {
            byte low = pattern[p];
            if (low == '\\' && pattern.Length - p >= 2)
            {
                found |= pattern[p + 1] == value;       // an escaped byte is compared as it is, whatever the case
                p += 2;
                continue;
            }

            if (low == ']')
            {
                p++;
                break;
            }

            if (pattern.Length - p >= 3 && pattern[p + 1] == '-')
            {
                // Signed, as chars are in Redis on x86: bytes from 0x80 on come before the others.
                sbyte first = (sbyte)low, last = (sbyte)pattern[p + 2];
                if (first > last) (first, last) = (last, first);
                found |= (sbyte)folded >= (sbyte)Fold((byte)first, ignoreCase)
                    && (sbyte)folded <= (sbyte)Fold((byte)last, ignoreCase);
                p += 3;
                continue;
            }

            found |= Fold(low, ignoreCase) == folded;
            p++;
        }

        return found != negated;
    }

    private static byte Fold(byte value, bool ignoreCase) =>
        ignoreCase && value is >= (byte)'A' and <= (byte)'Z' ? (byte)(value | 0x20) : value;
}
