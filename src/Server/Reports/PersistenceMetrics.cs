namespace Kv.Server.Reports;

/// <summary>Metrics of what is kept on disk: nothing yet.</summary>
internal static class PersistenceMetrics
{
    public static readonly Metric[] Rows =
    [
        new("loading", MetricKind.Gauge, "Nothing is loaded yet", r => 0),
        new("async_loading", MetricKind.Gauge, "Nothing is loaded yet", r => 0),
        new("current_cow_peak", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_cow_size", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_cow_size_age", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_fork_perc", MetricKind.Gauge, "No fork is made", r => MetricValue.Fraction(0, 2)),
        new("current_save_keys_processed", MetricKind.Gauge, "No snapshots yet", r => 0),
        new("current_save_keys_total", MetricKind.Gauge, "No snapshots yet", r => 0),
        new("rdb_changes_since_last_save", MetricKind.Gauge, "No snapshots yet", r => 0),
        new("rdb_bgsave_in_progress", MetricKind.Gauge, "No snapshots yet", r => 0),
        new("rdb_last_save_time", MetricKind.Gauge, "The start: no snapshots yet",
            r => r.UnixMicroseconds / 1_000_000 - r.UptimeSeconds),
        new("rdb_last_bgsave_status", MetricKind.Fact, "No snapshots yet", r => "ok"),
        new("rdb_last_bgsave_time_sec", MetricKind.Gauge, "No snapshots yet", r => -1),
        new("rdb_current_bgsave_time_sec", MetricKind.Gauge, "No snapshots yet", r => -1),
        new("rdb_saves", MetricKind.Counter, "No snapshots yet", r => 0),
        new("rdb_last_cow_size", MetricKind.Gauge, "No fork is made", r => 0),
        new("rdb_last_load_keys_expired", MetricKind.Gauge, "Nothing is loaded yet", r => 0),
        new("rdb_last_load_keys_loaded", MetricKind.Gauge, "Nothing is loaded yet", r => 0),
        new("aof_enabled", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_rewrite_in_progress", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_rewrite_scheduled", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_last_rewrite_time_sec", MetricKind.Gauge, "No append-only file yet", r => -1),
        new("aof_current_rewrite_time_sec", MetricKind.Gauge, "No append-only file yet", r => -1),
        new("aof_last_bgrewrite_status", MetricKind.Fact, "No append-only file yet", r => "ok"),
        new("aof_rewrites", MetricKind.Counter, "No append-only file yet", r => 0),
        new("aof_rewrites_consecutive_failures", MetricKind.Counter, "No append-only file yet", r => 0),
        new("aof_last_write_status", MetricKind.Fact, "No append-only file yet", r => "ok"),
        new("aof_last_cow_size", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_current_size", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_base_size", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_pending_rewrite", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_buffer_length", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_pending_bio_fsync", MetricKind.Gauge, "No append-only file yet", r => 0),
        new("aof_delayed_fsync", MetricKind.Counter, "No append-only file yet", r => 0),
        new("module_fork_in_progress", MetricKind.Gauge, "No modules", r => 0),
        new("module_fork_last_cow_size", MetricKind.Gauge, "No modules", r => 0),
    ];
}
