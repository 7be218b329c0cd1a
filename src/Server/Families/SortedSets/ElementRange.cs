using System.Diagnostics;
using System.Globalization;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What the ends of a range of a sorted set are.</summary>
internal enum RangeKind : byte
{
    /// <summary>Depends on BYSCORE and BYLEX among the arguments; without either of them, ranks.</summary>
    ByArguments,
    Rank,
    Score,
    Lex,
}

/// <summary>A range of a sorted set, read from the arguments of ZRANGE and its kin.</summary>
internal ref struct ElementRange
{
    // What clients write as LIMIT's count for all elements.
    private const long NoLimit = -1;

    private RangeKind _kind;
    private long _first, _last, _offset;
    private long _limit;
    private ScoreBound _low, _high;

    /// <summary>From the last element to the first.</summary>
    public bool IsReversed { get; private set; }

    public bool WithScores { get; private set; }

    /// <summary>Reads both ends and what follows them, up to the last argument; a bad one is the arguments' first
    /// error.</summary>
    /// <param name="kind">With <see cref="RangeKind.ByArguments"/>, BYSCORE and BYLEX are allowed.</param>
    /// <param name="reversed">Null if REV is allowed, and decides.</param>
    /// <param name="stores">Whether the elements are stored, so that WITHSCORES is not allowed.</param>
    public static ElementRange Read(ref CommandArguments arguments, RangeKind kind, bool? reversed, bool stores = false)
    {
        var range = new ElementRange { _limit = NoLimit, _kind = kind, IsReversed = reversed ?? false };
        var first = arguments.NextBytes();
        var last = arguments.NextBytes();
        while (arguments.Remaining > 0)
        {
            if (!stores && arguments.TryKeyword("WITHSCORES"u8))
            {
                range.WithScores = true;
            }
            else if (arguments.Remaining > 2 && arguments.TryKeyword("LIMIT"u8))
            {
                range._offset = arguments.NextInt64();
                range._limit = arguments.NextInt64();
            }
            else if (reversed == null && !range.IsReversed && arguments.TryKeyword("REV"u8))
            {
                range.IsReversed = true;
            }
            else if (range._kind == RangeKind.ByArguments && arguments.TryKeyword("BYLEX"u8))
            {
                range._kind = RangeKind.Lex;
            }
            else if (range._kind == RangeKind.ByArguments && arguments.TryKeyword("BYSCORE"u8))
            {
                range._kind = RangeKind.Score;
            }
            else
            {
                arguments.SyntaxError();
            }
        }

        if (range._kind == RangeKind.ByArguments) range._kind = RangeKind.Rank;
        if (range._limit != NoLimit && range._kind == RangeKind.Rank)
            arguments.Fail("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"u8);
        if (range.WithScores && range._kind == RangeKind.Lex)
            arguments.Fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX"u8);
        if (!arguments.Failed) range.ReadEnds(ref arguments, first, last);
        return range;
    }

    /// <summary>Reads only the two ends, the lower one first.</summary>
    public static ElementRange ReadEnds(ref CommandArguments arguments, RangeKind kind)
    {
        var range = new ElementRange { _limit = -1, _kind = kind };
        var first = arguments.NextBytes();
        var last = arguments.NextBytes();
        if (!arguments.Failed) range.ReadEnds(ref arguments, first, last);
        return range;
    }

    /// <summary>Which elements those are.</summary>
    /// <param name="first">The place of the first that is wanted; when reversed, the last one's.</param>
    /// <param name="count">How many, from there towards the end, or, when reversed, the beginning; 0: none.</param>
    public readonly void Find(in SortedSetView set, out long first, out long count)
    {
        Debug.Assert(_kind != RangeKind.ByArguments, "the arguments have said what the ends are");
        if (_kind == RangeKind.Rank)
        {
            FindRanks(set.Count, out first, out count);
            return;
        }

        long low = set.CountBefore(in _low);
        long high = set.CountBefore(in _high);
        first = IsReversed ? high - 1 : low;
        count = _offset < 0 || high <= low ? 0 : Math.Max(0, high - low - _offset);
        if (count == 0) return;
        if (_limit >= 0) count = Math.Min(count, _limit);
        first += IsReversed ? -_offset : _offset;
        Debug.Assert(AreRanks(first, count, set.Count), "a range is resolved within the set");
    }

    private readonly bool AreRanks(long first, long count, long total) =>
        count == 0 || (count > 0 && first >= 0 && first < total && count <= (IsReversed ? first + 1 : total - first));

    private readonly void FindRanks(long total, out long first, out long count)
    {
        first = _first < 0 ? Math.Max(0, total + _first) : _first;
        long last = Math.Min(_last < 0 ? total + _last : _last, total - 1);
        count = first > last ? 0 : last - first + 1;
        if (IsReversed) first = total - 1 - first;
        Debug.Assert(AreRanks(first, count, total), "a range is resolved within the set");
    }

    private void ReadEnds(ref CommandArguments arguments, ReadOnlySpan<byte> first, ReadOnlySpan<byte> last)
    {
        Debug.Assert(_kind != RangeKind.ByArguments, "the arguments have said what the ends are");
        bool swapped = IsReversed && _kind != RangeKind.Rank;
        var low = swapped ? last : first;
        var high = swapped ? first : last;
        switch (_kind)
        {
            case RangeKind.Rank:
                if (!NumberText.TryParseInt64(low, out _first) || !NumberText.TryParseInt64(high, out _last))
                    arguments.Fail(Errors.NotAnInteger);
                break;
            case RangeKind.Score:
                if (!TryParseScore(low, out double least, out bool excludesLeast)
                    || !TryParseScore(high, out double greatest, out bool excludesGreatest))
                {
                    arguments.Fail("ERR min or max is not a float"u8);
                    break;
                }

                _low = excludesLeast ? ScoreBound.AfterScore(least) : ScoreBound.BeforeScore(least);
                _high = excludesGreatest ? ScoreBound.BeforeScore(greatest) : ScoreBound.AfterScore(greatest);
                break;
            default:
                if (!TryParseMember(low, isHigh: false, out _low) || !TryParseMember(high, isHigh: true, out _high))
                    arguments.Fail("ERR min or max not valid string range item"u8);
                break;
        }
    }

    /// <summary>A score as C's strtod reads it, spaces ahead and beyond-range included; "(" excludes it.</summary>
    internal static bool TryParseScore(ReadOnlySpan<byte> text, out double score, out bool excluded)
    {
        excluded = text.Length > 0 && text[0] == '(';
        if (excluded) text = text[1..];
        int end = text.IndexOf((byte)0);        // where a string of C ends
        if (end >= 0) text = text[..end];
        text = text.TrimStart(" \t\n\v\f\r"u8);
        score = 0;
        if (text.IsEmpty) return true;          // nothing at all is 0
        if (NumberText.TryParseDouble(text, out score)) return !double.IsNaN(score);
        foreach (byte letter in text)
            if (letter is not ((>= (byte)'0' and <= (byte)'9') or (byte)'.' or (byte)'e' or (byte)'E' or (byte)'+'
                or (byte)'-')) return false;
        return double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out score);
    }

    private static bool TryParseMember(ReadOnlySpan<byte> text, bool isHigh, out ScoreBound bound)
    {
        bound = default;
        if (text.Length == 0) return false;
        switch (text[0])
        {
            case (byte)'-' when text.Length == 1:
                bound = ScoreBound.First;
                return true;
            case (byte)'+' when text.Length == 1:
                bound = ScoreBound.Last;
                return true;
            case (byte)'[':
                bound = isHigh ? ScoreBound.AfterMember(text[1..]) : ScoreBound.BeforeMember(text[1..]);
                return true;
            case (byte)'(':
                bound = isHigh ? ScoreBound.BeforeMember(text[1..]) : ScoreBound.AfterMember(text[1..]);
                return true;
            default:
                return false;
        }
    }
}
