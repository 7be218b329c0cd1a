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
internal sealed record Metric(string Name, MetricKind Kind, string Summary, Func<ServerReading, MetricValue> Read);
