using System.Net;
using System.Runtime.InteropServices;
using Kv.Server.Configuration;

namespace Kv.Server.Reports;

/// <summary>Metrics of the program and the process: the first section of INFO.</summary>
internal static class ServerMetrics
{
    private static readonly string Os =
        $"{(OperatingSystem.IsLinux() ? "Linux" : RuntimeInformation.OSDescription)} {Environment.OSVersion.Version} "
        + $"{RuntimeInformation.OSArchitecture.ToString().ToLowerInvariant()}";

    private static readonly string Runtime = RuntimeInformation.FrameworkDescription;

    public static readonly Metric[] Rows =
    [
        new("redis_version", MetricKind.Fact, "Whose commands are spoken; clients switch features on it",
            r => ServerVersion.RedisVersion),
        new("redis_git_sha1", MetricKind.Fact, "Always zeros", r => "00000000"),
        new("redis_git_dirty", MetricKind.Fact, "Always 0", r => 0),
        new("redis_build_id", MetricKind.Fact, "Always 0", r => "0"),
        new("kv_version", MetricKind.Fact, "This program's own version", r => ServerVersion.KvVersion),
        new("redis_mode", MetricKind.Fact, "standalone or cluster", r => "standalone"),
        new("os", MetricKind.Fact, "System, release and processor", r => Os),
        new("arch_bits", MetricKind.Fact, "Bits of an address", r => nint.Size * 8),
        new("monotonic_clock", MetricKind.Fact, "The clock of intervals", r => "POSIX clock_gettime"),
        new("multiplexing_api", MetricKind.Fact, "The transport that serves the sockets", r => r.Server.Transport),
        new("atomicvar_api", MetricKind.Fact, "What atomic operations are made of", r => "dotnet"),
        new("gcc_version", MetricKind.Fact, "No C compiler made it", r => "0.0.0"),
        new("kv_runtime", MetricKind.Fact, "The .NET runtime", r => Runtime),
        new("process_id", MetricKind.Fact, "Of the process the server runs in", r => Environment.ProcessId)
            { Page = "redis_process_id" },
        new("process_supervised", MetricKind.Fact, "Which supervisor is told of starts and stops", r => "no"),
        new("run_id", MetricKind.Fact, "40 random hexadecimal digits, new at each start", r => r.Server.RunId),
        new("tcp_port", MetricKind.Fact, "The port that is listened on, that for TLS if it is the only one; 0 for none",
            r => r.Server.Endpoints.OfType<IPEndPoint>().FirstOrDefault()?.Port ?? 0),
        new("server_time_usec", MetricKind.Gauge, "Unix time in microseconds", r => r.UnixMicroseconds),
        new("uptime_in_seconds", MetricKind.Counter, "Since the start", r => r.UptimeSeconds)
            { Page = "redis_uptime_in_seconds" },
        new("uptime_in_days", MetricKind.Counter, "Since the start", r => r.UptimeSeconds / 86400),
        new("hz", MetricKind.Gauge, "Background turns a second", r => r.Options.Hz) { Page = "redis_hz" },
        new("configured_hz", MetricKind.Gauge, "The same: it does not adapt", r => r.Options.Hz)
            { Page = "redis_configured_hz" },
        new("lru_clock", MetricKind.Gauge, "Unix seconds, 24 bits", r => r.UnixMicroseconds / 1_000_000 & 0xFFFFFF),
        new("executable", MetricKind.Fact, "Path of the program", r => Environment.ProcessPath ?? ""),
        new("config_file", MetricKind.Fact, "Path of the configuration file, empty for none",
            r => r.Options.ConfigFile),
        new("io_threads_active", MetricKind.Fact, "1 when more than one worker serves clients",
            r => r.Server.Workers > 1) { Page = "redis_io_threads_active" },
        new("kv_tls_certificate_end", MetricKind.Gauge,
            "Unix time at which the server's certificate for TLS expires; 0 for none",
            r => r.Server.Tls.Current is { } tls
                ? new DateTimeOffset(tls.Certificate.NotAfter.ToUniversalTime()).ToUnixTimeSeconds() : 0)
            { Page = "kv_tls_certificate_end_seconds" },
        new("kv_workers", MetricKind.Fact, "Threads that serve clients", r => r.Server.Workers) { Page = "kv_workers" },
    ];
}
