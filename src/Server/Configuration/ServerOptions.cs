using System.Net.Sockets;
using Kv.Storage;

namespace Kv.Server.Configuration;

/// <summary>Everything that can be set about one server, typed. A new instance holds the defaults.</summary>
/// <remarks>
/// Each property belongs to one row of <see cref="OptionTable"/>, which holds its name, range and text form; what this
/// class says is its type and default. Assigning a property from code does not check the range: <see cref="Validate"/>
/// does.
/// <para>
/// Threads: what CONFIG SET can change while the server runs is a word or a reference to something immutable, written
/// under <see cref="ChangeLock"/> and read without it. A reader sees it at its next turn: a turn begins with a fence
/// (the session's epoch), so no read of the turn before can stand for one in this; and whoever sees a reference sees
/// what it refers to. A stale value is safe, as a limit may apply one command late. All other properties are written
/// before the server starts and never after.
/// </para>
/// </remarks>
public sealed class ServerOptions
{
    // Network. Port, Bind and TcpBacklog change only through a handler that moves the listeners; the unix socket is
    // fixed at start.

    /// <summary>The TCP port. 0 at start lets the system choose one, or with a port for TLS there is none; set to 0 by
    /// CONFIG SET, nothing listens on TCP any more (on a server for which the system chose it is that first port
    /// again).</summary>
    public int Port { get; set; } = 6379;

    /// <summary>
    /// Addresses to listen on, each an address or a name, <c>*</c> or <c>::*</c> for all, with a leading <c>-</c> when
    /// it may be unavailable (see <see cref="BindAddress"/>). Empty: no TCP. Replace the list, do not change it.
    /// </summary>
    public IReadOnlyList<string> Bind { get; set; } = ["127.0.0.1", "-::1"];

    /// <summary>Path of a unix socket to listen on as well; empty for none.</summary>
    public string UnixSocket { get; set; } = "";

    /// <summary>Permission bits of the unix socket (0x1C0 is octal 700); 0 leaves them to the umask.</summary>
    public int UnixSocketPerm { get; set; }

    /// <summary>Connections that may wait to be accepted; the kernel lowers it to its own limit.</summary>
    public int TcpBacklog { get; set; } = 511;

    /// <summary>Seconds of silence after which the kernel probes a peer; 0 never.</summary>
    public int TcpKeepAlive { get; set; } = 300;

    /// <summary>Seconds after which an idle client is closed; 0 never.</summary>
    public int Timeout { get; set; }

    /// <summary>Clients served at once; the next one gets an error.</summary>
    public int MaxClients { get; set; } = 10_000;

    /// <summary>Without a password, serve only loopback addresses and unix sockets.</summary>
    public bool ProtectedMode { get; set; } = true;

    /// <summary>Whose first line on a connection may be a request of HTTP: for /metrics, /healthz and
    /// /readyz.</summary>
    public AllowedFor HttpOnPort { get; set; } = AllowedFor.Local;

    /// <summary>A TCP port of its own for these pages, on the addresses of <see cref="Bind"/>; 0 for none.</summary>
    public int MetricsPort { get; set; }

    /// <summary>TLS: its port, certificates, and who has to show one.</summary>
    public TlsOptions Tls { get; private set; } = new();

    /// <summary>Which of the two transports serves the sockets.</summary>
    public TransportKind Transport { get; set; } =
        OperatingSystem.IsLinux() ? TransportKind.Epoll : TransportKind.Pipelines;

    /// <summary>Up to what size collections are kept packed.</summary>
    public PackedLimits PackedLimits { get; private set; } = new();

    /// <summary>Whether strings are compressed by DUMP and in snapshots.</summary>
    public bool RdbCompression { get; set; } = true;

    /// <summary>Threads that serve clients; 0 takes the CPUs of the process' affinity mask.</summary>
    public int WorkerThreads { get; set; }

    /// <summary>Microseconds a worker without work polls before it sleeps; 0 sleeps at once.</summary>
    public int WorkerSpinUs { get; set; } = 50;

