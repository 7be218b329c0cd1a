using RespBenchmark.CommandLine;
using RespBenchmark.Measure;

namespace RespBenchmark.Garnet;

/// <summary>The rows of a block of online mode: cumulative, forgotten after every thirtieth; and the summary at its
/// end.</summary>
internal sealed class OnlineRows(GarnetOptions options, Surroundings surroundings, TextWriter? log)
{
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(2);

    private const int RowsPerReset = 30;

    private readonly Histogram _sinceReset = new(), _all = new();
    private long _opsSinceReset, _opsInAll;
    private int _rows;

    /// <summary>Adds what was measured since the last row and prints all since the last reset; the first row comes with
    /// the header.</summary>
    public void Add(Histogram latencies, long ops, TimeSpan time)
    {
        _sinceReset.Add(latencies);
        _all.Add(latencies);
        _opsSinceReset += ops;
        _opsInAll += ops;
        if (_rows == 0) Print(GarnetOnlineText.Header);
        Print(GarnetOnlineText.Row(_sinceReset, _opsSinceReset, ops, time));
        if (++_rows % RowsPerReset != 0) return;
        _sinceReset.Reset();
        _opsSinceReset = 0;
    }

    /// <summary>Says on stderr what no row says: the same columns over the whole block, errors and misses.</summary>
    public void Summarize(TimeSpan elapsed, long errors, long nils, long reads)
    {
        surroundings.Note("# summary over all rows");
        surroundings.Note(GarnetOnlineText.Header.TrimEnd());
        surroundings.Note(GarnetOnlineText.Row(_all, _opsInAll, _opsInAll, elapsed).TrimEnd());
        string misses = reads > 0 ? $" ({100.0 * nils / reads:F2} % of {reads} reads missed)" : "";
        surroundings.Note($"# errors {errors}, nils {nils}{misses}");
    }

    private void Print(string row)
    {
        if (options.Level > LogLevel.Information) return;
        string prefix = GarnetOnlineText.Prefix(surroundings.Clock.GetLocalNow().DateTime);
        surroundings.Output.Write((options.ConsoleLogger ? prefix : "") + row + "\n");
        surroundings.Output.Flush();
        log?.Write(prefix + row + "\n");
        log?.Flush();
    }
}
