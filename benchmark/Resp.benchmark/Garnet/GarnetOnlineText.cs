using System.Globalization;
using RespBenchmark.Measure;

namespace RespBenchmark.Garnet;

/// <summary>The rows of online mode: ten columns of 15 characters.</summary>
internal static class GarnetOnlineText
{
    private const int ColumnWidth = 15;

    /// <summary>The line above the rows.</summary>
    public static string Header { get; } =
        Columns("min (us);", "5th (us);", "median (us);", "avg (us);", "95th (us);", "99th (us);",
        "99.9th (us);", "total_ops;", "iter_tops;", "tpt (Kops/sec)");

    /// <summary>What a row of the console and of the log file begins with: the time on a clock of 12 hours.</summary>
    public static string Prefix(DateTime local) =>
        string.Create(CultureInfo.InvariantCulture, $"[000.{local:hh:mm:ss}.(info)] |online| ");

    /// <summary>One row, without prefix and line end.</summary>
    /// <param name="latencies">Since the last reset.</param>
    /// <param name="totalOps">Since the last reset.</param>
    /// <param name="rowOps">Of this row.</param>
    /// <param name="rowTime">How long the row took.</param>
    public static string Row(Histogram latencies, long totalOps, long rowOps, TimeSpan rowTime)
    {
        double kiloOps = rowTime > TimeSpan.Zero ? rowOps / rowTime.TotalSeconds / 1000 : 0;
        return Columns(
            Microseconds(latencies.Min), Microseconds(latencies.ValueAt(0.05)), Microseconds(latencies.ValueAt(0.5)),
            Microseconds(latencies.Count == 0 ? 0 : latencies.Mean), Microseconds(latencies.ValueAt(0.95)),
            Microseconds(latencies.ValueAt(0.99)), Microseconds(latencies.ValueAt(0.999)),
            totalOps.ToString(CultureInfo.InvariantCulture), rowOps.ToString(CultureInfo.InvariantCulture),
            Rounded(kiloOps));
    }

    /// <summary>The two lines after the configuration that say what drives the load.</summary>
    public static string Runner(GarnetClient client, bool parallel) => $"Running benchmark using {client} client type\n"
        + $"Using OpRunner{client}{(parallel && client != GarnetClient.LightClient ? "Parallel" : "")}...\n";

    private static string Microseconds(double nanoseconds) => Rounded(nanoseconds / 1000);

    private static string Rounded(double value) =>
        Math.Round(value, 2, MidpointRounding.ToEven).ToString(CultureInfo.InvariantCulture);

    private static string Columns(params ReadOnlySpan<string> cells)
    {
        string line = "";
        foreach (string cell in cells) line += cell.PadRight(ColumnWidth);
        return line;
    }
}
