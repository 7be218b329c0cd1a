using System.Diagnostics;
using Kv.Server.Persistence;

namespace Kv.Server.Reports;

/// <summary>Metrics of what is kept on disk.</summary>
internal static class PersistenceMetrics
{
    public static readonly Metric[] Rows =
    [
        new("loading", MetricKind.Gauge, "Whether the start is still loading what is on the disk",
            r => r.Server.Loading == null ? 0 : 1) { Page = "redis_loading_dump_file" },
        new("loading_start_time", MetricKind.Gauge, "Unix seconds at which it began; 0: it is over",
            r => r.Server.Loading?.StartSeconds ?? 0),
        new("loading_total_bytes", MetricKind.Gauge, "Bytes that are loaded; 0: it is over",
            r => r.Server.Loading?.TotalBytes ?? 0),
        new("loading_loaded_bytes", MetricKind.Gauge, "Bytes that have been; 0: it is over",
            r => r.Server.Loading?.LoadedBytes ?? 0),
        new("loading_loaded_perc", MetricKind.Gauge, "How much that is, in percent",
            r => MetricValue.Fraction(r.Server.Loading?.Percent ?? 0, 2)),
        new("loading_eta_seconds", MetricKind.Gauge, "Seconds that are left, at the speed so far",
            r => r.Server.Loading?.LeftSeconds(r.Server.Time.GetUtcNow()) ?? 0),
        new("async_loading", MetricKind.Gauge, "There is no such loading", r => 0)
            { Page = "redis_async_loading" },
        new("current_cow_peak", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_cow_size", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_cow_size_age", MetricKind.Gauge, "No fork is made", r => 0),
        new("current_fork_perc", MetricKind.Gauge, "No fork is made", r => MetricValue.Fraction(0, 2)),
        new("current_save_keys_processed", MetricKind.Gauge, "Keys of the snapshot that is being written, so far",
            r => r.Server.Snapshots.Job?.Keys ?? 0),
        new("current_save_keys_total", MetricKind.Gauge, "Keys that it will have",
            r => r.Server.Snapshots.Job?.KeysAtInstant ?? 0),
        new("rdb_changes_since_last_save", MetricKind.Gauge, "Changes of keys and elements since the last snapshot",
            r => r.Server.Snapshots.Changes)
            { Page = "redis_rdb_changes_since_last_save" },
        new("rdb_bgsave_in_progress", MetricKind.Gauge, "Whether a snapshot is being written beside clients",
            r => IsSaving(r) ? 1 : 0)
            { Page = "redis_rdb_bgsave_in_progress" },
        new("rdb_last_save_time", MetricKind.Gauge, "Unix seconds of the last snapshot, or of the start",
            r => r.Server.Snapshots.LastSaveSeconds) { Page = "redis_rdb_last_save_timestamp_seconds" },
        new("rdb_last_bgsave_status", MetricKind.Fact, "Whether the last snapshot beside clients could be written",
            r => r.Server.Snapshots.HasFailed ? "err" : "ok")
            { Page = "redis_rdb_last_bgsave_status" },
        new("rdb_last_bgsave_time_sec", MetricKind.Gauge, "Seconds that it took; -1: there was none",
            r => r.Server.Snapshots.LastTookSeconds)
            { Page = "redis_rdb_last_bgsave_duration_sec" },
        new("rdb_current_bgsave_time_sec", MetricKind.Gauge, "Seconds that the present one has taken; -1: none",
            r => IsSaving(r) ? (long)Stopwatch.GetElapsedTime(r.Server.Snapshots.Job?.Begun ?? 0).TotalSeconds : -1)
            { Page = "redis_rdb_current_bgsave_duration_sec" },
        new("rdb_saves", MetricKind.Counter, "Snapshots since the start", r => r.Server.Snapshots.Saves)
            { Page = "redis_rdb_saves_total" },
        new("rdb_last_cow_size", MetricKind.Gauge, "No fork is made", r => 0)
            { Page = "redis_rdb_last_cow_size_bytes" },
        new("rdb_last_load_keys_expired", MetricKind.Gauge, "Keys of the snapshot whose time had passed",
            r => r.Server.Snapshots.ExpiredAtLoad)
            { Page = "redis_rdb_last_load_expired_keys" },
        new("rdb_last_load_keys_loaded", MetricKind.Gauge, "Keys of the snapshot that the start loaded",
            r => r.Server.Snapshots.Loaded)
            { Page = "redis_rdb_last_load_loaded_keys" },
        new("aof_enabled", MetricKind.Gauge, "Whether the append-only file is written",
            r => r.Server.Options.AppendOnly ? 1 : 0) { Page = "redis_aof_enabled" },
        new("aof_rewrite_in_progress", MetricKind.Gauge, "Whether a base of it is being written",
            r => r.Server.Aof.IsRewriting ? 1 : 0) { Page = "redis_aof_rewrite_in_progress" },
        new("aof_rewrite_scheduled", MetricKind.Gauge, "Whether one will be, after the snapshot that is being written",
            r => r.Server.Aof.IsScheduled ? 1 : 0) { Page = "redis_aof_rewrite_scheduled" },
        new("aof_last_rewrite_time_sec", MetricKind.Gauge, "Seconds that the last base took; -1: there was none",
            r => r.Server.Aof.LastRewriteSeconds) { Page = "redis_aof_last_rewrite_duration_sec" },
        new("aof_current_rewrite_time_sec", MetricKind.Gauge, "Seconds that a base has been written for; -1: none is",
            r => r.Server.Aof.RewriteSeconds) { Page = "redis_aof_current_rewrite_duration_sec" },
        new("aof_last_bgrewrite_status", MetricKind.Fact, "Whether the last base could be written",
            r => r.Server.Aof.LastRewriteFailed ? "err" : "ok") { Page = "redis_aof_last_bgrewrite_status" },
        new("aof_rewrites", MetricKind.Counter, "Bases since the start", r => r.Server.Aof.Rewrites),
        new("aof_rewrites_consecutive_failures", MetricKind.Counter, "Bases that could not be written since the last "
            + "that could", r => r.Server.Aof.Failures),
        new("aof_last_write_status", MetricKind.Fact, "Whether the append-only file can be written",
            r => r.Server.Aof.Error == null ? "ok" : "err") { Page = "redis_aof_last_write_status" },
        new("aof_last_cow_size", MetricKind.Gauge, "No fork is made", r => 0)
            { Page = "redis_aof_last_cow_size_bytes" },
        new("aof_current_size", MetricKind.Gauge, "Bytes of all its files", r => r.Server.Aof.Bytes)
            { Page = "redis_aof_current_size_bytes" },
        new("aof_base_size", MetricKind.Gauge, "What there was when it was last loaded or written anew",
            r => r.Server.Aof.GrownFromBytes) { Page = "redis_aof_base_size_bytes" },
        new("aof_pending_rewrite", MetricKind.Gauge, "Whether a base is to be written as soon as that can be",
            r => r.Server.Aof.IsScheduled ? 1 : 0) { Page = "redis_aof_pending_rewrite" },
        new("aof_buffer_length", MetricKind.Gauge, "Bytes that may not be on the disk yet",
            r => r.Server.Aof.TailBytes) { Page = "redis_aof_buffer_length" },
        new("aof_pending_bio_fsync", MetricKind.Gauge, "Whether the disk is being waited for",
            r => r.Server.Aof.IsSyncing ? 1 : 0) { Page = "redis_aof_pending_bio_fsync" },
        new("aof_delayed_fsync", MetricKind.Counter, "How often writers were held up by the disk",
            r => r.Server.Aof.Delayed) { Page = "redis_aof_delayed_fsync" },
        new("aof_last_load_truncated_bytes", MetricKind.Gauge, "Bytes that the start has cut off, which were not "
            + "written whole", r => r.Server.Aof.BytesCut),
        new("module_fork_in_progress", MetricKind.Gauge, "No modules", r => 0)
            { Page = "redis_module_fork_in_progress" },
        new("module_fork_last_cow_size", MetricKind.Gauge, "No modules", r => 0)
            { Page = "redis_module_fork_last_cow_size" },
    ];

    private static bool IsSaving(ServerReading report) =>
        report.Server.Snapshots.Job?.Purpose is not (null or SnapshotPurpose.AppendOnlyBase);
}
