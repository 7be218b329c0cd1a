using RespBenchmark.Measure;
using RespBenchmark.Reports;

namespace RespBenchmark.Tests.Reports;

/// <summary>A report of invented, fixed figures that has everything a report can have: two targets, seven connection
/// counts, an open loop of six rates, a cell one target lacks, cells bound by the client, events, warnings.</summary>
internal static class SampleReport
{
    public static readonly int[] Conns = [1, 2, 4, 8, 16, 32, 64];
    public static readonly double[] Rates = [20_000, 40_000, 60_000, 80_000, 100_000, 120_000];
    public const int Reps = 5;

    /// <summary>Throughput over connections: the closed-loop part.</summary>
    public static Report Closed(string? watermark = null) => Made([.. Both(Closed)], watermark);

    /// <summary>Latency against rate: the open-loop part.</summary>
    public static Report Open() => Made([.. Both(Open)], null);

    private static Report Made(CellReport[] cells, string? watermark)
    {
        var report = new Report
        {
            Tool = "Resp.benchmark 0.1.0",
            Argv = ["Resp.benchmark", "sweep", "--target", "A=127.0.0.1:7001", "--cmd",
                "SET {key uniform 1000} <b>'x'</b>", "--reps", "5"],
            Started = new DateTimeOffset(2026, 11, 21, 12, 30, 0, TimeSpan.Zero),
            Watermark = watermark,
            Host = new HostReport { Cpu = "AMD EPYC 9R14", Cores = 8, Governor = "performance", Kernel = "Linux 6.1.0",
                Virt = "kvm", Steal = 0.001 },
            Targets =
            [
                new TargetReport { Name = "A", Addr = "127.0.0.1:7001", Product = "kv 0.1.0", Pid = 4711, Cpus = "0-3",
                    Start = "kv-server --port 7001",
                    Info = new Dictionary<string, string> { ["redis_version"] = "7.2.4",
                        ["used_memory_human"] = "212.00M" } },
                new TargetReport { Name = "B", Addr = "127.0.0.1:7002", Product = "redis 7.0.15", Pid = 4712,
                    Cpus = "0-3",
                    Config = new Dictionary<string, string> { ["io-threads"] = "32", ["save"] = "" } },
            ],
            Cells = cells,
            Warnings = ["B: io-threads 32 > 4 cores - see doctor",
                "text with </script><script>alert(1)</script> in it"],
        };
        return report with { Comparisons = Comparisons.OfAllTargets(report) };
    }

    private static IEnumerable<CellReport> Both(Func<string, double, IEnumerable<CellReport>> of) =>
        of("A", 1.35).Concat(of("B", 1));

    private static IEnumerable<CellReport> Closed(string target, double speed)
    {
        foreach (int conns in Conns)
        {
            double ops = 70_000 * speed * conns / (1 + conns / (target == "A" ? 24.0 : 9));
            string verdict = conns < 4 ? "LATENCY-BOUND" : conns == 64 && target == "A"
                ? "CLIENT-BOUND" : "SERVER-BOUND";
            yield return new CellReport
            {
                Axis = new CellAxis { Op = "GET", Conns = conns, Keys = 1_000_000, Value = "128", Loops = 2 },
                Target = target,
                Reps = [.. Enumerable.Range(0, Reps)
                    .Select(rep => Rep(ops * (1 + 0.01 * (rep - 2)),
                    14_000 * Math.Sqrt(conns) / speed * (1 - 0.008 * (rep * 7 % 5 - 2)), 0.1 * conns))],
                Verdict = verdict,
                Headroom = verdict == "SERVER-BOUND" ? 3.1 : null,
                Warnings = conns == 64 && target == "A" ? ["client loop 97 % busy: more loops or cores"] : [],
            }.Summarized();
        }

        var set = new CellAxis { Op = "SETIFPM", Conns = 16, Keys = 1_000_000, Value = "128", Loops = 2 };
        yield return target == "B"
            ? new CellReport { Axis = set, Target = target, Unsupported = "ERR unknown command 'SETIFPM'" }
            : new CellReport { Axis = set, Target = target, Verdict = "SERVER-BOUND",
                Reps = [Rep(410_000, 22_000, 1)] }.Summarized();
    }

    private static IEnumerable<CellReport> Open(string target, double speed)
    {
        foreach (double rate in Rates)
        {
            double load = rate / (95_000 * speed), served = Math.Min(rate, 95_000 * speed);
            yield return new CellReport
            {
                Axis = new CellAxis { Op = "GET", Conns = 32, Keys = 1_000_000, Value = "128", Loops = 2, Rate = rate },
                Target = target,
                Reps = [.. Enumerable.Range(0, Reps)
                    .Select(rep => Rep(served * (1 - 0.0001 * rep), 40_000 / Math.Max(0.02, 1 - load), load,
                    open: true))],
                Verdict = load > 1 ? "SERVER-BOUND" : "RATE-BOUND",
            }.Summarized();
        }
    }

    private static Repetition Rep(double ops, double nanoseconds, double cores, bool open = false)
    {
        var latency = LatencySummary.Of(Spread(nanoseconds));
        return new Repetition
        {
            Seconds = 15,
            Ops = (long)(ops * 15),
            OpsS = ops,
            BytesOut = (long)(ops * 15 * 36),
            BytesIn = (long)(ops * 15 * 135),
            Errors = cores > 5 ? new Dictionary<string, long> { ["ERR"] = 3 } : new Dictionary<string, long>(),
            Nils = 12,
            Service = latency,
            Response = open ? latency : null,
            Lag = open ? LatencySummary.Of(Spread(900)) : null,
            Series = [.. Enumerable.Range(1, 15)
                .Select(second => new SeriesPoint(second, ops * (second == 9 ? 0.7 : 1 + 0.01 * (second % 3)),
                latency.P50 * (1 + 0.02 * (second % 4)), latency.P99 * (second == 9 ? 6 : 1),
                latency.Max * (second == 9 ? 1 : 0.4), 0.8, cores, second == 5 ? 1 : 0))],
            Events = [new SeriesEvent(9, "server: save")],
            ClientHot = Math.Min(0.97, 0.2 + cores / 8),
            ClientCpu = 0.3 + cores / 3,
            ServerHot = Math.Min(0.99, 0.3 + cores / 2),
            ServerCpu = Math.Min(4, cores + 0.2),
            Rss = 412_000_000,
            Ctxt = 1200,
            Gc = new CollectionReport(1, 0.4),
        };
    }

    // A body around the middle and a tail of one in a hundred: quantiles of a fixed shape, not draws.
    private static Histogram Spread(double nanoseconds)
    {
        var histogram = new Histogram();
        for (int step = 0; step < 20_000; step++)
        {
            double share = (step + 0.5) / 20_000;
            histogram.Record((long)(nanoseconds * Math.Exp(0.25 * Math.Log(share / (1 - share)))
                * (share > 0.99 ? 1 + 40 * (share - 0.99) / 0.01 : 1)));
        }

        return histogram;
    }
}
