using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>A place between the elements of a sorted set, which are in the order of their scores, then of their
/// bytes.</summary>
internal readonly unsafe ref struct ScoreBound
{
    private readonly Side _side;

    private ScoreBound(Side side, double score, ReadOnlySpan<byte> member)
    {
        _side = side;
        Score = score;
        Member = member;
    }

    private enum Side : byte
    {
        BeforeScore, AfterScore, BeforeElement, AfterElement, First, BeforeMember, AfterMember, Last,
    }

    public double Score { get; }

    public ReadOnlySpan<byte> Member { get; }

    /// <summary>Whether only bytes count: then all elements are taken to have one score.</summary>
    public bool IgnoresScore
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _side >= Side.First;
    }

    /// <summary>Before everything.</summary>
    public static ScoreBound First => new(Side.First, 0, default);

    /// <summary>After everything.</summary>
    public static ScoreBound Last => new(Side.Last, 0, default);

    /// <summary>Before all that have this score.</summary>
    public static ScoreBound BeforeScore(double score) => new(Side.BeforeScore, score, default);

    /// <summary>After all that have this score.</summary>
    public static ScoreBound AfterScore(double score) => new(Side.AfterScore, score, default);

    /// <summary>Before where an element is, or would be.</summary>
    public static ScoreBound BeforeElement(double score, ReadOnlySpan<byte> member) =>
        new(Side.BeforeElement, score, member);

    /// <summary>After where an element is, or would be.</summary>
    public static ScoreBound AfterElement(double score, ReadOnlySpan<byte> member) =>
        new(Side.AfterElement, score, member);

    /// <summary>Before a member, by its bytes alone.</summary>
    public static ScoreBound BeforeMember(ReadOnlySpan<byte> member) => new(Side.BeforeMember, 0, member);

    /// <summary>After a member, by its bytes alone.</summary>
    public static ScoreBound AfterMember(ReadOnlySpan<byte> member) => new(Side.AfterMember, 0, member);

    /// <summary>Whether this place is behind an element.</summary>
    public bool IsBehind(double score, ReadOnlySpan<byte> member)
    {
        if (!IgnoresScore && score != Score) return score < Score;
        return IsBehindMember(member);
    }

    /// <summary>Whether this place is behind an element whose score is <see cref="Score"/>, or does not
    /// count.</summary>
    public bool IsBehindMember(ReadOnlySpan<byte> member) => _side switch
    {
        Side.BeforeScore or Side.First => false,
        Side.AfterScore or Side.Last => true,
        Side.BeforeElement or Side.BeforeMember => member.SequenceCompareTo(Member) < 0,
        _ => member.SequenceCompareTo(Member) <= 0,
    };
}
