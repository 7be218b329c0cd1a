using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Effects;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Server.Http;
using Kv.Server.Metrics;
using Kv.Server.Network;
using Kv.Server.Notifications;
using Kv.Server.Persistence;
using Kv.Server.Persistence.Aof;
using Kv.Server.PubSub;
using Kv.Server.Replication;
using Kv.Server.Reports;
using Kv.Server.Scripting;
using Kv.Server.Security;
using Kv.Server.Sessions;
using Kv.Server.Tls;
using Kv.Server.Tracking;
using Kv.Server.Users;
using Kv.Storage;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace Kv.Server;

/// <summary>A whole server: a store, its clients, and what they share. Any number of them fit into one
/// process.</summary>
/// <remarks>Threads: any. No static state: two servers do not notice each other, and nothing is left after
/// disposal.</remarks>
public sealed class KvServer : IAsyncDisposable
{
    private readonly TaskCompletionSource _stopRequested = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _stopGuard = new();
    private readonly ManagedHeap? _heap;
    private readonly MeasuringTime? _measuring;
    private readonly CollectorPauses _pauses;
    private ITransport? _transport;
    private PipelineTransport? _inProcess;
    private HttpPort? _metricsPort;
    private ServerMeter? _meter;
    private Task? _stopping;
    private LoadProgress? _loading;
    private bool _isReplaying;

    private KvServer(ServerOptions options, ILoggerFactory log, TimeProvider time, CommandTable commands)
    {
        OwnCommands = Commands = commands;
        Users = new UserTable(this, commands);
        AccessLog = new AccessLog(time);
        Counters = new ServerCounters(commands.Count);
        Options = options;
        Time = time;
        LogFactory = log;
        Log = log.CreateLogger("Kv.Server.Server");
        Data = log.CreateLogger("Kv.Server.Data");
        Started = time.GetUtcNow();
        StartedTickMs = TickMs;
        Tls = new TlsState(options, Log, time);
        Latency = new LatencyMonitor(time);
        _pauses = new CollectorPauses(Latency, time);
        HotKeys = new HotKeys(time);
        Store = new Store(new StoreOptions
        {
            Databases = options.Databases,
            IndexBytes = options.IndexBytes,
            MaxMemoryBytes = options.MaxMemory,
            PackedLimits = options.PackedLimits,
            Time = time,
            Stalled = stall => Log.LogWarning(
                "Freeing has waited {Milliseconds} ms for {Holder}: {Count} things of {Bytes} bytes are held back",
                stall.Milliseconds, stall.Holder, stall.PendingFrees, stall.PendingBytes),
            SnapshotGivenUp = bytes => Data.LogError(
                "A snapshot is given up, its file has got nothing for {Seconds} seconds while writers waited: {Bytes} "
                + "bytes until then", SnapshotPatience.Longest.TotalSeconds, bytes),
            UpkeepFailed = exception => Log.LogCritical(
                exception, "A round of the store's upkeep failed; the next one begins anew"),
            Took = (part, took) => Latency.Note(
                part == UpkeepPart.Eviction ? LatencyEvent.EvictionCycle : LatencyEvent.ExpireCycle,
                (long)(took.TotalSeconds * Stopwatch.Frequency)),
        });
        Purge = new MemoryPurge(Store, options.OwnsProcess,
            exception => Log.LogError(exception, "Free memory could not be given back"));
        SlowLog = new SlowLog(Store.ChargeManaged, time);
        Timing = new CommandTiming(SlowLog, Latency);
        Http = new HttpPages(this);
        Pause = new ClientPause(this);
        RoomWaits = new RoomWaits(Store);
        ClientMemory = new ClientMemory(this);
        Store.ExpiryGate = () => IsReplaying || (Pause.IsActive && Pause.Holds(writes: true));
        Blocked = new BlockedClients(this);
        Remainders = new Remainders(this);
        Scripts = new ScriptEngine(this);
        Snapshots = new Snapshots(this);
        Aof = new AppendOnlyFile(this);
        SaveSchedule = new SaveSchedule(this);
        PubSub = new PubSubEngine(Store.Charge, Store.ChargeManaged);
        Monitors = new Monitors(Timing, PubSub.Account);
        Events = new KeyspaceEvents(PubSub, Store,
            exception => Log.LogError(exception, "An event or effect of a key could not be published"));
        Scripts.Functions.Feed = Events.Feed;
        Replicas = new Replicas(this);
        Tracking = new TrackingEngine(Store, id => Connections.TryGet(id, out var session) ? session : null,
            Remainders.Start, exception => Log.LogCritical(exception,
                "Clients could not be told that copies of keys are old; all that track keys are closed"));
        AuthFailures = new AuthFailures(() => TickMs);
        // A test's own time has timers of its own.
        var measuring = time;
        if (time == TimeProvider.System) measuring = _measuring = new MeasuringTime();
        if (options.OwnsProcess)
        {
            _heap = new ManagedHeap(Store.Budget, measuring);
            Extents.Shared.Account = Store.Budget;
        }

        MemoryWatch = new MemoryWatch(Store, Log, measuring, options.OwnsProcess ? Extents.Shared : null);
        Rates = new RateMeter(measuring, () => new RateMeter.Totals(
            Counters.Sum(c => c.Commands), Counters.Sum(c => c.BytesIn), Counters.Sum(c => c.BytesOut)));
    }

