namespace Kv.Storage;

/// <summary>Scores from one to another.</summary>
/// <param name="Least">May be minus infinity; not NaN, of which nothing is in the range.</param>
/// <param name="Greatest">May be infinity.</param>
/// <param name="ExcludesLeast">Whether the least score itself is not in the range.</param>
/// <param name="ExcludesGreatest">Whether the greatest score itself is not in the range.</param>
public readonly record struct ScoreRange(double Least, double Greatest, bool ExcludesLeast = false,
    bool ExcludesGreatest = false)
{
    /// <summary>All scores.</summary>
    public static ScoreRange All => new(double.NegativeInfinity, double.PositiveInfinity);

    /// <summary>Which elements are in it.</summary>
    /// <param name="first">The place of the first of them.</param>
    /// <returns>How many.</returns>
    internal long Find(in SortedSetView set, out long first)
    {
        first = 0;
        if (double.IsNaN(Least) || double.IsNaN(Greatest)) return 0;
        first = set.CountBefore(ExcludesLeast ? ScoreBound.AfterScore(Least) : ScoreBound.BeforeScore(Least));
        return Math.Max(0, set.CountBefore(ExcludesGreatest
            ? ScoreBound.BeforeScore(Greatest) : ScoreBound.AfterScore(Greatest)) - first);
    }
}
