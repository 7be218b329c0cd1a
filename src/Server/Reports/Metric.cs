namespace Kv.Server.Reports;

/// <summary>How a figure behaves over time.</summary>
internal enum MetricKind
{
    /// <summary>Goes up and down.</summary>
    Gauge,

    /// <summary>Only grows, until CONFIG RESETSTAT or the end.</summary>
    Counter,

    /// <summary>A fact that does not change, or a text.</summary>
    Fact,
}

/// <summary>The row of a metric: the name that INFO shows, what it counts, and how it is read.</summary>
internal sealed record Metric(string Name, MetricKind Kind, string Summary, Func<ServerReading, MetricValue> Read)
{
    /// <summary>The name on the page for Prometheus: redis_exporter's where it has one; null where the metric is not on
    /// the page.</summary>
    public string? Page { get; init; }

    /// <summary>What INFO's number is multiplied by for the page, which has seconds and ratios.</summary>
    public double PageScale { get; init; } = 1;

    /// <summary>The number on the page: that of INFO, or whether a state is well.</summary>
    public double ReadForPage(ServerReading reading)
    {
        var value = Read(reading);
        return value.IsText ? value.ToString() == "ok" ? 1 : 0 : value.Number * PageScale;
    }
}
