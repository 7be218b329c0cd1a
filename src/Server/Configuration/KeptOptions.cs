namespace Kv.Server.Configuration;

/// <summary>
/// The options of the reference that have no effect here, or not yet. A file or command line may set them: they are
/// checked, stored and answered, and a line of the log says of each that it does nothing. CONFIG SET takes the default
/// and what the server does anyway (<see cref="Option.Harmless"/>): OK for anything else would be a promise.
/// </summary>
/// <remarks>An option that gains an effect moves to <see cref="HonouredOptions"/> and gets a property.</remarks>
internal static class KeptOptions
{
    private const string NothingSaved = "only SAVE and SHUTDOWN SAVE write to disk yet";
    private const string NoClientTls = "the server does not connect to others by TLS";
    private const string OwnSessions = "what is kept of sessions, and for how long, is decided by .NET";
    private const string AlwaysLazy = "large values are always freed later, by another thread";

    private static readonly NumberType Port = new(0, 65535);
    private static readonly NumberType Int32 = new(0, int.MaxValue);
    private static readonly NumberType Int64 = new(0, long.MaxValue);
    private static readonly BytesType Bytes = new(0, long.MaxValue);
    private static readonly YesNoType YesNo = YesNoType.Instance;
    private static readonly TextType Text = TextType.Any;

