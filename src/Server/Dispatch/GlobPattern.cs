namespace Kv.Server.Dispatch;

/// <summary>Glob patterns over bytes, as KEYS, SCAN, PSUBSCRIBE and CONFIG GET take them.</summary>
/// <remarks>
/// <c>*</c> any bytes, <c>?</c> one byte, <c>[abc]</c> one of them, <c>[a-z]</c> a range whose ends may be swapped,
/// <c>[^a]</c> none of them, <c>\x</c> the byte x. Malformed patterns mean what they mean to the reference: an
/// unterminated class ends with the pattern, a backslash at the end is itself.
/// <para>
/// Cost: O(pattern × text), no recursion, no allocation. When a comparison fails, only the last star need be tried one
/// byte further: an earlier star taking more could match nothing that the last one cannot take as well.
/// </para>
/// </remarks>
public static class GlobPattern
{
    /// <summary>Whether the whole text matches the whole pattern.</summary>
    /// <param name="ignoreCase">Compare ASCII letters without regard to case.</param>
    public static bool IsMatch(ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> text, bool ignoreCase = false)
    {
        int p = 0, t = 0;
        int afterStar = -1, starText = 0;       // where to go on when the last star takes one byte more

        // Ends: each turn moves t forward, or moves starText forward and begins again there, or returns.
        while (true)
        {
            if (p < pattern.Length && pattern[p] == '*')
            {
                while (p < pattern.Length && pattern[p] == '*') p++;
                if (p == pattern.Length) return true;
                afterStar = p;
                starText = t;
            }

            if (t == text.Length) return p == pattern.Length;   // a star that took more would leave even less
            if (p < pattern.Length && MatchesOne(pattern, ref p, text[t], ignoreCase))
            {
                t++;
                continue;
            }

            if (afterStar < 0) return false;
            p = afterStar;
            t = ++starText;
        }
    }

    /// <summary>Compares one byte with the element of the pattern at <paramref name="p"/>, and steps over the element.</summary>
    private static bool MatchesOne(ReadOnlySpan<byte> pattern, ref int p, byte value, bool ignoreCase)
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

        // Ends: every turn steps over at least one byte of the pattern.
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
                byte high = pattern[p + 2];
                if (low > high) (low, high) = (high, low);
                found |= folded >= Fold(low, ignoreCase) && folded <= Fold(high, ignoreCase);
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