    // Security

    /// <summary>The password of the user "default"; empty for none.</summary>
    public string RequirePass { get; set; } = "";

    /// <summary>Path of the file that ACL LOAD and ACL SAVE use, which is read at start; empty for none.</summary>
    public string AclFile { get; set; } = "";

    /// <summary>Users other than the default one, each its name and its rules, "alice on >secret ~cache:* +@read".
    /// Replace the list, do not change it. ACL SETUSER does.</summary>
    public IReadOnlyList<string> Users { get; set; } = [];

    /// <summary>Commands that have other names, or none: the name, a space, and the new name. Replace the list, do not
    /// change it.</summary>
    public IReadOnlyList<string> RenamedCommands { get; set; } = [];

    /// <summary>Which channels a new user may use.</summary>
    public ChannelDefault AclPubSubDefault { get; set; } = ChannelDefault.ResetChannels;

    /// <summary>How many entries ACL LOG keeps.</summary>
    public long AclLogMaxLen { get; set; } = 128;

    /// <summary>Seconds a client has for AUTH when a password is set; 0 for ever.</summary>
    public int AuthTimeout { get; set; } = 10;

    /// <summary>Who may use DEBUG.</summary>
    public AllowedFor EnableDebugCommand { get; set; }

    /// <summary>Who may CONFIG SET the options that name files.</summary>
    public AllowedFor EnableProtectedConfigs { get; set; }

    // Limits of the protocol and of clients

    /// <summary>The longest bulk string a client may send and the longest value, in bytes.</summary>
    public long ProtoMaxBulkLen { get; set; } = 512L << 20;

    /// <summary>The most arguments of one command.</summary>
    public int ProtoMaxArgs { get; set; } = 1 << 20;

    /// <summary>The longest inline command, in bytes.</summary>
    public int ProtoInlineMaxSize { get; set; } = 64 << 10;

    /// <summary>The most channels and patterns one client may be subscribed to.</summary>
    public int SubscriptionLimit { get; set; } = 1_000_000;

    /// <summary>The longest key, in bytes.</summary>
    public long MaxKeyBytes { get; set; } = 512L << 20;

    /// <summary>Keys a client may watch.</summary>
    public int WatchLimit { get; set; } = 10_000;

    /// <summary>Bytes of queued commands a transaction may have.</summary>
    public long MultiQueueLimit { get; set; } = 64 << 20;

    /// <summary>Bytes of effects that may wait for the append-only file and replicas before writers wait.</summary>
    public long FeedBufferLimit { get; set; } = 64 << 20;

    /// <summary>Bytes of the stream that are kept for replicas that come back.</summary>
    public long ReplBacklogSize { get; set; } = 1 << 20;

    /// <summary>Seconds without replicas after which the stream ends; 0 never.</summary>
    public long ReplBacklogTtlSeconds { get; set; } = 3600;

    /// <summary>Seconds after which replicas get a PING, where nothing else is sent.</summary>
    public int ReplPingPeriodSeconds { get; set; } = 10;

    /// <summary>Whether the base of the append-only file is a snapshot; else it is made of commands.</summary>
    public bool AofUseRdbPreamble { get; set; } = true;

    /// <summary>Seconds after which a replica that is silent is disconnected.</summary>
    public int ReplTimeoutSeconds { get; set; } = 60;

    /// <summary>Milliseconds after which others do not wait for a script any more, but are told BUSY; 0
    /// never.</summary>
    public long BusyReplyThreshold { get; set; } = 5000;

    /// <summary>Milliseconds a script may run that has changed nothing; 0 any time.</summary>
    public long ScriptTimeLimit { get; set; } = 5000;

    /// <summary>Bytes a running script may hold.</summary>
    public long ScriptMemoryLimit { get; set; } = 64 << 20;

    /// <summary>Bytes of the scripts that EVAL brought and that stay known; those of SCRIPT LOAD are not among
    /// them.</summary>
    public long ScriptCacheLimit { get; set; } = 32 << 20;

