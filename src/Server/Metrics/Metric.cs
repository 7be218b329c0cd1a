namespace Kv.Server.Metrics;

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

/// <summary>One row: the name that INFO shows, what it counts, and where it comes from.</summary>
internal sealed record Metric(
    InfoSection Section, string Name, MetricKind Kind, string Summary, Func<ServerFigures, MetricValue> Read);
