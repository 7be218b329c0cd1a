using System.Buffers;

namespace Kv.Server.Patterns;

/// <summary>A piece of a glob pattern between two stars; finds its first place in a text.</summary>
/// <remarks>
/// Cost: a plain search comes first: the literal bytes that the piece begins with, at most 16, are searched for with
/// vectors, and the rest is compared where they are found. Text and pattern can be made so that this fails late at
/// every place. Once it has cost more than the length of the text and the making of tables, the search goes on with
/// tables of bits: the bit of an element says whether the text so far ends with the elements up to this one, and each
/// byte of the text moves all bits at once. That is n x m / 64 words for a text of n bytes and a piece of m elements,
/// whatever they are; the memory comes from the array pool. Source: Baeza-Yates and Gonnet, "A new approach to text
/// searching", CACM 35(10), 1992 (Shift-And).
/// </remarks>
internal readonly ref struct GlobSearch
{
    /// <summary>What <see cref="Find"/> returns when the piece is not in the text.</summary>
    public const int NotFound = -1;

    /// <summary>With a longer prefix the search with vectors would itself be quadratic; a shorter one is found at too
    /// many places.</summary>
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

    /// <summary>The piece's length in bytes of the pattern.</summary>
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

    /// <summary>Whether the piece is at a place of the text, after which there are enough bytes.</summary>
    public bool MatchesAt(ReadOnlySpan<byte> text, int at)
    {
        long cost = 0;
        return MatchesAt(text, at, ref cost);
    }

    /// <summary>The first place of the piece in a text that is no shorter than it, or <see cref="NotFound"/>.</summary>
    /// <param name="cost">Grows by what the search has cost.</param>
    public int Find(ReadOnlySpan<byte> text, ref long cost)
    {
        long costMax = cost + text.Length + _tableCost;
        int last = text.Length - Elements;
        // Ends: each round begins at least one byte further on.
        for (int at = 0; at <= last; at++)
        {
            if (_prefix > 0)
            {
                int found = text[at..].IndexOf(_piece[.._prefix]);
                if (found < 0) return NotFound;
                at += found;
                if (at > last) return NotFound;
            }

            if (MatchesAt(text, at, ref cost)) return at;
            if (cost <= costMax) continue;
            int next = FindByBits(text[(at + 1)..]);
            cost += _tableCost + (text.Length * (long)Words);
            return next == NotFound ? NotFound : at + 1 + next;
        }

        return NotFound;
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

    /// <summary>Does what <see cref="Find"/> does, at a cost that does not depend on the text's content.</summary>
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

            return NotFound;
        }
        finally
        {
            ArrayPool<ulong>.Shared.Return(rented);
        }
    }

    /// <summary>Sets, for each byte, the bits of the elements that match it.</summary>
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
