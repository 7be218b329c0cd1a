using System.Globalization;
using System.Text;
using RespBenchmark.Measure;
using RespBenchmark.RedisBenchmark;
using RespBenchmark.Reports;

namespace RespBenchmark.Suites;

/// <summary>A suite's tests as redis-benchmark prints them: its CSV with the table made of it, or the text of release
/// 3, with perf's counters where the document has them.</summary>
internal static class RedisBenchmarkForm
{
    /// <summary>CSV, and the table of the document with a column for the verdict.</summary>
    public static PublishedText Csv(IReadOnlyList<PanelResult> results, TargetReport target)
    {
        string[] arguments = ["-t", "set,get,rpush,lpop,lrange,hset", "-n", "1000000", "-r", "100000", "-c", "1000",
            "--threads", "4", "--csv"];
        var text = new StringBuilder(ResultText.CsvHeader);
        var table = new MarkdownTable("test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms",
            "p95_latency_ms", "p99_latency_ms", "max_latency_ms", "verdict");
        foreach (PanelResult result in results)
        {
            if (Outcome(result, target, ["--csv"]) is not { } outcome)
            {
                table.Add([result.Panel.Title, "n/a", .. Enumerable.Repeat("", 6), result.Unsupported(target) ?? ""]);
                continue;
            }

            string line = ResultText.Of(outcome);
            text.Append(line);
            string[] fields = [.. line.Trim().Split(',').Select(field => field.Trim('"'))];
            // A title has no comma.
            table.Add([.. fields, result.Cells.First(cell => cell.Target == target.Name).Verdict]);
        }

        text.Append('\n');
        table.Write(text);
        return new PublishedText($"{target.Name}: redis-benchmark {string.Join(' ', arguments)}", text.ToString());
    }

    /// <summary>The text of release 3, test after test.</summary>
    public static PublishedText Legacy(IReadOnlyList<PanelResult> results, TargetReport target, bool counters,
        string title)
    {
        var text = new StringBuilder();
        foreach (PanelResult result in results)
        {
            if (Outcome(result, target, ["--rb-format", "legacy"]) is not { } outcome)
            {
                text.Append(
                    $"====== {result.Panel.Title} ======\n  n/a: {result.Unsupported(target) ?? "not run"}\n\n");
                continue;
            }

            text.Append(ResultText.Of(outcome));
            if (counters) AppendCounters(text, result.At(target, result.Axes[0])!, result.Panel.Op.ToLowerInvariant());
        }

        return new PublishedText($"{target.Name}: {title}", text.ToString());
    }

    // As perf stat writes them: a count, its name, and what it comes to.
    private static void AppendCounters(StringBuilder text, Repetition rep, string test)
    {
        double ms = rep.TaskClockMs ?? 0;
        text.Append(CultureInfo.InvariantCulture,
            $" Performance counter stats for 'redis-benchmark -t {test} -n {rep.Ops}':\n\n");
        Row(ms.ToString("F6", CultureInfo.InvariantCulture), "task-clock (msec)", ms / 1000 / rep.Seconds,
            "CPUs utilized");
        Row(Count(rep.Ctxt), "context-switches", rep.Ctxt / ms, "K/sec");
        Row(Count(rep.Migrations), "cpu-migrations", rep.Migrations / ms, "K/sec");
        Row(Count(rep.Faults), "page-faults", rep.Faults / ms, "K/sec");
        text.Append('\n');

        void Row(string count, string name, double? rate, string unit) =>
            text.Append(CultureInfo.InvariantCulture, $"{count,18}      {name,-25} # {rate ?? 0,8:F3} {unit}\n");

        static string Count(long? count) =>
            count is { } known ? known.ToString("N0", CultureInfo.InvariantCulture) : "<not counted>";
    }

    private static TestOutcome? Outcome(PanelResult result, TargetReport target, string[] form)
    {
        if (result.Axes.Count == 0 || result.At(target, result.Axes[0]) is not { } rep) return null;
        string[] arguments = ["-c", result.Axes[0].Conns.ToString(CultureInfo.InvariantCulture), .. form];
        return new TestOutcome
        {
            Title = result.Panel.Title, Requests = rep.Ops, Elapsed = TimeSpan.FromSeconds(rep.Seconds),
            Latencies = LatencySummary.Merge([rep.Service]) ?? new Histogram(),
            PayloadBytes = result.Panel.ValueBytes, Options = RedisBenchmarkParser.Parse(arguments),
        };
    }
}
