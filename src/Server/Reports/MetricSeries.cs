namespace Kv.Server.Reports;

/// <summary>One figure of a series: the values of its labels, and the number.</summary>
internal readonly record struct Sample(double Number, params string[] Labels);

/// <summary>The row of a metric that is a list, by command or by database, or that INFO shows otherwise than the page
/// for Prometheus.</summary>
/// <param name="Page">The name on the page.</param>
/// <param name="Labels">The names of the labels; none where the metric is one figure.</param>
/// <param name="Read">The figures, no two with the same labels.</param>
internal sealed record MetricSeries(string Page, MetricKind Kind, string Summary, string[] Labels,
    Func<ServerReading, IEnumerable<Sample>> Read)
{
    /// <summary>A row of one figure.</summary>
    public MetricSeries(string page, MetricKind kind, string summary, Func<ServerReading, double> read)
        : this(page, kind, summary, [], r => [new Sample(read(r))])
    {
    }
}
