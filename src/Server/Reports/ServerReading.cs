using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Metrics;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>The figures of a server for one report. What several rows use is read once, so that sums and ratios of a
/// report agree.</summary>
/// <remarks>Cost: only what is asked for is read; <see cref="Clients"/> is a pass over the connections, without a lock.
/// Threads: one.</remarks>
/// <param name="session">In a turn, where there is one: what it can look at is read as it is now.</param>
internal sealed class ServerReading(KvServer server, StoreSession? session = null)
{
    private StoreStats? _stats;
    private ClientTotals? _clients;
    private SystemMemory? _memory;
    private Environment.ProcessCpuUsage? _cpu;
    private MemoryUse? _use;
    private List<(Command Command, CommandCounts Counts)>? _commands;
    private List<(string Command, LatencyHistogram Latencies, CommandCounts Counts)>? _latencies;
    private HotKeyReading? _hotKeys;
    private IReadOnlyList<BigKey>? _bigKeys;
    private long? _residentBytes, _collectorBytes, _scriptMachineBytes, _unixMicroseconds;

    public KvServer Server => server;

    public ServerOptions Options => server.Options;

    public Store Store => server.Store;

    public StoreStats Stats => _stats ??= Store.Stats;

    public ClientTotals Clients => _clients ??= ClientTotals.Of(server.Connections);

    /// <summary>What replicas have not read: in buffers of each, and what is shared.</summary>
    public long ReplicaBytes => Clients.Replicas + server.Replicas.UnreadBytes;

    public SystemMemory Memory => _memory ??= SystemMemory.Read();

    public Environment.ProcessCpuUsage Cpu => _cpu ??= Environment.CpuUsage;

    /// <summary>used_memory: the store's account, by which writes are refused, too.</summary>
    public long UsedBytes => Use.UsedBytes;

    /// <summary>The store's account, by use.</summary>
    public MemoryUse Use => _use ??= Store.MemoryUse;

    public long PeakBytes => Math.Max(Store.PeakUsedBytes, UsedBytes);

    public long DatasetBytes => Use.LogBytes + Use.BlockBytes;

    /// <summary>Free memory that was not given back to the system yet.</summary>
    public long WarmBytes => Memory.WarmBytes + Use.WarmBytes;

    /// <summary>What the managed heap has of the system beside what is alive in it, as of its last
    /// collection.</summary>
    public long CollectorBytes => _collectorBytes ??=
        Math.Max(0, GC.GetGCMemoryInfo().TotalCommittedBytes - Use.HeapBytes - Store.Budget.ManagedBytes);

    /// <summary>Resident memory that is in no other figure.</summary>
    public long ProgramBytes => ResidentBytes - UsedBytes - Use.RetiredBytes - WarmBytes - CollectorBytes;

    public long ResidentBytes => _residentBytes ??= ResidentMemory.Bytes;

    public long ScriptMachineBytes => _scriptMachineBytes ??= server.Scripts.MachineBytes;

    public long UnixMicroseconds => _unixMicroseconds ??=
        (server.Time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;

    public long UptimeSeconds => (server.TickMs - server.StartedTickMs) / 1000;

    /// <summary>The keys that are used most.</summary>
    public HotKeyReading HotKeys => _hotKeys ??= server.HotKeys.Read();

    /// <summary>The largest keys; without a session each as large as when it was last measured.</summary>
    public IReadOnlyList<BigKey> BigKeys => _bigKeys ??=
        session == null ? Store.BigKeys.Found : Store.BigKeys.Measure(session);

    public RateMeter.Rates Rates => server.Rates.PerSecond;

    /// <summary>The commands and subcommands that somebody has called, with their counts over all workers.</summary>
    public IReadOnlyList<(Command Command, CommandCounts Counts)> Commands => _commands ??= CountCommands();

    /// <summary>How long the calls of these commands took, where latency-tracking has it noted.</summary>
    public IReadOnlyList<(string Command, LatencyHistogram Latencies, CommandCounts Counts)> Latencies =>
        _latencies ??= Options.LatencyTracking ? [.. Commands
            .Select(called => (called.Command.FullName, server.Counters.LatenciesOf(called.Command), called.Counts))
            .Where(called => called.Item2.Total > 0)] : [];

    /// <summary>The databases that a report has lines of: those with keys, and all of the first
    /// <paramref name="always"/>.</summary>
    public IEnumerable<int> Databases(int always) => Enumerable.Range(0, Options.Databases)
        .Where(database => database < always || Store.Count(database) != 0);

    /// <summary>Percent of reads that found their key, or would have if <paramref name="more"/> more had.</summary>
    public double HitPercent(long more)
    {
        long hits = SinceReset(s => s.Hits), misses = SinceReset(s => s.Misses);
        return 100.0 * (hits + Math.Min(more, misses)) / (hits + misses);
    }

    /// <summary>What the store has counted since CONFIG RESETSTAT.</summary>
    public long SinceReset(Func<StoreStats, long> counter) => counter(Stats) - counter(server.StatsAtReset.Stats);

    private List<(Command Command, CommandCounts Counts)> CountCommands()
    {
        var called = new List<(Command Command, CommandCounts Counts)>();
        foreach (var command in server.Commands.All)
        {
            Add(command);
            foreach (var subcommand in command.Subcommands) Add(subcommand);
        }

        return called;

        void Add(Command command)
        {
            var counts = server.Counters.SumOf(command);
            if (counts.Calls != 0 || counts.Rejected != 0) called.Add((command, counts));
        }
    }
}
