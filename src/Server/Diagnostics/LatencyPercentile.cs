using System.Globalization;
using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>A percentile that INFO latencystats shows.</summary>
/// <param name="Text">As latency-tracking-info-percentiles has it.</param>
/// <param name="Percent">0 to 100.</param>
internal readonly record struct LatencyPercentile(string Text, double Percent)
{
    /// <summary>Those of the options, in their order.</summary>
    public static LatencyPercentile[] Of(ServerOptions options) =>
        [.. options.LatencyTrackingInfoPercentiles.Split(' ', StringSplitOptions.RemoveEmptyEntries)
            .Select(text => new LatencyPercentile(text, double.Parse(text, CultureInfo.InvariantCulture)))];
}