    /// <summary>The longest reply, in bytes.</summary>
    public long MaxReplyBytes { get; set; } = 1L << 30;

    /// <summary>Bytes a client may have sent that are not yet executed.</summary>
    public long ClientQueryBufferLimit { get; set; } = 1L << 30;

    /// <summary>Unsent bytes from which on a client's commands are left unread; it goes on below half of
    /// that.</summary>
    public long ClientOutputPause { get; set; } = 256L << 20;

    /// <summary>Unsent bytes at which a client is closed, by class.</summary>
    public OutputBufferLimits ClientOutputBufferLimit { get; set; } = new();

    // Data

    /// <summary>How many databases SELECT can reach.</summary>
    public int Databases { get; set; } = 16;

    /// <summary>Bytes above which commands that need memory are refused; 0 for no limit.</summary>
    public long MaxMemory { get; set; }

    /// <summary>What clients may hold together before the largest are closed, in bytes; below 0, in percent of
    /// <see cref="MaxMemory"/>; 0: no limit.</summary>
    public long MaxMemoryClients { get; set; }

    /// <summary>What of a limit of buffers is left beside <see cref="MaxMemory"/>: an eighth of that, but 4 MB at
    /// least.</summary>
    public long ForMemory(long limit) => MemoryBudget.BufferLimit(limit, MaxMemory);

    /// <summary>What to do at <see cref="MaxMemory"/>.</summary>
    public MaxMemoryPolicy MaxMemoryPolicy { get; set; } = MaxMemoryPolicy.NoEviction;

    /// <summary>How much rarer a key's use is counted the more often it has been, with the policies that go by
    /// frequency.</summary>
    public int LfuLogFactor { get; set; } = 10;

    /// <summary>Minutes without use after which a key's frequency falls by one; 0: it never falls.</summary>
    public int LfuDecayTime { get; set; } = 1;

    /// <summary>Bytes of index to set aside at start, so that it need not grow; 0 starts small.</summary>
    public long IndexBytes { get; set; }

    /// <summary>A HyperLogLog that would be longer becomes a dense one, of 12,304 bytes.</summary>
    public long HllSparseMaxBytes { get; set; } = 3000;

    /// <summary>Refuse the publish/subscribe commands.</summary>
    public bool NoPubSub { get; set; }

    /// <summary>Refuse the commands of lists, hashes, sets and the like.</summary>
    public bool NoObj { get; set; }

    // Diagnostics

    /// <summary>Letters of the events that are published of keys (keyspace events); none when empty.</summary>
    public string NotifyKeyspaceEvents { get; set; } = "";

    /// <summary>Microseconds from which on a command is in the slow log; below 0 none is.</summary>
    public long SlowlogLogSlowerThan { get; set; } = 10_000;

    /// <summary>How many commands the slow log keeps.</summary>
    public long SlowlogMaxLen { get; set; } = 128;

    /// <summary>Milliseconds from which on LATENCY shows what took long; 0 for nothing.</summary>
    public long LatencyMonitorThreshold { get; set; }

    /// <summary>Keep histograms of how long commands take.</summary>
    public bool LatencyTracking { get; set; } = true;

    /// <summary>Keys that clients may keep copies of; 0: no limit.</summary>
    public long TrackingTableMaxKeys { get; set; } = 1_000_000;

    /// <summary>The percentiles that INFO latencystats shows, divided by spaces.</summary>
    public string LatencyTrackingInfoPercentiles { get; set; } = "50 99 99.9";

    // The program

    /// <summary>The least important lines that are logged.</summary>
    public LogVerbosity LogLevel { get; set; } = LogVerbosity.Notice;

    /// <summary>File to log to; empty for standard output.</summary>
    public string LogFile { get; set; } = "";

    /// <summary>How a line of the log is written.</summary>
    public LogFormat LogFormat { get; set; }

    /// <summary>Log to the system's log as well.</summary>
    public bool SyslogEnabled { get; set; }

