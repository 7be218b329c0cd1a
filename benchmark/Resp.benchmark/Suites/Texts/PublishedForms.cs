using RespBenchmark.Reports;

namespace RespBenchmark.Suites;

/// <summary>A suite's results in the form of its document.</summary>
internal static class PublishedForms
{
    /// <param name="results">In the order they were run.</param>
    public static IReadOnlyList<PublishedText> Of(Suite suite, IReadOnlyList<PanelResult> results,
        IReadOnlyList<TargetReport> targets, OnlineRecord online, string? watermark)
    {
        if (results.Count == 0) return [];
        IEnumerable<PublishedText> texts = suite.Seed switch
        {
            "001" => targets.Select(target => RedisBenchmarkForm.Csv(results, target)),
            "003" => targets.Select(
                target => RedisBenchmarkForm.Legacy(results, target, suite.ShowsCounters, suite.Shows)),
            "004" => [TairForm.Of(results, targets)],
            _ => results.SelectMany(result => targets.SelectMany(target => GarnetForm.Of(result, target, online))),
        };
        return watermark is null ? [.. texts]
            : [.. texts.Select(text => text with { Text = $"({watermark})\n{text.Text}" })];
    }
}
