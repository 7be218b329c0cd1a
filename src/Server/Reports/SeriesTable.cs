using System.Globalization;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Metrics;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>What is on the page for Prometheus beside the rows of <see cref="MetricTable"/>: lists, and what
/// redis_exporter makes of several fields or of other commands. Names and labels are redis_exporter's; our own begin
/// with kv_.</summary>
internal static class SeriesTable
{
    /// <summary>Databases that are on the page with no keys, too, so that a graph falls to 0 and does not end. More
    /// are there while they have keys.</summary>
    private const int DatabasesAlways = 16;

    private const double Microsecond = 1e-6;

    /// <summary>Bounds on the page, as powers of two nanoseconds: a microsecond and a second.</summary>
    private const int LowestBound = 10, HighestBound = 30;

    public static readonly MetricSeries[] Rows =
    [
        new("redis_up", MetricKind.Gauge, "Always 1", r => 1),
        new("redis_instance_info", MetricKind.Gauge, "Always 1, with what does not change as labels",
            ["role", "redis_version", "redis_build_id", "redis_mode", "os", "maxmemory_policy", "tcp_port", "run_id",
                "process_id", "master_replid"],
            InstanceInfo),
        new("kv_info", MetricKind.Gauge, "Always 1: version, .NET runtime and transport as labels",
            ["version", "runtime", "transport"],
            r => [new Sample(1, ServerVersion.KvVersion, Field(r, "kv_runtime"), r.Server.Transport)]),
        new("redis_start_time_seconds", MetricKind.Gauge, "Unix time of the start",
            r => r.Server.Started.ToUnixTimeMilliseconds() / 1000.0),
        new("redis_config_maxclients", MetricKind.Gauge, "The option maxclients", r => r.Options.MaxClients),
        new("redis_config_maxmemory", MetricKind.Gauge, "The option maxmemory, in bytes; 0 for none",
            r => r.Options.MaxMemory),
        new("redis_config_io_threads", MetricKind.Gauge, "Threads that serve clients", r => r.Server.Workers),
        new("redis_slowlog_length", MetricKind.Gauge, "Entries of SLOWLOG", r => r.Server.SlowLog.Count),
        new("redis_slowlog_last_id", MetricKind.Gauge, "Number of the newest entry of SLOWLOG, 0 for none",
            r => r.Server.SlowLog.Last?.Id ?? 0),
        new("redis_last_slow_execution_duration_seconds", MetricKind.Gauge, "What the newest entry of SLOWLOG took",
            r => (r.Server.SlowLog.Last?.Microseconds ?? 0) * Microsecond),
        new("kv_memory_state", MetricKind.Gauge, "1 for the present kv_mem_state, 0 for the others", ["state"],
            r => Enum.GetValues<MemoryState>()
                .Select(state => new Sample(r.Server.MemoryWatch.State == state ? 1 : 0, Word(state)))),
        new("redis_commands_total", MetricKind.Counter, "Calls of a command", ["cmd"],
            r => ByCommand(r, counts => counts.Calls)),
        new("redis_commands_duration_seconds_total", MetricKind.Counter, "Time in which a command ran", ["cmd"],
            r => ByCommand(r, counts => counts.Microseconds * Microsecond)),
        new("redis_commands_rejected_calls_total", MetricKind.Counter, "Calls of a command that were refused", ["cmd"],
            r => ByCommand(r, counts => counts.Rejected)),
        new("redis_commands_failed_calls_total", MetricKind.Counter, "Calls of a command that ended with an error",
            ["cmd"], r => ByCommand(r, counts => counts.Failed)),
        new("redis_latency_percentiles_usec", MetricKind.Gauge,
            "Microseconds that so many percent of a command's calls did not exceed, since the start or a reset",
            ["cmd", "quantile"], Percentiles),
        new("redis_commands_latencies_usec_bucket", MetricKind.Counter,
            "Calls of a command that took up to so many microseconds", ["cmd", "le"], Buckets),
        new("redis_commands_latencies_usec_sum", MetricKind.Counter, "Microseconds of all calls of a command", ["cmd"],
            r => r.Latencies.Select(of => new Sample(of.Counts.Microseconds, of.Command))),
        new("redis_commands_latencies_usec_count", MetricKind.Counter, "Calls of a command that are in the buckets",
            ["cmd"], r => r.Latencies.Select(of => new Sample(of.Latencies.Total, of.Command))),
        new("redis_latency_spike_last", MetricKind.Gauge, "Unix time of the last sample of an event of LATENCY",
            ["event_name"], r => r.Server.Latency.All().Select(of => new Sample(of.Samples[^1].UnixSeconds, of.Name))),
        new("redis_latency_spike_duration_seconds", MetricKind.Gauge, "How long the last sample of an event took",
            ["event_name"],
            r => r.Server.Latency.All().Select(of => new Sample(of.Samples[^1].Milliseconds / 1000.0, of.Name))),
        new("redis_errors_total", MetricKind.Counter, "Replies that were errors, by their first word", ["err"],
            r => r.Server.Counters.Errors.OrderBy(error => error.Code, StringComparer.Ordinal)
                .Select(error => new Sample(error.Count, error.Code))),
        new("redis_db_keys", MetricKind.Gauge, "Keys of a database", ["db"], r => ByDatabase(r, r.Store.Count)),
        new("redis_db_keys_expiring", MetricKind.Gauge, "Keys of a database that have an expiry", ["db"],
            r => ByDatabase(r, r.Store.CountWithExpiry)),
        new("redis_db_avg_ttl_seconds", MetricKind.Gauge, "Mean time left to the keys that have an expiry", ["db"],
            r => ByDatabase(r, database => r.Store.AverageTtlMs(database) / 1000.0)),
        new("kv_db_keys_with_expiring_fields", MetricKind.Gauge, "Hashes that have fields with an expiry", ["db"],
            r => ByDatabase(r, r.Store.CountWithFieldExpiry)),
        new("kv_big_key_bytes", MetricKind.Gauge, "Memory of the largest key of a type, when it was last measured",
            ["type"], r => ByType(r, size => size.Bytes)),
        new("kv_big_key_elements", MetricKind.Gauge,
            "Elements of the key of a type that has the most, when it was last measured; bytes of a string", ["type"],
            r => ByType(r, size => size.Elements)),
    ];