    /// <summary>What lines of the system's log begin with.</summary>
    public string SyslogIdent { get; set; } = "redis";

    /// <summary>Their facility: user, or local0 to local7.</summary>
    public string SyslogFacility { get; set; } = "local0";

    /// <summary>Write a report of a crash to the log, and to a file in <see cref="Dir"/>.</summary>
    public bool CrashLogEnabled { get; set; } = true;

    /// <summary>Who is told that the server is ready, reloads or stops.</summary>
    public Supervision Supervised { get; set; }

    /// <summary>File that holds the process id while the program runs; empty for none.</summary>
    public string PidFile { get; set; } = "";

    /// <summary>The directory of data files, as it was given; CONFIG GET answers its full path.</summary>
    public string Dir { get; set; } = ".";

    /// <summary>Whether the snapshot in <see cref="Dir"/> is loaded before there are clients. The program does; a
    /// server inside of another only where that says so.</summary>
    public bool LoadsAtStart { get; set; }

    /// <summary>Whether snapshots end with a checksum, and that of one that is loaded is compared.</summary>
    public bool RdbChecksum { get; set; } = true;

    /// <summary>Pairs of seconds and changes, such as "900 1 300 10": a snapshot is written once both have passed since
    /// the last one. Empty: none. Has an effect with <see cref="LoadsAtStart"/> only.</summary>
    public string Save { get; set; } = "3600 1 300 100 60 10000";

    /// <summary>Whether writes are refused while snapshots cannot be written.</summary>
    public bool StopWritesOnBgsaveError { get; set; } = true;

    /// <summary>What SIGTERM and SIGINT do: default, or some of save, nosave, now, force.</summary>
    public string ShutdownOnSigterm { get; set; } = "default";

    // The append-only file

    /// <summary>Whether what changes is written to the append-only file, and the start loads it. Has an effect with
    /// <see cref="LoadsAtStart"/> only.</summary>
    public bool AppendOnly { get; set; }

    /// <summary>When what is written to it is on the disk.</summary>
    public AppendFsync AppendFsync { get; set; }

    /// <summary>What the names of its files begin with.</summary>
    public string AppendFilename { get; set; } = "appendonly.aof";

    /// <summary>Name of its folder in <see cref="Dir"/>.</summary>
    public string AppendDirname { get; set; } = "appendonlydir";

    /// <summary>Growth in percent at which it is written anew; 0 never.</summary>
    public int AutoAofRewritePercentage { get; set; } = 100;

    /// <summary>Size in bytes below which it is not written anew by itself.</summary>
    public long AutoAofRewriteMinSize { get; set; } = 64 << 20;

    /// <summary>Whether syncs are left out while a snapshot or a base is written.</summary>
    public bool NoAppendfsyncOnRewrite { get; set; }

    /// <summary>Whether an end that was not written whole is cut off at the start; else the start fails.</summary>
    public bool AofLoadTruncated { get; set; } = true;

    /// <summary>Whether the time is noted in it.</summary>
    public bool AofTimestampEnabled { get; set; }

    /// <summary>Whether files that have been replaced are kept.</summary>
    public bool AofDisableAutoGc { get; set; }

    /// <summary>Bytes that may wait for the disk before writers do.</summary>
    public long AofBufferLimit { get; set; } = 64 << 20;

    /// <summary>Name of the snapshot file in <see cref="Dir"/>.</summary>
    public string DbFilename { get; set; } = "dump.rdb";

    /// <summary>Seconds an orderly stop may take.</summary>
    public int ShutdownTimeout { get; set; } = 10;

    /// <summary>Answered and reported, 1 to 500; background work goes by its own clock.</summary>
    public int Hz { get; set; } = 10;

    /// <summary>Full path of the configuration file that was read; empty for none.</summary>
    public string ConfigFile { get; internal set; } = "";

