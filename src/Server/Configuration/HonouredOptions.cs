using Kv.Storage;

namespace Kv.Server.Configuration;

/// <summary>The options that have an effect, in the order of <c>--help</c>.</summary>
internal static class HonouredOptions
{
    private const long KeyBytesMax = 512L << 20;        // no key or value is longer, see ServerOptions.ProtoMaxBulkLen

    internal static readonly WordType<AllowedFor> AllowedForType = new(
        ("no", AllowedFor.No), ("yes", AllowedFor.Yes), ("local", AllowedFor.Local));

    private static readonly NumberType Port = new(0, 65535);
    private static readonly NumberType Int32 = new(0, int.MaxValue);
    private static readonly NumberType Int64 = new(0, long.MaxValue);
    private static readonly BytesType Bytes = new(0, long.MaxValue);

    internal static readonly Option[] Rows =
    [
        new Option<long>("port", Port, o => o.Port, (o, v) => o.Port = (int)v)
        {
            Summary = "TCP port; 0 at start takes a free one (none with tls-port), later it ends TCP",
            Change = OptionChange.ByHandler,
        },
        new Option<IReadOnlyList<string>>("bind", new BindType(), o => o.Bind, (o, v) => o.Bind = v)
        {
            Summary = "addresses to listen on; - before one that may be missing", Change = OptionChange.ByHandler,
        },
        new Option<string>("unixsocket", new TextType("path"), o => o.UnixSocket, (o, v) => o.UnixSocket = v)
        {
            Summary = "listen on a unix socket as well",
        },
        new Option<long>("unixsocketperm", new OctalType(511), o => o.UnixSocketPerm,
            (o, v) => o.UnixSocketPerm = (int)v)
        {
            Summary = "its permissions",
        },
        new Option<string>("requirepass", new TextType("password"), o => o.RequirePass, (o, v) => o.RequirePass = v)
        {
            Summary = "password that clients must give", Change = OptionChange.Live, IsSecret = true,
                Switches = ["password"],
        },
        new Option<string>("aclfile", new TextType("path"), o => o.AclFile, (o, v) => o.AclFile = v)
        {
            Summary = "file of users, read at start; ACL LOAD and ACL SAVE use it",
        },
        new Option<IReadOnlyList<string>>("user", new UsersType(), o => o.Users, (o, v) => o.Users = v)
        {
            Summary = "a user and what it may do; one line each", IsSecret = true, IsLineOnly = true,
        },
        new Option<IReadOnlyList<string>>("rename-command", new RenamesType(), o => o.RenamedCommands,
            (o, v) => o.RenamedCommands = v)
        {
            Summary = "another name for a command; \"\" takes it away", IsStartOnly = true,
        },
        new Option<ChannelDefault>("acl-pubsub-default",
            new WordType<ChannelDefault>(("allchannels", ChannelDefault.AllChannels),
                ("resetchannels", ChannelDefault.ResetChannels)),
            o => o.AclPubSubDefault, (o, v) => o.AclPubSubDefault = v)
        {
            Summary = "which channels a new user may use", Change = OptionChange.Live,
        },
        new Option<long>("acllog-max-len", Int64, o => o.AclLogMaxLen, (o, v) => o.AclLogMaxLen = v)
        {
            Summary = "entries that ACL LOG keeps", Change = OptionChange.Live,
        },
        new Option<string>("auth", new WordType<string>(("Password", "password"), ("NoAuth", "noauth")),
            o => o.RequirePass.Length > 0 ? "password" : "noauth", (_, _) => { })
        {
            Summary = "accepted for Garnet's command lines; --password decides", IsStartOnly = true,
        },
        new Option<bool>("protected-mode", YesNoType.Instance, o => o.ProtectedMode, (o, v) => o.ProtectedMode = v)
        {
            Summary = "without a password serve this machine only", Change = OptionChange.Live,
        },
        new Option<AllowedFor>("http-on-port", AllowedForType, o => o.HttpOnPort, (o, v) => o.HttpOnPort = v)
        {
            Summary = "who gets the web page, /metrics, /healthz and /readyz by HTTP on port",
            Change = OptionChange.Live,
        },
        new Option<long>("metrics-port", Port, o => o.MetricsPort, (o, v) => o.MetricsPort = (int)v)
        {
            Summary = "port for the web page and /metrics only; figures need no password; 0 for none",
        },
        new Option<long>("maxclients", new NumberType(1, int.MaxValue), o => o.MaxClients,
            (o, v) => o.MaxClients = (int)v)
        {
            Summary = "clients served at once; a few more places wait for local administrators",
                Change = OptionChange.Live,
        },
        new Option<long>("timeout", Int32, o => o.Timeout, (o, v) => o.Timeout = (int)v)
        {
            Summary = "seconds until an idle client is closed; 0 never", Change = OptionChange.Live,
        },
        new Option<long>("auth-timeout", Int32, o => o.AuthTimeout, (o, v) => o.AuthTimeout = (int)v)
        {
            Summary = "seconds a client has for AUTH; 0 for ever", Change = OptionChange.Live,
        },
        new Option<long>("tcp-keepalive", Int32, o => o.TcpKeepAlive, (o, v) => o.TcpKeepAlive = (int)v)
        {
            Summary = "seconds of silence before a peer is probed; 0 never", Change = OptionChange.Live,
        },
        new Option<long>("tcp-backlog", Int32, o => o.TcpBacklog, (o, v) => o.TcpBacklog = (int)v)
        {
            Summary = "connections waiting to be accepted", Change = OptionChange.ByHandler,
        },
        new Option<long>("worker-threads", new NumberType(0, 256), o => o.WorkerThreads,
            (o, v) => o.WorkerThreads = (int)v)
        {
            Summary = "threads that serve clients; 0 takes the CPUs allowed", Aliases = ["io-threads"],
        },
        new Option<long>("worker-spin-us", new NumberType(0, 1_000_000), o => o.WorkerSpinUs,
            (o, v) => o.WorkerSpinUs = (int)v)
        {
            Summary = "microseconds an idle thread polls before it sleeps", Change = OptionChange.Live,
        },
        new Option<TransportKind>("transport",
            new WordType<TransportKind>(("epoll", TransportKind.Epoll), ("pipelines", TransportKind.Pipelines)),
            o => o.Transport, (o, v) => o.Transport = v)
        {
            Summary = "how sockets are served; epoll is Linux only",
        },
        new Option<long>("maxmemory", new BytesType(0, long.MaxValue), o => o.MaxMemory, (o, v) => o.MaxMemory = v)
        {
            Summary = "used_memory above which keys are evicted, or writes refused; 0 no limit",
                Change = OptionChange.Live,
                Switches = ["memory", "m"],
        },
        new Option<long>("maxmemory-clients", new BytesType(0, long.MaxValue, orPercent: true),
            o => o.MaxMemoryClients, (o, v) => o.MaxMemoryClients = v)
        {
            Summary = "what clients may hold, or % of maxmemory; beyond the largest go; 0 no limit",
                Change = OptionChange.Live,
        },
        new Option<MaxMemoryPolicy>("maxmemory-policy",
            new WordType<MaxMemoryPolicy>(
                ("volatile-lru", MaxMemoryPolicy.VolatileLru), ("volatile-lfu", MaxMemoryPolicy.VolatileLfu),
                ("volatile-random", MaxMemoryPolicy.VolatileRandom), ("volatile-ttl", MaxMemoryPolicy.VolatileTtl),
                ("allkeys-lru", MaxMemoryPolicy.AllKeysLru), ("allkeys-lfu", MaxMemoryPolicy.AllKeysLfu),
                ("allkeys-random", MaxMemoryPolicy.AllKeysRandom), ("noeviction", MaxMemoryPolicy.NoEviction)),
            o => o.MaxMemoryPolicy, (o, v) => o.MaxMemoryPolicy = v)
        {
            Summary = "what is evicted at maxmemory", Change = OptionChange.Live,
        },
        new Option<long>("lfu-log-factor", new NumberType(0, int.MaxValue), o => o.LfuLogFactor,
            (o, v) => o.LfuLogFactor = (int)v)
        {
            Summary = "how much rarer the use of a key counts the more it is used", Change = OptionChange.Live,
        },
        new Option<long>("lfu-decay-time", new NumberType(0, int.MaxValue), o => o.LfuDecayTime,
            (o, v) => o.LfuDecayTime = (int)v)
        {
            Summary = "minutes without use until a key's frequency fades; 0 never", Change = OptionChange.Live,
        },
        new Option<long>("hash-max-listpack-entries", Int64, o => o.PackedLimits.HashEntries,
            (o, v) => o.PackedLimits.HashEntries = v)
        {
            Summary = "most fields of a hash that is kept packed", Change = OptionChange.Live,
                Aliases = ["hash-max-ziplist-entries"],
        },
        new Option<long>("hash-max-listpack-value", Bytes, o => o.PackedLimits.HashBytes,
            (o, v) => o.PackedLimits.HashBytes = v)
        {
            Summary = "most bytes of a field or value of one", Change = OptionChange.Live,
                Aliases = ["hash-max-ziplist-value"],
        },
        new Option<long>("list-max-listpack-size", new NumberType(int.MinValue, int.MaxValue),
            o => o.PackedLimits.ListSize, (o, v) => o.PackedLimits.ListSize = v)
        {
            Summary = "elements of a packed list, or -1 to -5: 4 KB to 64 KB", Change = OptionChange.Live,
                Aliases = ["list-max-ziplist-size"],
        },
        new Option<long>("set-max-intset-entries", Int64, o => o.PackedLimits.IntegerSetEntries,
            (o, v) => o.PackedLimits.IntegerSetEntries = v)
        {
            Summary = "most members of a set of integers that is kept as an array", Change = OptionChange.Live,
        },
        new Option<long>("set-max-listpack-entries", Int64, o => o.PackedLimits.SetEntries,
            (o, v) => o.PackedLimits.SetEntries = v)
        {
            Summary = "most members of a set that is kept packed", Change = OptionChange.Live,
        },
        new Option<long>("set-max-listpack-value", Bytes, o => o.PackedLimits.SetBytes,
            (o, v) => o.PackedLimits.SetBytes = v)
        {
            Summary = "most bytes of a member of one", Change = OptionChange.Live,
        },
        new Option<long>("zset-max-listpack-entries", Int64, o => o.PackedLimits.SortedSetEntries,
            (o, v) => o.PackedLimits.SortedSetEntries = v)
        {
            Summary = "most members of a sorted set that is kept packed", Change = OptionChange.Live,
                Aliases = ["zset-max-ziplist-entries"],
        },
        new Option<long>("zset-max-listpack-value", Bytes, o => o.PackedLimits.SortedSetBytes,
            (o, v) => o.PackedLimits.SortedSetBytes = v)
        {
            Summary = "most bytes of a member of one", Change = OptionChange.Live, Aliases = ["zset-max-ziplist-value"],
        },
        new Option<bool>("aof-use-rdb-preamble", YesNoType.Instance, o => o.AofUseRdbPreamble,
            (o, v) => o.AofUseRdbPreamble = v)
        {
            Summary = "base of the append-only file: a snapshot; no: commands",
            Change = OptionChange.Live,
        },
        new Option<bool>("rdbcompression", YesNoType.Instance, o => o.RdbCompression, (o, v) => o.RdbCompression = v)
        {
            Summary = "compress strings of over 20 bytes in snapshots and in what DUMP answers",
            Change = OptionChange.Live,
        },
        new Option<bool>("rdbchecksum", YesNoType.Instance, o => o.RdbChecksum, (o, v) => o.RdbChecksum = v)
        {
            Summary = "end snapshots with a checksum, and compare it when one is loaded",
            Change = OptionChange.AtStart,
        },
        new Option<string>("save", new SaveType(), o => o.Save, (o, v) => o.Save = v)
        {
            Summary = "seconds and changes that begin a snapshot; \"\": none do",
            Change = OptionChange.Live,
        },
        new Option<bool>("stop-writes-on-bgsave-error", YesNoType.Instance, o => o.StopWritesOnBgsaveError,
            (o, v) => o.StopWritesOnBgsaveError = v)
        {
            Summary = "refuse writes while snapshots cannot be written", Change = OptionChange.Live,
        },
        new Option<string>("shutdown-on-sigterm", new ShutdownWordsType(), o => o.ShutdownOnSigterm,
            (o, v) => o.ShutdownOnSigterm = v)
        {
            Summary = "save, nosave, now, force; default: save if there are save points", Change = OptionChange.Live,
        },
        new Option<string>("dbfilename", KeptOptions.FileName("dbfilename", "filename"), o => o.DbFilename,
            (o, v) => o.DbFilename = v)
        {
            Summary = "name of the snapshot in dir, which the start loads", Change = OptionChange.Protected,
        },
        .. AppendOptionRows.Rows,
        new Option<long>("stream-node-max-bytes", Bytes, o => o.PackedLimits.StreamNodeBytes,
            (o, v) => o.PackedLimits.StreamNodeBytes = v)
        {
            Summary = "most bytes of a stream's node, as Redis counts them; 0 any number", Change = OptionChange.Live,
        },
        new Option<long>("stream-node-max-entries", Int64, o => o.PackedLimits.StreamNodeEntries,
            (o, v) => o.PackedLimits.StreamNodeEntries = v)
        {
            Summary = "most entries of one, also deleted ones; 0 any number", Change = OptionChange.Live,
        },
        new Option<long>("index", new BytesType(0, 1L << 40), o => o.IndexBytes, (o, v) => o.IndexBytes = v)
        {
            Summary = "bytes of index set aside at start; 0 starts small and grows", Switches = ["i"],
        },
        new Option<long>("databases", new NumberType(1, 10_000), o => o.Databases, (o, v) => o.Databases = (int)v)
        {
            Summary = "databases that SELECT can reach",
        },
        new Option<long>("hll-sparse-max-bytes", new BytesType(0, long.MaxValue), o => o.HllSparseMaxBytes,
            (o, v) => o.HllSparseMaxBytes = v)
        {
            Summary = "longest HyperLogLog that stays sparse", Change = OptionChange.Live,
        },
        new Option<bool>("no-pubsub", YesNoType.Instance, o => o.NoPubSub, (o, v) => o.NoPubSub = v)
        {
            Summary = "refuse the publish/subscribe commands", IsSwitch = true,
        },
        new Option<bool>("no-obj", YesNoType.Instance, o => o.NoObj, (o, v) => o.NoObj = v)
        {
            Summary = "refuse the commands of lists, hashes, sets and the like", IsSwitch = true,
        },
        new Option<long>("proto-max-bulk-len", new BytesType(1 << 20, KeyBytesMax),
            o => o.ProtoMaxBulkLen, (o, v) => o.ProtoMaxBulkLen = v)
        {
            Summary = "longest argument and value", Change = OptionChange.Live,
        },
        new Option<long>("proto-max-args", new NumberType(16, 16 << 20), o => o.ProtoMaxArgs,
            (o, v) => o.ProtoMaxArgs = (int)v)
        {
            Summary = "most arguments of a command", Change = OptionChange.Live,
        },
        new Option<long>("subscription-limit", new NumberType(1, int.MaxValue),
            o => o.SubscriptionLimit, (o, v) => o.SubscriptionLimit = (int)v)
        {
            Summary = "most subscriptions of a client", Change = OptionChange.Live,
        },
        new Option<long>("multi-queue-limit", new BytesType(64 << 10, long.MaxValue), o => o.MultiQueueLimit,
            (o, v) => o.MultiQueueLimit = v)
        {
            Summary = "bytes of queued commands of a transaction", Change = OptionChange.Live,
        },
        new Option<long>("watch-limit", new NumberType(1, int.MaxValue), o => o.WatchLimit,
            (o, v) => o.WatchLimit = (int)v)
        {
            Summary = "most keys that a client watches", Change = OptionChange.Live,
        },
        new Option<long>("feed-buffer-limit", new BytesType(1 << 20, long.MaxValue), o => o.FeedBufferLimit,
            (o, v) => o.FeedBufferLimit = v)
        {
            Summary = "bytes on their way to disk and replicas, at most max(4 MB, maxmemory / 8)",
            Change = OptionChange.Live,
        },
        new Option<long>("repl-backlog-size", new BytesType(1, long.MaxValue), o => o.ReplBacklogSize,
            (o, v) => o.ReplBacklogSize = v)
        {
            Summary = "bytes of the stream kept for replicas that come back", Change = OptionChange.Live,
        },
        new Option<long>("repl-backlog-ttl", Int64, o => o.ReplBacklogTtlSeconds,
            (o, v) => o.ReplBacklogTtlSeconds = v)
        {
            Summary = "seconds without replicas before the stream ends; 0 never", Change = OptionChange.Live,
        },
        new Option<long>("repl-ping-replica-period", new NumberType(1, int.MaxValue), o => o.ReplPingPeriodSeconds,
            (o, v) => o.ReplPingPeriodSeconds = (int)v)
        {
            Summary = "seconds between PINGs to idle replicas", Change = OptionChange.Live,
            Aliases = ["repl-ping-slave-period"],
        },
        new Option<long>("repl-timeout", new NumberType(1, int.MaxValue), o => o.ReplTimeoutSeconds,
            (o, v) => o.ReplTimeoutSeconds = (int)v)
        {
            Summary = "seconds until a replica that is silent is disconnected",
            Change = OptionChange.Live,
        },
        new Option<long>("busy-reply-threshold", Int64, o => o.BusyReplyThreshold, (o, v) => o.BusyReplyThreshold = v)
        {
            Summary = "milliseconds of a script before others are told BUSY; 0 never",
            Change = OptionChange.Live, Aliases = ["lua-time-limit"],
        },
        new Option<long>("script-time-limit", Int64, o => o.ScriptTimeLimit, (o, v) => o.ScriptTimeLimit = v)
        {
            Summary = "milliseconds a script may run that has changed nothing; 0 any time", Change = OptionChange.Live,
        },
        new Option<long>("script-memory-limit", new BytesType(1 << 20, int.MaxValue), o => o.ScriptMemoryLimit,
            (o, v) => o.ScriptMemoryLimit = v)
        {
            Summary = "bytes a running script may hold",
        },
        new Option<long>("script-cache-limit", Bytes, o => o.ScriptCacheLimit, (o, v) => o.ScriptCacheLimit = v)
        {
            Summary = "bytes of scripts that EVAL brought and that stay known", Change = OptionChange.Live,
        },
        new Option<long>("proto-inline-max-size", new BytesType(1 << 10, 64 << 20),
            o => o.ProtoInlineMaxSize, (o, v) => o.ProtoInlineMaxSize = (int)v)
        {
            Summary = "longest inline command", Change = OptionChange.Live,
        },
        new Option<long>("max-key-bytes", new BytesType(1, KeyBytesMax), o => o.MaxKeyBytes,
            (o, v) => o.MaxKeyBytes = v)
        {
            Summary = "longest key", Change = OptionChange.Live,
        },
        new Option<long>("max-reply-bytes", new BytesType(1 << 20, long.MaxValue), o => o.MaxReplyBytes,
            (o, v) => o.MaxReplyBytes = v)
        {
            Summary = "longest reply; of messages: client-output-buffer-limit", Change = OptionChange.Live,
        },
        new Option<long>("client-query-buffer-limit", new BytesType(1 << 20, long.MaxValue),
            o => o.ClientQueryBufferLimit, (o, v) => o.ClientQueryBufferLimit = v)
        {
            Summary = "input a client may have waiting; at most 2,047 MB of it not parsed yet",
            Change = OptionChange.Live,
        },
        new Option<long>("client-output-pause", new BytesType(64 << 10, long.MaxValue),
            o => o.ClientOutputPause, (o, v) => o.ClientOutputPause = v)
        {
            Summary = "unread output at which a client's commands wait", Change = OptionChange.Live,
        },
        new Option<OutputBufferLimits>("client-output-buffer-limit", new BufferLimitsType(),
            o => o.ClientOutputBufferLimit, (o, v) => o.ClientOutputBufferLimit = v)
        {
            Summary = "unread output at which a client is closed, by class", Change = OptionChange.Live,
        },
        new Option<AllowedFor>("enable-debug-command", AllowedForType,
            o => o.EnableDebugCommand, (o, v) => o.EnableDebugCommand = v)
        {
            Summary = "who may use DEBUG",
        },
        new Option<AllowedFor>("enable-protected-configs", AllowedForType,
            o => o.EnableProtectedConfigs, (o, v) => o.EnableProtectedConfigs = v)
        {
            Summary = "who may CONFIG SET options that name files",
        },
        new Option<string>("notify-keyspace-events", new EventLettersType(), o => o.NotifyKeyspaceEvents,
            (o, v) => o.NotifyKeyspaceEvents = v)
        {
            Summary = "which events of keys are published: K, E, and letters of classes",
                Change = OptionChange.Live,
        },
        new Option<long>("slowlog-log-slower-than", new NumberType(-1, long.MaxValue),
            o => o.SlowlogLogSlowerThan, (o, v) => o.SlowlogLogSlowerThan = v)
        {
            Summary = "microseconds from which on SLOWLOG shows a command; -1 none", Change = OptionChange.Live,
        },
        new Option<long>("slowlog-max-len", new NumberType(0, long.MaxValue), o => o.SlowlogMaxLen,
            (o, v) => o.SlowlogMaxLen = v)
        {
            Summary = "commands that SLOWLOG keeps", Change = OptionChange.Live,
        },
        new Option<long>("tracking-table-max-keys", new NumberType(0, long.MaxValue), o => o.TrackingTableMaxKeys,
            (o, v) => o.TrackingTableMaxKeys = v)
        {
            Summary = "keys that CLIENT TRACKING remembers; 0 no limit", Change = OptionChange.Live,
        },
        new Option<long>("latency-monitor-threshold", new NumberType(0, long.MaxValue),
            o => o.LatencyMonitorThreshold, (o, v) => o.LatencyMonitorThreshold = v)
        {
            Summary = "milliseconds from which on LATENCY shows what took long; 0 none", Change = OptionChange.Live,
        },
        new Option<bool>("latency-tracking", YesNoType.Instance,
            o => o.LatencyTracking, (o, v) => o.LatencyTracking = v)
        {
            Summary = "keep histograms of how long commands take", Change = OptionChange.Live,
        },
        new Option<string>("latency-tracking-info-percentiles", new PercentilesType(),
            o => o.LatencyTrackingInfoPercentiles, (o, v) => o.LatencyTrackingInfoPercentiles = v)
        {
            Summary = "percentiles that INFO latencystats shows", Change = OptionChange.Live,
        },
        new Option<LogVerbosity>("loglevel",
            new WordType<LogVerbosity>(("debug", LogVerbosity.Debug), ("verbose", LogVerbosity.Verbose),
                ("notice", LogVerbosity.Notice), ("warning", LogVerbosity.Warning), ("nothing", LogVerbosity.Nothing)),
            o => o.LogLevel, (o, v) => o.LogLevel = v)
        {
            Summary = "least important lines to log", Change = OptionChange.Live,
        },
        new Option<string>("logfile", new TextType("path"), o => o.LogFile, (o, v) => o.LogFile = v)
        {
            Summary = "log to a file; \"\" is standard output",
        },
        new Option<LogFormat>("log-format",
            new WordType<LogFormat>(("text", LogFormat.Text), ("json", LogFormat.Json), ("logfmt", LogFormat.Logfmt)),
            o => o.LogFormat, (o, v) => o.LogFormat = v)
        {
            Summary = "how a line of the log is written", Change = OptionChange.Live,
        },
        new Option<bool>("syslog-enabled", YesNoType.Instance, o => o.SyslogEnabled, (o, v) => o.SyslogEnabled = v)
        {
            Summary = "log to the system's log as well",
        },
        new Option<string>("syslog-ident", TextType.Any, o => o.SyslogIdent, (o, v) => o.SyslogIdent = v)
        {
            Summary = "what its lines begin with",
        },
        new Option<string>("syslog-facility",
            new WordType<string>(RefusedOptions.Same("user", "local0", "local1", "local2", "local3", "local4",
                "local5", "local6", "local7")),
            o => o.SyslogFacility, (o, v) => o.SyslogFacility = v)
        {
            Summary = "the facility of its lines",
        },
        new Option<string>("dir", new TextType("path", DirectoryExists), o => Path.GetFullPath(o.Dir),
            (o, v) => o.Dir = v)
        {
            Summary = "where the snapshot is, and where reports of crashes go", Change = OptionChange.Protected,
        },
        new Option<bool>("crash-log-enabled", YesNoType.Instance, o => o.CrashLogEnabled,
            (o, v) => o.CrashLogEnabled = v)
        {
            Summary = "write a report of a crash to the log and to a file in dir", Change = OptionChange.Live,
        },
        new Option<Supervision>("supervised",
            new WordType<Supervision>(("systemd", Supervision.Systemd), ("auto", Supervision.Auto),
                ("no", Supervision.No)),
            o => o.Supervised, (o, v) => o.Supervised = v)
        {
            Summary = "tell systemd how the server is, by the socket in NOTIFY_SOCKET",
        },
        new Option<string>("pidfile", new TextType("path"), o => o.PidFile, (o, v) => o.PidFile = v)
        {
            Summary = "file that holds the process id",
        },
        new Option<long>("shutdown-timeout", Int32, o => o.ShutdownTimeout, (o, v) => o.ShutdownTimeout = (int)v)
        {
            Summary = "seconds an orderly stop may take", Change = OptionChange.Live,
        },
    ];

    private static string? DirectoryExists(string path) => Directory.Exists(path) ? null : "No such file or directory";
}