    /// <summary>Starts a server and listens.</summary>
    /// <param name="options">Copied.</param>
    /// <param name="log">Where log lines go; without it, nowhere.</param>
    /// <param name="cancellation">Cancels the start.</param>
    /// <returns>A server that accepts connections. The caller disposes it.</returns>
    /// <exception cref="ArgumentException">An option is out of range.</exception>
    /// <exception cref="ListenException">An address cannot be listened on. Nothing is left behind.</exception>
    /// <exception cref="IOException">The process may open so few files that no client could be served; or the snapshot
    /// that is to be loaded cannot be. Nothing is left behind.</exception>
    public static Task<KvServer> StartAsync(ServerOptions options, ILoggerFactory? log = null,
        CancellationToken cancellation = default) =>
        StartAsync(options, log, TimeProvider.System, AllCommands.Table, cancellation);

    internal static async Task<KvServer> StartAsync(
        ServerOptions options, ILoggerFactory? log, TimeProvider time, CommandTable commands,
        CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(options);
        var copy = options.Copy();
        if (copy.Validate() is { } wrong) throw new ArgumentException(wrong, nameof(options));
        cancellation.ThrowIfCancellationRequested();
        var server = new KvServer(copy, log ?? NullLoggerFactory.Instance, time, commands);
        try
        {
            server.FollowOptions();
            server.BeginUsers();
            server.BeginTls();
            // Where there is nothing to load the first client is served at once.
            bool loads = copy.LoadsAtStart && (copy.AppendOnly || server.Snapshots.IsThere);
            if (copy.LoadsAtStart) Leftovers.Delete(Path.GetFullPath(copy.Dir), server.Data);
            if (loads) server._loading = new LoadProgress(time.GetUtcNow());
            else if (copy.LoadsAtStart) server.Snapshots.SayNothingToLoad();
            server._transport = Transports.Create(server);
            ServerMeter.Load();     // its files are open when they are counted
            int workers = copy.WorkerThreads > 0 ? copy.WorkerThreads : Environment.ProcessorCount;
            server.Descriptors = DescriptorLimit.Measure(workers, copy.Bind.Count + 1
                + (copy.Tls.Port > 0
                    ? copy.Bind.Count + PipelineTransport.OtherDescriptors + (StreamPoller.Descriptors * workers) : 0)
                + (copy.MetricsPort > 0
                    ? (2 * copy.Bind.Count) + HttpPort.ConnectionsMax + PipelineTransport.OtherDescriptors : 0));
            server.Descriptors.Report(server.Log, copy.MaxClients);
            // Before the first client is served: who finds one port finds the other, and a port that is taken ends
            // the start before anybody has written anything.
            if (copy.MetricsPort > 0)
            {
                server._metricsPort = new HttpPort(server);
                server._metricsPort.Open();
            }

            await server._transport.StartAsync(cancellation).ConfigureAwait(false);
            server._metricsPort?.Serve();
            if (loads) await server.LoadAsync().ConfigureAwait(false);
            server.SaveSchedule.Follow(server.Options);

            server._meter = new ServerMeter(server,
                server.Endpoints.OfType<IPEndPoint>().FirstOrDefault()?.Port ?? 0);
            return server;
        }
        catch
        {
            await server.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Loads what is on the disk, while clients are told so.</summary>
    private async Task LoadAsync()
    {
        await Task.Factory.StartNew(Aof.Start, CancellationToken.None, TaskCreationOptions.LongRunning,
            TaskScheduler.Default).ConfigureAwait(false);
        Volatile.Write(ref _loading, null);     // release: whoever sees it finds all that was loaded
    }

    /// <summary>The options in force; CONFIG SET changes them.</summary>
    public ServerOptions Options { get; }

    /// <summary>The store that this server serves.</summary>
    public Store Store { get; }

    /// <summary>Where the server listens, with the real ports; a unix socket is a
    /// <see cref="System.Net.Sockets.UnixDomainSocketEndPoint"/>.</summary>
    public IReadOnlyList<EndPoint> Endpoints => _transport?.Endpoints ?? [];

    /// <summary>Clients connected now.</summary>
    public int Clients => Connections.Count;

    /// <summary>Threads that serve clients (or may, on the portable transport).</summary>
    public int Workers => _transport?.WorkerCount ?? 0;

    /// <summary>Whether clients of other machines are refused: protected mode, and nobody has to give a
    /// password.</summary>
    public bool IsProtected => Options.ProtectedMode && Users.Default.Rules.NeedsNoPassword;

    /// <summary>"epoll" or "pipelines".</summary>
    public string Transport => _transport?.Name ?? "";

    /// <summary>False once a worker was left behind by <see cref="StopAsync"/>: the process should end.</summary>
    public bool EndedInOrder { get; private set; } = true;

    /// <summary>Completes when a client asked for the server's end (SHUTDOWN).</summary>
    public Task StopRequested => _stopRequested.Task;

    internal TimeProvider Time { get; }

    internal ILogger Log { get; }

    /// <summary>Lines about what is on disk.</summary>
    internal ILogger Data { get; }

    internal ILoggerFactory LogFactory { get; }

    internal LogBrakes LogBrakes { get; } = new();

    internal ConnectionTable Connections { get; } = new();

    internal Remainders Remainders { get; }

    /// <summary>What is on disk.</summary>
    internal Snapshots Snapshots { get; }

    /// <summary>Whether commands of the append-only file are being run: no key expires and none is evicted before all
    /// of them have.</summary>
    // Volatile: the store's thread looks at it before each of its rounds; sessions of the replay have a clock of their
    // own.
    internal bool IsReplaying
    {
        get => Volatile.Read(ref _isReplaying);
        set => Volatile.Write(ref _isReplaying, value);
    }

    /// <summary>The error for commands that write, since what they change could not be kept on disk; null: they
    /// run.</summary>
    internal byte[]? WritesRefused => Aof.Refusal
        ?? (Snapshots.HasFailed && Options.StopWritesOnBgsaveError && SaveSchedule.HasPoints
            ? Errors.SnapshotFails : null);

    /// <summary>What is written of all changes.</summary>
    internal AppendOnlyFile Aof { get; }

    /// <summary>When snapshots are begun without a command.</summary>
    internal SaveSchedule SaveSchedule { get; }

    /// <summary>Whether a snapshot is written once the clients have left; null: by the
    /// options. SHUTDOWN decides it by its own words.</summary>
    internal bool? SavesAtEnd { get; set; }

    /// <summary>Runs scripts.</summary>
    internal ScriptEngine Scripts { get; }

    /// <summary>The commands by the names that clients call them by.</summary>
    internal CommandTable Commands { get; private set; }

    /// <summary>The commands by their own names, which rules of users know.</summary>
    internal CommandTable OwnCommands { get; }

    internal UserTable Users { get; }

    /// <summary>What ACL LOG returns.</summary>
    internal AccessLog AccessLog { get; }

    /// <summary>The limits of the protocol, which CONFIG SET changes.</summary>
    internal RespLimits Limits { get; } = new();

    internal ServerCounters Counters { get; }

    /// <summary>What is shown by HTTP.</summary>
    internal HttpPages Http { get; }

    /// <summary>Why clients should go elsewhere for now; null when the server is ready.</summary>
    // Volatile: set under the lock, once; a late look is no harm.
    internal string? WhyNotReady => IsStopping ? "stopping" : Loading != null ? "loading" : null;

    internal bool IsStopping => Volatile.Read(ref _stopping) != null;

    /// <summary>What the start is loading; null: nothing any more.</summary>
    internal LoadProgress? Loading => Volatile.Read(ref _loading);

    internal SlowLog SlowLog { get; }

    /// <summary>What has kept clients waiting.</summary>
    internal LatencyMonitor Latency { get; }

    /// <summary>Which keys are used most of late.</summary>
    internal HotKeys HotKeys { get; }

    /// <summary>Which commands are timed one by one.</summary>
    internal CommandTiming Timing { get; }

    /// <summary>Clients that watch all commands.</summary>
    internal Monitors Monitors { get; }

    internal ClientPause Pause { get; }

    /// <summary>Clients whose next command waits for room in the store.</summary>
    internal RoomWaits RoomWaits { get; }

    /// <summary>Closes clients that hold too much together.</summary>
    internal ClientMemory ClientMemory { get; }

    /// <summary>The tables of all LCS that run.</summary>
    internal SharedAllowance LcsTables { get; } = new();

    /// <summary>Clients that wait for a key (BLPOP).</summary>
    internal BlockedClients Blocked { get; }

    /// <summary>Clients served at once: maxclients, or fewer if the process may not have enough descriptors.</summary>
    internal int MaxClients => Math.Min(Options.MaxClients, Descriptors.ClientsMax);

    internal DescriptorLimit Descriptors { get; private set; } = null!;

    internal PubSubEngine PubSub { get; }

    /// <summary>Tells subscribers what happens to keys.</summary>
    internal KeyspaceEvents Events { get; }

    /// <summary>What commands do, in one order: for the append-only file and replicas.</summary>
    internal Feed Feed => Events.Feed;

    /// <summary>Clients that follow this server.</summary>
    internal Replicas Replicas { get; }

    /// <summary>Tells clients that keep copies of values when those are old.</summary>
    internal TrackingEngine Tracking { get; }

    internal AuthFailures AuthFailures { get; }

    /// <summary>Certificates and handshakes.</summary>
    internal TlsState Tls { get; }

    internal RateMeter Rates { get; }

    /// <summary>Gives back what is free.</summary>
    internal MemoryPurge Purge { get; }

    /// <summary>Logs when memory is short.</summary>
    internal MemoryWatch MemoryWatch { get; }

    /// <summary>What the store had counted at the last CONFIG RESETSTAT; the store itself never resets its
    /// counts.</summary>
    // Replaced whole, read by INFO: a reference, so it is never read in half.
    internal StoreStatsBase StatsAtReset { get; set; } = new(default);

    /// <summary>40 hexadecimal digits, random for each start.</summary>
    internal string RunId { get; } = NewRunId();

    internal DateTimeOffset Started { get; }

    internal long StartedTickMs { get; }

    /// <summary>Milliseconds of a clock that never goes back; for timeouts and idle times.</summary>
    internal long TickMs => Environment.TickCount64;

    private static string NewRunId()
    {
        Span<ulong> words = stackalloc ulong[3];
        SystemRandom.Fill(words);
        return Convert.ToHexStringLower(MemoryMarshal.AsBytes(words)[..20]);
    }

    /// <summary>Ends the server in order, as <see cref="StopAsync"/>, without waiting. For SHUTDOWN.</summary>
    internal void RequestStop()
    {
        _stopRequested.TrySetResult();
        _ = Task.Run(() => StopAsync());
    }

    /// <summary>Connects to this server inside of the process, without a socket.</summary>
    /// <returns>
    /// A stream for one client: write requests in RESP, read the replies. One reader and one writer at a time, as with
    /// a socket. The caller disposes it, which ends the connection: what was written before is still run. It ends by
    /// itself, after the replies, on QUIT, CLIENT KILL and when the server stops; writing is then an
    /// <see cref="IOException"/>.
    /// </returns>
    /// <exception cref="InvalidOperationException">The server stops, or has stopped.</exception>
    /// <remarks>
    /// A client like any other: it counts for maxclients (a client too many reads the error of Redis, then the end),
    /// has to send AUTH if there is a password, and CLIENT LIST shows it at in-process:0. A writer that is more than 1
    /// MB ahead waits. Cost: some KB, no descriptor, no thread; commands run on the thread pool, and waiting
    /// synchronously blocks only the caller. The first call makes what the connections share: buffers for each of
    /// worker-threads.
    /// </remarks>
    public Stream Connect()
    {
        lock (_stopGuard)
        {
            if (_stopping != null || _transport == null) throw new InvalidOperationException("The server has stopped.");
            return PortableLatched(_transport).Connect();
        }
    }

    /// <summary>Whether a server with these options would start, as far as that can be seen without starting: its
    /// users, the names of its commands, and the files of TLS.</summary>
    /// <returns>Null, or what is wrong in one line.</returns>
    public static string? WhyNotStart(ServerOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        var server = new KvServer(options.Copy(), NullLoggerFactory.Instance, TimeProvider.System, AllCommands.Table);
        try
        {
            server.BeginUsers();
            server.BeginTls();
            return null;
        }
        catch (ArgumentException exception)
        {
            return exception.Message.Split(" (Parameter '")[0];
        }
        finally
        {
            server.DisposeAsync().AsTask().GetAwaiter().GetResult();
        }
    }

    /// <summary>Whether those who serve clients have all come by within a time, or stand still for a snapshot that goes
    /// on. For watchdogs: it asks the workers themselves.</summary>
    public bool IsServing(TimeSpan within)
    {
        int withinMs = (int)Math.Clamp(within.TotalMilliseconds, 1, int.MaxValue);
        long written = Snapshots.BytesWritten;
        // Volatile: made by whoever needs it first, under the lock. It serves TLS and streams beside epoll.
        var beside = Volatile.Read(ref _inProcess);
        bool makesProgress = (_transport?.MakesProgress(withinMs) ?? false)
            && (beside == null || beside == _transport || beside.MakesProgress(withinMs));
        return makesProgress || Snapshots.BytesWritten != written;
    }

    /// <summary>Reads again what is in files: the users of aclfile, all or none of them, and what
    /// <see cref="ReloadCertificates"/> does.</summary>
    /// <returns>False, with a line in the log for each, when something is as it was.</returns>
    public bool Reload()
    {
        bool hasCertificates = ReloadCertificates() == null;
        return ReloadUsers() && hasCertificates;
    }

    /// <summary>Reads the files of TLS again: certificates, keys and authorities. Clients that are connected keep
    /// theirs.</summary>
    /// <returns>Null when done, or without TLS; else what is wrong: then the server goes on with those of
    /// before.</returns>
    public string? ReloadCertificates() => Tls.Reload();

    private bool ReloadUsers()
    {
        if (Options.AclFile.Length == 0) return true;
        if (Users.LoadFile() is { } error)
        {
            Log.LogError("The users are as they were: {Error}", error);
            return false;
        }

        Log.LogInformation("The users of {File} have been read again", Options.AclFile);
        return true;
    }

    /// <summary>Begins to accept clients over TLS from a socket, until that is disposed; for the transport that serves
    /// only plain ones. From any thread.</summary>
    // Lock order: the listeners' lock is held, then this one. Who stops has this one first, and takes the other in a
    // thread of its own.
    internal void AcceptTls(Socket listener)
    {
        lock (_stopGuard)
        {
            if (_stopping != null || _transport == null) listener.Dispose();
            else PortableLatched(_transport).AcceptTls(listener);
        }
    }

    /// <summary>What serves streams: the transport itself, or one beside it.</summary>
    private PipelineTransport PortableLatched(ITransport transport)
    {
        Debug.Assert(_stopGuard.IsHeldByCurrentThread, "there is one, and none after the end");
        if (_inProcess != null) return _inProcess;
        _inProcess = transport as PipelineTransport ?? new PipelineTransport(this, listens: false);
        // It does nothing that waits.
        if (_inProcess != transport) _inProcess.StartAsync(CancellationToken.None).GetAwaiter().GetResult();
        return _inProcess;
    }

    /// <summary>Stops accepting, runs what was received, and closes every connection, within
    /// shutdown-timeout.</summary>
    /// <remarks>A worker that a command keeps longer than that is left behind, and <see cref="EndedInOrder"/> is
    /// false.</remarks>
    public Task StopAsync(CancellationToken cancellation = default)
    {
        lock (_stopGuard) return _stopping ??= StopTransportsAsync(cancellation);
    }

    private async Task StopTransportsAsync(CancellationToken cancellation)
    {
        Scripts.BeginStop();
        var stopping = _transport?.StopAsync(cancellation) ?? Task.FromResult(true);
        var stoppingInProcess = _inProcess == null || _inProcess == _transport
            ? Task.FromResult(true) : _inProcess.StopAsync(cancellation);
        bool ended = await stopping.ConfigureAwait(false) & await stoppingInProcess.ConfigureAwait(false);
        if (ended)
        {
            SaveAtEnd();
            return;
        }

        EndedInOrder = false;
        Log.LogCritical(
            "A command did not end within shutdown-timeout; its worker is left behind, and the store as it is");
    }

    /// <summary>Writes the snapshot that is due now that nobody changes anything any more.</summary>
    private void SaveAtEnd()
    {
        SaveSchedule.Dispose();
        // What has not changed since is on the disk, or was never there.
        if (Loading != null || !(SavesAtEnd ?? SaveSchedule.SavesOnSignal) || Snapshots.Changes == 0) return;
        Snapshots.Cancel();
        if (Snapshots.SaveAtEnd() != null) EndedInOrder = false;
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        SaveSchedule.Dispose();
        Aof.Dispose();
        Snapshots.Dispose();
        // Last of what listens: until here it says that the server stops.
        if (_metricsPort != null) await _metricsPort.StopAsync().ConfigureAwait(false);
        _metricsPort?.Dispose();
        _meter?.Dispose();
        Rates.Dispose();
        _pauses.Dispose();
        MemoryWatch.Dispose();
        ClientMemory.Dispose();
        _heap?.Dispose();
        _measuring?.Dispose();
        Pause.Dispose();
        Tls.Dispose();
        if (!EndedInOrder) return;      // a worker still uses what would be freed here: the end of the process frees it
        Remainders.Dispose();
        Scripts.Dispose();
        Blocked.Dispose();
        SlowLog.Dispose();
        Purge.Dispose();
        Replicas.Dispose();
        Feed.Dispose();
        Store.Dispose();
    }

    private string? FollowFeedLimit(ServerOptions options)
    {
        Feed.LimitBytes = options.ForMemory(options.FeedBufferLimit);
        return null;
    }

    private void FollowOptions()
    {
        ApplyLimits(Options);
        Options.OnChange("proto-max-bulk-len", ApplyLimits);
        Options.OnChange("proto-max-args", ApplyLimits);
        Options.OnChange("proto-inline-max-size", ApplyLimits);
        Options.OnChange("slowlog-log-slower-than", Timing.Follow);
        Options.OnChange("slowlog-max-len", Timing.Follow);
        Options.OnChange("latency-monitor-threshold", FollowTiming);
        FollowTiming(Options);
        Options.OnChange("latency-tracking", FollowTracking);
        FollowTracking(Options);
        Options.OnChange("notify-keyspace-events", Events.Follow);
        Events.Follow(Options);
        Options.OnChange("feed-buffer-limit", FollowFeedLimit);
        FollowFeedLimit(Options);
        Options.OnChange("tracking-table-max-keys", Tracking.Follow);
        Tracking.Follow(Options);
        Options.OnChange("save", SaveSchedule.Follow);
        Options.OnChange("appendonly", Aof.Follow, mayRefuse: true);
        Options.OnChange("appendfsync", Aof.FollowPolicy);
        Options.OnChange("maxclients", options =>
        {
            Descriptors.Report(Log, options.MaxClients);
            return null;
        });
        Options.OnChange("maxmemory", options =>
        {
            Store.MaxMemoryBytes = options.MaxMemory;
            FollowFeedLimit(options);
            return ClientMemory.Follow(options);
        });
        Options.OnChange("maxmemory-clients", ClientMemory.Follow);
        ClientMemory.Follow(Options);
        Options.OnChange("maxmemory-policy", FollowPolicy);
        Options.OnChange("lfu-log-factor", FollowPolicy);
        Options.OnChange("lfu-decay-time", FollowPolicy);
        FollowPolicy(Options);
    }

    private string? FollowTiming(ServerOptions options)
    {
        Timing.Follow(options);
        _pauses.Follow();
        return null;
    }

    private string? FollowTracking(ServerOptions options)
    {
        Counters.TrackLatency(options.LatencyTracking);
        return null;
    }

    private void BeginUsers()
    {
        if (Options.RenamedCommands.Count > 0)
        {
            var names = Options.RenamedCommands.Select(line => line.Split(' ')).Select(words => (words[0], words[1]));
            Commands = OwnCommands.Rename(names, out string why)
                ?? throw new ArgumentException($"option 'rename-command': {why}", nameof(Options));
        }

        if (Users.Begin() is { } wrong) throw new ArgumentException(wrong, nameof(Options));
        Options.OnChange("requirepass", Users.FollowPassword);
        Options.OnChange("acllog-max-len", AccessLog.Follow);
        AccessLog.Follow(Options);
    }

    private void BeginTls()
    {
        if (Tls.Load(Options) is { } wrong) throw new ArgumentException(wrong, nameof(Options));
        Tls.Follow();
    }

    private string? FollowPolicy(ServerOptions options)
    {
        Store.FrequencyLogFactor = options.LfuLogFactor;
        Store.FrequencyDecayMinutes = options.LfuDecayTime;
        Store.MaxMemoryPolicy = options.MaxMemoryPolicy;
        return null;
    }

    private string? ApplyLimits(ServerOptions options)
    {
        Limits.MaxBulkBytes = (int)Math.Min(options.ProtoMaxBulkLen, int.MaxValue);
        Limits.MaxArguments = Math.Max(options.ProtoMaxArgs, RespLimits.MinMaxArguments);
        Limits.MaxInlineBytes = options.ProtoInlineMaxSize;
        return null;
    }
}