    /// <summary>
    /// Whether the process is nothing but this server, as kv-server is. Then <see cref="MaxMemory"/> bounds the managed
    /// heap, too, and the server may ask for a collection when much of it is known to be dead. Has no name in files, on
    /// the command line or for CONFIG.
    /// </summary>
    public bool OwnsProcess { get; set; }

    /// <summary>Sockets that listen already, as systemd hands them over: served in place of <see cref="Port"/>,
    /// <see cref="Bind"/> and <see cref="UnixSocket"/>, and closed by the server. Has no name in files, on the command
    /// line or for CONFIG.</summary>
    public IReadOnlyList<Socket> ListeningSockets { get; set; } = [];

    /// <summary>Who has set which option.</summary>
    internal OptionOrigins Origins { get; private set; } = new();

    /// <summary>Values of the options that have no property, by the number of their row; null is the default.</summary>
    /// <remarks>Written under <see cref="ChangeLock"/>; elements are immutable.</remarks>
    private object?[] _kept = [];

    private Dictionary<string, OptionHandler> _handlers = [];

    /// <summary>Held while CONFIG SET changes several values, so that two of them do not mix.</summary>
    internal Lock ChangeLock { get; private set; } = new();

    /// <summary>Held by CONFIG REWRITE and by ACL SAVE, so that of two the later options are what the file
    /// says.</summary>
    internal Lock RewriteLock { get; private set; } = new();

    /// <summary>Calls back when CONFIG SET has changed an option, which takes effect through this call.</summary>
    /// <param name="name">The option's main name.</param>
    /// <param name="apply">Returns null when done. It runs on the client's thread and must not set options.</param>
    /// <param name="mayRefuse">It may also say why it cannot be: then every value of that CONFIG SET is put back, and
    /// the handlers that ran are called again. Such handlers run before all others, so the others are never called
    /// again.</param>
    /// <remarks>For the server's own parts, before it starts. One handler an option.</remarks>
    public void OnChange(string name, Func<ServerOptions, string?> apply, bool mayRefuse = false)
    {
        var option = OptionTable.Find(name) ?? throw new ArgumentException($"unknown option '{name}'", nameof(name));
        lock (ChangeLock) _handlers.Add(option.Name, new OptionHandler(apply, mayRefuse));
    }

    /// <summary>An independent copy: the server's own, so that the caller's later changes do not reach it.</summary>
    public ServerOptions Copy()
    {
        lock (ChangeLock)
        {
            var copy = (ServerOptions)MemberwiseClone();
            copy.Bind = [.. Bind];
            copy.Users = [.. Users];
            copy.RenamedCommands = [.. RenamedCommands];
            copy._kept = [.. _kept];
            copy.Origins = Origins.Copy();
            copy._handlers = [];
            copy.PackedLimits = PackedLimits.Copy();
            copy.Tls = Tls.Copy();
            copy.ChangeLock = new Lock();
            copy.RewriteLock = new Lock();
            return copy;
        }
    }

    /// <summary>Says what is wrong with values that were assigned from code.</summary>
    /// <returns>Null when all is well; else one line that names the option and what it takes.</returns>
    public string? Validate() => OptionTable.Validate(this);

    /// <summary>The value of an option in the form that CONFIG GET has, secrets too.</summary>
    /// <param name="name">As in a configuration file, such as maxmemory-policy.</param>
    /// <returns>Null: there is no such option.</returns>
    public string? Read(string name) => OptionTable.Find(name)?.Read(this);

    internal OptionHandler? HandlerOf(string name) => _handlers.GetValueOrDefault(name);

    internal object? ReadKept(int row)
    {
        var kept = Volatile.Read(ref _kept);        // a longer array replaces it whole
        return row < kept.Length ? Volatile.Read(ref kept[row]) : null;
    }

    internal void WriteKept(int row, object value)
    {
        if (row >= _kept.Length)
        {
            var longer = new object?[row + 1];
            _kept.CopyTo(longer, 0);
            Volatile.Write(ref _kept, longer);      // after the copy, so that a reader finds every old value in it
        }

        Volatile.Write(ref _kept[row], value);
    }
}
