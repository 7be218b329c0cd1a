using RespBenchmark.Reports;

namespace RespBenchmark.Scenarios;

/// <summary>A share that a scenario is about, and that changes over its time.</summary>
/// <param name="Part">The name of the count that it is the share of.</param>
/// <param name="Rest">The name of the count of the others.</param>
internal sealed record TrackedShare(string Name, string Part, string Rest)
{
    public static double Of(long part, long rest) => part + rest > 0 ? (double)part / (part + rest) : 0;
}

/// <summary>What a share was, interval by interval.</summary>
internal sealed class ShareLog(TrackedShare share, TimeSpan interval)
{
    private readonly List<(double T, long Part, long Others)> _sums = [(0, 0, 0)];

    /// <summary>Takes the counts of a run down, if an interval has passed.</summary>
    public void Look(TimeSpan elapsed, Func<string, long> countOf, bool isLast = false)
    {
        (double before, long part, long rest) = _sums[^1];
        if (!isLast && elapsed.TotalSeconds < before + interval.TotalSeconds) return;
        (long newPart, long newRest) = (countOf(share.Part), countOf(share.Rest));
        if (newPart + newRest > part + rest) _sums.Add((elapsed.TotalSeconds, newPart, newRest));
    }

    /// <summary>Of all of it, and of its second half, when a cache has filled.</summary>
    public IEnumerable<(string Name, double Value)> Figures()
    {
        (double end, long part, long rest) = _sums[^1];
        yield return (share.Name, TrackedShare.Of(part, rest));
        (double T, long Part, long Others) half = _sums.Last(sum => sum.T <= end / 2);
        yield return ($"{share.Name}_late", TrackedShare.Of(part - half.Part, rest - half.Others));
    }

    public ShareReport Report() => new(share.Name,
    [
        .. _sums.Zip(_sums.Skip(1), (from, to) =>
            new SharePoint(to.T, TrackedShare.Of(to.Part - from.Part, to.Others - from.Others))),
    ]);
}