    internal static readonly Option[] Rows =
    [
        new Option<long>("active-defrag-cycle-max", new NumberType(1, 99), 25),
        new Option<long>("active-defrag-cycle-min", new NumberType(1, 99), 1),
        new Option<long>("active-defrag-ignore-bytes", new BytesType(1, long.MaxValue), 104857600),
        new Option<long>("active-defrag-max-scan-fields", new NumberType(1, long.MaxValue), 1000),
        new Option<long>("active-defrag-threshold-lower", new NumberType(0, 1000), 10),
        new Option<long>("active-defrag-threshold-upper", new NumberType(0, 1000), 100),
        new Option<long>("active-expire-effort", new NumberType(1, 10), 1)
        {
            Harmless = Option.AnyValue, Reason = "what has expired is looked for as fast as it expires",
        },
        new Option<bool>("activedefrag", YesNo, false) { Reason = "memory goes back to the system by itself" },
        new Option<bool>("activerehashing", YesNo, true),
        new Option<bool>("always-show-logo", YesNo, false) { Change = OptionChange.AtStart },
        new Option<bool>("aof-rewrite-incremental-fsync", YesNo, true),
        new Option<string>("aof_rewrite_cpulist", Text, "")
        {
            Change = OptionChange.AtStart, Aliases = ["aof-rewrite-cpulist"],
        },
        new Option<string>("bgsave_cpulist", Text, "")
        {
            Change = OptionChange.AtStart, Aliases = ["bgsave-cpulist"],
        },
        new Option<string>("bind-source-addr", Text, ""),
        new Option<string>("bio_cpulist", Text, "")
        {
            Change = OptionChange.AtStart, Aliases = ["bio-cpulist"],
        },
        new Option<bool>("cluster-allow-pubsubshard-when-down", YesNo, true),
        new Option<bool>("cluster-allow-reads-when-down", YesNo, false),
        new Option<bool>("cluster-allow-replica-migration", YesNo, true),
        new Option<long>("cluster-announce-bus-port", Port, 0),
        new Option<string>("cluster-announce-hostname", new TextType("host name", HostName), ""),
        new Option<string>("cluster-announce-human-nodename", Text, ""),
        new Option<string>("cluster-announce-ip", Text, ""),
        new Option<long>("cluster-announce-port", Port, 0),
        new Option<long>("cluster-announce-tls-port", Port, 0),
        new Option<string>("cluster-config-file", Text, "nodes.conf") { Change = OptionChange.AtStart },
        new Option<long>("cluster-link-sendbuf-limit", Bytes, 0),
        new Option<long>("cluster-migration-barrier", Int32, 1),
        new Option<long>("cluster-node-timeout", Int64, 15000),
        new Option<long>("cluster-port", Port, 0) { Change = OptionChange.AtStart },
        new Option<string>("cluster-preferred-endpoint-type", Words("ip", "hostname", "unknown-endpoint"), "ip"),
        new Option<bool>("cluster-replica-no-failover", YesNo, false) { Aliases = ["cluster-slave-no-failover"] },
        new Option<long>("cluster-replica-validity-factor", Int32, 10) { Aliases = ["cluster-slave-validity-factor"] },
        new Option<bool>("cluster-require-full-coverage", YesNo, true),
        new Option<bool>("crash-memcheck-enabled", YesNo, true) { Harmless = "no" },
        new Option<bool>("disable-thp", YesNo, true) { Change = OptionChange.AtStart },
        new Option<bool>("dynamic-hz", YesNo, true),
        new Option<string>("enable-module-command", Words("no", "yes", "local"), "no")
        {
            Change = OptionChange.AtStart,
        },
        new Option<bool>("hide-user-data-from-log", YesNo, false) { Harmless = "yes",
            Reason = "no line of the log has keys or values" },
        new Option<long>("hz", Int32, o => o.Hz, (o, v) => o.Hz = (int)Math.Clamp(v, 1, 500))
        {
            Class = OptionClass.Kept, Change = OptionChange.Live, Reason = "background work goes by its own clock",
        },
        new Option<string>("ignore-warnings", Text, ""),
        new Option<bool>("io-threads-do-reads", YesNo, false) { Change = OptionChange.AtStart },
        new Option<bool>("jemalloc-bg-thread", YesNo, true) { Harmless = "no" },
        new Option<bool>("lazyfree-lazy-eviction", YesNo, false) { Harmless = "yes", Reason = AlwaysLazy },
        new Option<bool>("lazyfree-lazy-expire", YesNo, false) { Harmless = "yes", Reason = AlwaysLazy },
        new Option<bool>("lazyfree-lazy-server-del", YesNo, false) { Harmless = "yes", Reason = AlwaysLazy },
        new Option<bool>("lazyfree-lazy-user-del", YesNo, false) { Harmless = "yes", Reason = AlwaysLazy },
        new Option<bool>("lazyfree-lazy-user-flush", YesNo, false) { Harmless = "yes", Reason = AlwaysLazy },
        new Option<long>("list-compress-depth", Int32, 0),
        new Option<string>("locale-collate", Text, "") { Harmless = "C",
            Reason = "SORT goes by bytes, as in the locale C" },
        new Option<string>("masterauth", Text, "") { IsSecret = true },
        new Option<string>("masteruser", Text, "") { IsSecret = true },
        new Option<long>("max-new-connections-per-cycle", new NumberType(1, 1000), 10),
        new Option<long>("max-new-tls-connections-per-cycle", new NumberType(1, 1000), 1),
        new Option<long>("maxmemory-eviction-tenacity", new NumberType(0, 100), 10)
        {
            Harmless = Option.AnyValue, Reason = "a thread of the store evicts, as much as writers need",
        },
        new Option<long>("maxmemory-samples", new NumberType(1, int.MaxValue), 5)
        {
            Harmless = Option.AnyValue, Reason = "whole segments of keys are compared, not samples",
        },
        new Option<long>("min-replicas-max-lag", Int32, 10) { Aliases = ["min-slaves-max-lag"] },
        new Option<string>("oom-score-adj", Words("no", "yes", "relative", "absolute"), "no"),
        new Option<string>("oom-score-adj-values", new OomScoresType(), "0 200 800"),
        new Option<string>("proc-title-template", Text, "{title} {listen-addr} {server-mode}"),
        new Option<string>("propagation-error-behavior", Words("ignore", "panic", "panic-on-replicas"), "ignore"),
        new Option<bool>("rdb-del-sync-files", YesNo, false),
        new Option<bool>("rdb-save-incremental-fsync", YesNo, true),
        new Option<bool>("repl-disable-tcp-nodelay", YesNo, false),
        new Option<string>("repl-diskless-load", Words("disabled", "on-empty-db", "swapdb"), "disabled"),
        new Option<bool>("repl-diskless-sync", YesNo, true),
        new Option<long>("repl-diskless-sync-delay", Int32, 5),
        new Option<long>("repl-diskless-sync-max-replicas", Int32, 0),
        new Option<string>("replica-announce-ip", Text, "") { Aliases = ["slave-announce-ip"] },
        new Option<long>("replica-announce-port", Port, 0) { Aliases = ["slave-announce-port"] },
        new Option<bool>("replica-announced", YesNo, true),
        new Option<bool>("replica-ignore-disk-write-errors", YesNo, false),
        new Option<bool>("replica-ignore-maxmemory", YesNo, true) { Aliases = ["slave-ignore-maxmemory"] },
        new Option<bool>("replica-lazy-flush", YesNo, false) { Aliases = ["slave-lazy-flush"] },
        new Option<long>("replica-priority", Int32, 100) { Aliases = ["slave-priority"] },
        new Option<bool>("replica-read-only", YesNo, true) { Aliases = ["slave-read-only"] },
        new Option<bool>("replica-serve-stale-data", YesNo, true) { Aliases = ["slave-serve-stale-data"] },
        new Option<string>("sanitize-dump-payload", Words("no", "yes", "clients"), "no")
        {
            Harmless = "yes,clients", Reason = "RESTORE always checks all of a payload",
        },
        new Option<string>("server_cpulist", Text, "")
        {
            Change = OptionChange.AtStart, Aliases = ["server-cpulist"],
        },
        new Option<bool>("set-proc-title", YesNo, true) { Change = OptionChange.AtStart },
        new Option<string>("shutdown-on-sigint", new ShutdownWordsType(), "default")
        {
            Harmless = "nosave", Reason = "SIGINT does what shutdown-on-sigterm says",
        },
        new Option<long>("socket-mark-id", new NumberType(0, uint.MaxValue), 0) { Change = OptionChange.AtStart },
        new Option<string>("tls-client-cert-file", Text, "")
        {
            Change = OptionChange.Protected, Reason = NoClientTls,
        },
        new Option<string>("tls-client-key-file", Text, "")
        {
            Change = OptionChange.Protected, Reason = NoClientTls,
        },
        new Option<string>("tls-client-key-file-pass", Text, "") { IsSecret = true, Reason = NoClientTls },
        new Option<string>("tls-dh-params-file", Text, "")
        {
            Change = OptionChange.Protected, Reason = "keys are agreed upon by elliptic curves",
        },
        new Option<bool>("tls-prefer-server-ciphers", YesNo, false)
        {
            Harmless = "yes", Reason = "the server's order of cipher suites always counts",
        },
        new Option<long>("tls-session-cache-size", Int32, 20480) { Reason = OwnSessions },
        new Option<long>("tls-session-cache-timeout", Int32, 300) { Reason = OwnSessions },
    ];

    private static WordType<string> Words(params string[] words) => new(RefusedOptions.Same(words));

    // A path here would let whoever may set the option write outside of the data directory.
    internal static TextType FileName(string option, string kind) => new(
        kind, text => text.Contains('/', StringComparison.Ordinal) ? $"{option} can't be a path, just a {kind}" : null);

    private static string? HostName(string text) =>
        text.Length > 255 ? "Hostnames must be less than 256 characters"
        : text.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '.') ? null
        : "Hostnames may only contain alphanumeric characters, hyphens or dots";
}
