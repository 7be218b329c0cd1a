using System.Diagnostics;

namespace RespBenchmark.Saturation;

/// <summary>Watches the CPU and memory of client, server and host, once a second, on a thread of its own.</summary>
internal sealed class ResourceMonitor : IDisposable
{
    private readonly int? _server;
    private readonly TimeSpan _period;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _stop = new();
    private readonly List<ResourceSecond> _series = [];
    private readonly Moment _first;

    // Of the whole only, and finer than the 10 ms of what is looked at each second.
    private readonly TimeSpan _cpu = Environment.CpuUsage.TotalTime;
    private readonly long? _migrations = ProcessSample.MigrationsOf(Environment.ProcessId);

    private ResourceMonitor(int? server, TimeSpan period)
    {
        _server = server;
        _period = period;
        _first = Moment.Now(server);
        _thread = new Thread(Watch) { IsBackground = true, Name = "resources" };
        _thread.Start();
    }

    /// <summary>Begins to watch.</summary>
    /// <param name="server">The server's process on this host; null: it cannot be seen.</param>
    /// <param name="period">1 s when left out.</param>
    public static ResourceMonitor Start(int? server, TimeSpan? period = null) =>
        new(server, period ?? TimeSpan.FromSeconds(1));

    /// <summary>Ends watching and says what was used.</summary>
    public ResourceUse Stop()
    {
        _stop.Set();
        _thread.Join();
        Moment last = Moment.Now(_server);
        // Shorter than a period: the whole is the only sample.
        if (_series.Count == 0) _series.Add(Between(_first, last));
        return new ResourceUse
        {
            ServerSeen = last.Server is not null && _first.Server is not null,
            ClientCpu = Median(second => second.ClientCpu),
            ClientHot = Median(second => second.ClientHot),
            ServerCpu = Median(second => second.ServerCpu),
            ServerHot = Median(second => second.ServerHot),
            ClientRss = _series.Max(second => second.ClientRss),
            ServerRss = _series.Max(second => second.ServerRss),
            HostIdle = Median(second => second.HostIdle),
            Steal = Median(second => second.Steal),
            Throttled = Median(second => second.Throttled),
            ClientCpuNs = (long)(Environment.CpuUsage.TotalTime - _cpu).TotalNanoseconds,
            ServerCpuNs = (last.Server?.Cpu ?? 0) - (_first.Server?.Cpu ?? 0),
            ClientSwitches = last.Client!.Switches - _first.Client!.Switches,
            ClientMigrations = ProcessSample.MigrationsOf(Environment.ProcessId) - _migrations,
            ServerSwitches = (last.Server?.Switches ?? 0) - (_first.Server?.Switches ?? 0),
            ClientFaults = last.Client.Faults - _first.Client.Faults,
            Series = _series,
        };
    }

    public void Dispose()
    {
        _stop.Set();
        _thread.Join();
        _stop.Dispose();
    }

    private void Watch()
    {
        Moment before = _first;
        while (!_stop.Wait(_period))        // ends when Stop or Dispose says so
        {
            Moment now = Moment.Now(_server);
            _series.Add(Between(before, now));
            before = now;
        }
    }

    private double Median(Func<ResourceSecond, double> of)
    {
        double[] sorted = [.. _series.Select(of).Order()];
        return (sorted[(sorted.Length - 1) / 2] + sorted[sorted.Length / 2]) / 2;
    }

    private static ResourceSecond Between(Moment a, Moment b)
    {
        double ns = Math.Max(1, Stopwatch.GetElapsedTime(a.Time, b.Time).TotalNanoseconds);
        double ticks = Math.Max(1, b.Host.Total - a.Host.Total);
        return new ResourceSecond(
            ((b.Client?.Cpu ?? 0) - (a.Client?.Cpu ?? 0)) / ns,
            Hottest(a.Client, b.Client) / ns,
            ((b.Server?.Cpu ?? 0) - (a.Server?.Cpu ?? 0)) / ns,
            Hottest(a.Server, b.Server) / ns,
            b.Client?.Rss ?? 0,
            b.Server?.Rss ?? 0,
            (b.Host.Idle - a.Host.Idle) / ticks,
            (b.Host.Steal - a.Host.Steal) / ticks,
            (b.Host.ThrottledUs - a.Host.ThrottledUs) * 1000 / ns);
    }

    /// <summary>ns of the thread that was longest on a processor.</summary>
    private static double Hottest(ProcessSample? a, ProcessSample? b) => b is null ? 0
        : b.ThreadCpu.Select(one => one.Value - (a?.ThreadCpu.GetValueOrDefault(one.Key) ?? 0)).DefaultIfEmpty().Max();

    private sealed record Moment(long Time, ProcessSample? Client, ProcessSample? Server, HostSample Host)
    {
        public static Moment Now(int? server) => new(Stopwatch.GetTimestamp(), ProcessSample.Of(Environment.ProcessId),
            server is { } process ? ProcessSample.Of(process) : null, HostSample.Now());
    }
}
