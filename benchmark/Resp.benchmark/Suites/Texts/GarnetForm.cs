using System.Globalization;
using System.Text;
using RespBenchmark.Garnet;
using RespBenchmark.Native;
using RespBenchmark.Reports;
using RespBenchmark.Workload;

namespace RespBenchmark.Suites;

/// <summary>A panel as Garnet's Resp.benchmark prints it: configuration, load, a block for each cell; online, its
/// rows.</summary>
internal static class GarnetForm
{
    private const int Format = 1;       // the form of the documents
    private const long CountedKeysMax = 1 << 20;

    /// <summary>A text for each command line of the original: online takes one number of operations outstanding at a
    /// time.</summary>
    public static IEnumerable<PublishedText> Of(PanelResult result, TargetReport target, OnlineRecord online) =>
        result.Panel.IsOnline
        ? result.Panel.Depths.Select(depth =>
            Of(result with { Axes = [.. result.Axes.Where(axis => axis.Depth == depth)] }, target, online, depth))
        : [Of(result, target, online, outstanding: 1)];

    private static PublishedText Of(PanelResult result, TargetReport target, OnlineRecord online, int outstanding)
    {
        GarnetOptions options = OptionsOf(result.Planned, outstanding);
        var text = new StringBuilder(GarnetConfigurationText.Of(options));
        if (result.Unsupported(target) is { } reason) text.Append($"n/a: {reason}\n");
        else if (options.Online) AppendOnline(text, result, target, online, options);
        else AppendThroughput(text, result, target, options);
        string pass = result.Pass.Name is { } name ? $", {name}" : "";
        return new PublishedText($"{target.Name}{pass}: Resp.benchmark {Command(options)}", text.ToString());
    }

    private static void AppendOnline(StringBuilder text, PanelResult result, TargetReport target, OnlineRecord online,
        GarnetOptions options)
    {
        text.Append(GarnetOnlineText.Runner(options.Client, options.InsideThread > 1));
        foreach (CellAxis axis in result.Axes)
        {
            if (result.Axes.Count > 1) text.Append(CultureInfo.InvariantCulture, $"\nNum threads: {axis.Conns}\n");
            text.Append(online.RowsOf(axis, target.Name));
        }
    }

    private static void AppendThroughput(StringBuilder text, PanelResult result, TargetReport target,
        GarnetOptions options)
    {
        GarnetOp op = GarnetOps.Find(options.Op)!;
        if (result.Loads.TryGetValue(target.Name, out Loaded? load)) AppendLoad(text, load, op);
        foreach (var group in result.Axes.GroupBy(axis => axis.Depth))
        {
            int batch = group.Key;
            ShapedWorkload workload = GarnetOps.Throughput(
                op, OpSettings.Garnet(options.DbSize, options.KeyLength, options.ValueLength, batch));
            text.Append(GarnetThroughputText.Restriction(options.TotalOps, batch));
            text.Append(GarnetThroughputText.Generation(op.Name, options.TotalOps, batch,
                workload.BatchBytes(op.CommandsPerBatch(batch))));
            text.Append(GarnetThroughputText.LoadingTime(TimeSpan.Zero));       // nothing is prepared
            foreach (CellAxis axis in group)
            {
                if (result.At(target, axis) is { } cell)
                    text.Append(GarnetThroughputText.Result(op.Name, axis.Conns, TimeSpan.FromSeconds(cell.Seconds),
                        cell.Ops, Format));
            }
        }
    }

    private static void AppendLoad(StringBuilder text, Loaded load, GarnetOp op)
    {
        (LoadPlan plan, LoadOutcome outcome) = (load.Plan, load.Outcome);
        if (op.Load == LoadKind.HyperLogLogs) text.Append(GarnetThroughputText.LoadIntroduction(plan.Name));
        text.Append(GarnetThroughputText.Restriction(plan.Keys, (int)plan.BatchKeys));
        text.Append(GarnetThroughputText.Generation(plan.Name, plan.Keys, (int)plan.BatchKeys, plan.BatchBytes));
        text.Append(GarnetThroughputText.LoadingTime(TimeSpan.Zero));
        text.Append(GarnetThroughputText.Result(plan.Name, plan.Sessions, outcome.Measurement.Elapsed,
            outcome.Measurement.Counters.Ops, Format));
        if (plan.Keys <= CountedKeysMax && outcome.Stored is { } stored)
            text.Append(GarnetThroughputText.Loaded(stored));
    }

    private static GarnetOptions OptionsOf(PlannedPanel planned, int outstanding)
    {
        SuitePanel panel = planned.Panel;
        int seconds = planned.Seconds;
        var options = new GarnetOptions
        {
            Op = panel.IsOnline ? "GET" : panel.Op, DbSize = planned.Options.Keys, KeyLength = panel.KeyBytes,
                ValueLength = panel.ValueBytes,
            BatchSizes = panel.IsOnline ? [1] : [.. panel.Depths],
            RunTime = panel.IsOnline ? (seconds + 1) / 2 : seconds,
            Threads = [.. planned.Options.Sessions.Split(',')
                .Select(count => int.TryParse(count, CultureInfo.InvariantCulture, out int number) ? number : 0)],
            // Online starts on an empty database without being told.
            SkipLoad = panel.SkipsLoad && !panel.IsOnline, Online = panel.IsOnline,
        };
        if (panel.Keys == 1_048_576) options.TotalOps = planned.Options.Keys;
        if (!panel.IsOnline) return options;
        options.Client = GarnetClient.GarnetClientSession;
        options.InsideThread = outstanding;
        (string Op, int Percent)[] mix = [.. panel.Mix!.Split(',').Select(part => part.Split(':'))
            .Select(part => (part[0], int.Parse(part[1], CultureInfo.InvariantCulture)))];
        options.OpWorkload = [.. mix.Select(part => part.Op)];
        options.OpPercent = [.. mix.Select(part => part.Percent)];
        return options;
    }

    private static string Command(GarnetOptions options)
    {
        string[] words = options.Online
            ? ["--online", "--op-workload", string.Join(',', options.OpWorkload), "--op-percent",
                string.Join(',', options.OpPercent), "--client", options.Client.ToString(),
                "--itp", Text(options.InsideThread)]
            : ["--op", options.Op];
        string[] totals = options.TotalOps == options.DbSize ? ["--totalops", Text(options.TotalOps)] : [];
        string[] skip = options.SkipLoad ? ["--skipload"] : [];
        return string.Join(' ', [.. words, "--keylength", Text(options.KeyLength), "--valuelength",
            Text(options.ValueLength), "--threads", string.Join(',', options.Threads),
            "--batchsize", string.Join(',', options.BatchSizes), "--dbsize", Text(options.DbSize), .. totals,
            "--runtime", Text(options.RunTime), .. skip]);
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