    private static IEnumerable<Sample> ByType(ServerReading reading, Func<KeySize, long> read) =>
        from type in DataTypeName.All
        select new Sample(
            reading.BigKeys.Where(key => key.Size.Type == type).Select(key => read(key.Size)).DefaultIfEmpty().Max(),
            DataTypeName.TextOf(type));

    private static IEnumerable<Sample> InstanceInfo(ServerReading r) =>
    [
        new(1, Field(r, "role"), ServerVersion.RedisVersion, Field(r, "redis_build_id"), Field(r, "redis_mode"),
            Field(r, "os"), Field(r, "maxmemory_policy"), Field(r, "tcp_port"), r.Server.RunId,
            Environment.ProcessId.ToString(CultureInfo.InvariantCulture), Field(r, "master_replid")),
    ];

    private static string Field(ServerReading reading, string name) =>
        MetricTable.Rows.First(row => row.Name == name).Read(reading).ToString();

    private static IEnumerable<Sample> ByCommand(ServerReading reading, Func<CommandCounts, double> read) =>
        reading.Commands.Select(called => new Sample(read(called.Counts), called.Command.FullName));

    private static IEnumerable<Sample> Percentiles(ServerReading reading)
    {
        var percentiles = LatencyPercentile.Of(reading.Options);
        return from of in reading.Latencies
            from percentile in percentiles
            select new Sample(of.Latencies.AtPercentile(percentile.Percent) / 1000.0, of.Command, percentile.Text);
    }

    // Those of LATENCY HISTOGRAM; all of them always, so that rates of each can be had from the first call on.
    private static IEnumerable<Sample> Buckets(ServerReading reading)
    {
        foreach (var (command, latencies, _) in reading.Latencies)
        {
            long all = 0;
            foreach (var (exponent, count) in latencies.Cumulative(LowestBound))
            {
                all = count;
                if (exponent > HighestBound) continue;
                string bound = LatencyHistogram.ShownMicroseconds(exponent).ToString(CultureInfo.InvariantCulture);
                yield return new Sample(count, command, bound);
            }

            yield return new Sample(all, command, "+Inf");
        }
    }

    private static IEnumerable<Sample> ByDatabase(ServerReading reading, Func<int, double> read) =>
        from database in reading.Databases(DatabasesAlways)
        select new Sample(read(database), string.Create(CultureInfo.InvariantCulture, $"db{database}"));

    private static IEnumerable<Sample> ByDatabase(ServerReading reading, Func<int, long> read) =>
        ByDatabase(reading, database => (double)read(database));

    private static string Word(MemoryState state) => state.ToString().ToLowerInvariant();
}
