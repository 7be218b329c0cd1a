using System.Buffers;

namespace Kv.Server.Patterns;

/// <summary>A piece of a glob pattern between two stars, and where a text has it first.</summary>
/// <remarks>
/// Cost: a plain search first: the literal bytes that the piece begins with, at most 16, are searched for with vectors,
/// and the rest is compared where they are found. Text and pattern can be made so that this fails late at every place.
/// Once it has cost more than the text is long and the tables below would cost, it goes on with those: one bit for each
/// element of the piece says whether the text up to here ends with the elements up to that one, and a byte of the text
/// moves all bits at once. That is n x m / 64 words for a text of n bytes and a piece of m elements, whatever they are;
/// no allocation but what the pool keeps. Source: Baeza-Yates and Gonnet, "A new approach to text searching", CACM
/// 35(10), 1992 (Shift-And).
/// </remarks>
internal readonly ref struct GlobSearch
{
    /// <summary>More of it would make the vectors' own search quadratic; fewer would find too many places.</summary>
    private const int PrefixMax = 16;

    private readonly ReadOnlySpan<byte> _piece;
    private readonly bool _ignoreCase;
    private readonly int _prefix;
    private readonly long _tableCost;

    private GlobSearch(ReadOnlySpan<byte> piece, bool ignoreCase, int elements, int prefix, long tableCost)
    {
        _piece = piece;
        _ignoreCase = ignoreCase;
        Elements = elements;
        _prefix = prefix;
        _tableCost = tableCost;
    }

    /// <summary>Elements of the piece, each of which matches one byte.</summary>
    public int Elements { get; }

    /// <summary>Bytes of the pattern that the piece has.</summary>
    public int Bytes => _piece.Length;

    private int Words => (Elements + 63) / 64;

    /// <summary>The piece that a pattern begins with, up to its first star.</summary>
    public static GlobSearch NextPiece(ReadOnlySpan<byte> pattern, bool ignoreCase)
    {
        int p = 0, elements = 0, prefix = 0;
        long tableCost = 0;
        bool isLiteral = !ignoreCase;
        while (p < pattern.Length && pattern[p] != '*')
        {
            int begin = p;
            bool single = pattern[p] is not ((byte)'?' or (byte)'[' or (byte)'\\');
            GlobPattern.MatchesOne(pattern, ref p, 0, ignoreCase);
            isLiteral &= single;
            if (isLiteral && prefix < PrefixMax) prefix++;
            tableCost += single ? 1 : 256L * (p - begin);
            elements++;
        }

        return new GlobSearch(pattern[..p], ignoreCase, elements, prefix, tableCost + (256L * ((elements + 63) / 64)));
    }

    /// <summary>Whether the piece is at a place of the text, which has enough bytes behind it.</summary>
    public bool MatchesAt(ReadOnlySpan<byte> text, int at)
    {
        long cost = 0;
        return MatchesAt(text, at, ref cost);
    }

    /// <summary>The first place of the piece in a text that is no shorter.</summary>
    /// <param name="cost">Grows by what it took.</param>
    /// <returns>-1: none.</returns>
    public int Find(ReadOnlySpan<byte> text, ref long cost)
    {
        long costMax = cost + text.Length + _tableCost;
        int last = text.Length - Elements;
        // Ends: every turn begins one byte further at least.
        for (int at = 0; at <= last; at++)
        {
            if (_prefix > 0)
            {
                int found = text[at..].IndexOf(_piece[.._prefix]);
                if (found < 0) return -1;
                at += found;
                if (at > last) return -1;
            }

            if (MatchesAt(text, at, ref cost)) return at;
            if (cost <= costMax) continue;
            int next = FindByBits(text[(at + 1)..]);
            cost += _tableCost + (text.Length * (long)Words);
            return next < 0 ? -1 : at + 1 + next;
        }

        return -1;
    }

    /// <param name="cost">Grows by the bytes of the pattern that were looked at.</param>
    private bool MatchesAt(ReadOnlySpan<byte> text, int at, ref long cost)
    {
        int p = 0;
        bool matches = true;
        for (; p < _piece.Length && matches; at++)
            matches = GlobPattern.MatchesOne(_piece, ref p, text[at], _ignoreCase);
        cost += p;
        return matches;
    }

    /// <summary>The same as <see cref="Find"/>, at the same cost for every text.</summary>
    private int FindByBits(ReadOnlySpan<byte> text)
    {
        int words = Words;
        ulong[] rented = ArrayPool<ulong>.Shared.Rent(257 * words);
        try
        {
            var masks = rented.AsSpan(words, 256 * words);
            var state = rented.AsSpan(0, words);
            masks.Clear();
            state.Clear();
            FillMasks(masks, words);
            ulong final = 1UL << ((Elements - 1) & 63);
            for (int at = 0; at < text.Length; at++)
            {
                var mask = masks.Slice(text[at] * words, words);
                ulong carry = 1;        // a place may begin at every byte
                for (int i = 0; i < state.Length; i++)
                {
                    ulong shifted = (state[i] << 1) | carry;
                    carry = state[i] >> 63;
                    state[i] = shifted & mask[i];
                }

                if ((state[^1] & final) != 0) return at - Elements + 1;
            }

            return -1;
        }
        finally
        {
            ArrayPool<ulong>.Shared.Return(rented);
        }
    }

    /// <summary>For each byte, the elements that match it.</summary>
    private void FillMasks(Span<ulong> masks, int words)
    {
        int p = 0;
        for (int element = 0; p < _piece.Length; element++)
        {
            int begin = p;
            byte first = _piece[p];
            GlobPattern.MatchesOne(_piece, ref p, 0, _ignoreCase);
            ulong bit = 1UL << (element & 63);
            int word = element / 64;
            if (first is not ((byte)'?' or (byte)'[' or (byte)'\\') && !_ignoreCase)
            {
                masks[(first * words) + word] |= bit;
                continue;
            }

            for (int value = 0; value < 256; value++)
            {
                int again = begin;
                if (GlobPattern.MatchesOne(_piece, ref again, (byte)value, _ignoreCase))
                    masks[(value * words) + word] |= bit;
            }
        }
    }
}
