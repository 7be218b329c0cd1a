using Kv.Server.Metrics;
using Kv.Server.Users;

namespace Kv.Server.Reports;

/// <summary>Metrics of what was done since the start or the last CONFIG RESETSTAT.</summary>
internal static class StatsMetrics
{
    public static readonly Metric[] Rows =
    [
        new("total_connections_received", MetricKind.Counter, "Accepted", r => r.Server.Connections.Accepted)
            { Page = "redis_connections_received_total" },
        new("total_commands_processed", MetricKind.Counter, "Executed, errors included",
            r => r.Server.Counters.Sum(c => c.Commands)) { Page = "redis_commands_processed_total" },
        new("instantaneous_ops_per_sec", MetricKind.Gauge, "Commands a second, lately", r => (long)r.Rates.Commands),
        new("total_net_input_bytes", MetricKind.Counter, "Received from clients",
            r => r.Server.Counters.Sum(c => c.BytesIn)) { Page = "redis_net_input_bytes_total" },
        new("total_net_output_bytes", MetricKind.Counter, "Sent to clients",
            r => r.Server.Counters.Sum(c => c.BytesOut)) { Page = "redis_net_output_bytes_total" },
        new("total_net_repl_input_bytes", MetricKind.Counter, "Follows nobody yet", r => 0)
            { Page = "redis_net_repl_input_bytes_total" },
        new("total_net_repl_output_bytes", MetricKind.Counter, "Of the stream, sent to replicas",
            r => r.Server.Replicas.SentBytes)
            { Page = "redis_net_repl_output_bytes_total" },
        new("instantaneous_input_kbps", MetricKind.Gauge, "Kilobytes received a second, lately",
            r => MetricValue.Fraction(r.Rates.InputBytes / 1024, 2)),
        new("instantaneous_output_kbps", MetricKind.Gauge, "Kilobytes sent a second, lately",
            r => MetricValue.Fraction(r.Rates.OutputBytes / 1024, 2)),
        new("instantaneous_input_repl_kbps", MetricKind.Gauge, "Follows nobody yet", r => MetricValue.Fraction(0, 2)),
        new("instantaneous_output_repl_kbps", MetricKind.Gauge, "Follows nobody yet", r => MetricValue.Fraction(0, 2)),
        new("rejected_connections", MetricKind.Counter, "Refused: maxclients or protected mode",
            r => r.Server.Connections.Rejected) { Page = "redis_rejected_connections_total" },
        new("kv_reserved_connections", MetricKind.Counter, "Accepted past maxclients, for administrators",
            r => r.Server.Connections.Reserved) { Page = "kv_reserved_connections_total" },
        new("kv_tls_handshakes", MetricKind.Counter, "TLS handshakes that were completed",
            r => r.Server.Tls.Counters.Completed) { Page = "kv_tls_handshakes_total" },
        new("kv_tls_failed_handshakes", MetricKind.Counter,
            "Connections to tls-port that ended before their handshake did", r => r.Server.Tls.Counters.Failed)
            { Page = "kv_tls_failed_handshakes_total" },
        new("kv_tls_late_handshakes", MetricKind.Counter, "Those of them that took too long",
            r => r.Server.Tls.Counters.Late) { Page = "kv_tls_late_handshakes_total" },
        new("kv_tls_plain_connections", MetricKind.Counter, "Those of them that sent something else than TLS",
            r => r.Server.Tls.Counters.Plain) { Page = "kv_tls_plain_connections_total" },
        new("kv_tls_reloads", MetricKind.Counter, "How often certificates were read again",
            r => r.Server.Tls.Counters.Reloads) { Page = "kv_tls_reloads_total" },
        new("kv_tls_failed_reloads", MetricKind.Counter, "How often they could not be, and those of before stayed",
            r => r.Server.Tls.Counters.FailedReloads) { Page = "kv_tls_failed_reloads_total" },
        new("kv_log_lines_dropped", MetricKind.Counter,
            "Log lines that were dropped since the start: the log did not keep up",
            r => (r.Server.LogFactory as ILogFigures)?.DroppedLines ?? 0) { Page = "kv_log_lines_dropped_total" },
        new("kv_log_lines_suppressed", MetricKind.Counter,
            "Log lines that clients caused, left out since the start: one a second of a kind is written",
            r => r.Server.LogBrakes.Suppressed) { Page = "kv_log_lines_suppressed_total" },
        new("sync_full", MetricKind.Counter, "Replicas that were given a snapshot", r => r.Server.Replicas.FullSyncs)
            { Page = "redis_replica_resyncs_full" },
        new("sync_partial_ok", MetricKind.Counter, "Replicas that have gone on where they were",
            r => r.Server.Replicas.PartialSyncs)
            { Page = "redis_replica_partial_resync_accepted" },
        new("sync_partial_err", MetricKind.Counter, "Replicas that wanted to, and could not",
            r => r.Server.Replicas.RefusedPartialSyncs)
            { Page = "redis_replica_partial_resync_denied" },
        new("expired_subkeys", MetricKind.Counter, "Fields of hashes whose time had passed when they were found",
            r => r.SinceReset(s => s.ExpiredFields)) { Page = "redis_expired_subkeys_total" },
        new("expired_keys", MetricKind.Counter, "Keys whose time had passed when they were found",
            r => r.SinceReset(s => s.ExpiredKeys)) { Page = "redis_expired_keys_total" },
        new("expired_stale_perc", MetricKind.Gauge, "Not estimated", r => MetricValue.Fraction(0, 2))
            { Page = "redis_expired_stale_percentage" },
        new("expired_time_cap_reached_count", MetricKind.Counter, "The sweep has no cap", r => 0)
            { Page = "redis_expired_time_cap_reached_total" },
        new("expire_cycle_cpu_milliseconds", MetricKind.Counter, "Not measured", r => 0)
            { Page = "redis_expire_cycle_cpu_time_ms_total" },
        new("evicted_keys", MetricKind.Counter, "Keys let go of to make room", r => r.SinceReset(s => s.EvictedKeys))
            { Page = "redis_evicted_keys_total" },
        new("evicted_clients", MetricKind.Counter, "Clients closed at maxmemory-clients",
            r => r.Server.ClientMemory.Evicted) { Page = "redis_evicted_clients_total" },
        new("total_eviction_exceeded_time", MetricKind.Counter, "Eviction has a thread of its own", r => 0)
            { Page = "redis_eviction_exceeded_time_ms_total" },
        new("current_eviction_exceeded_time", MetricKind.Gauge, "Eviction has a thread of its own", r => 0)
            { Page = "redis_current_eviction_exceeded_time_ms" },
        new("keyspace_hits", MetricKind.Counter, "Reads that found their key; not of whole collections",
            r => r.SinceReset(s => s.Hits)) { Page = "redis_keyspace_hits_total" },
        new("keyspace_misses", MetricKind.Counter, "Reads that did not", r => r.SinceReset(s => s.Misses))
            { Page = "redis_keyspace_misses_total" },
        new("kv_hit_ratio", MetricKind.Gauge, "Percent of reads that found their key",
            r => MetricValue.Fraction(r.HitPercent(0), 2)) { Page = "kv_hit_ratio", PageScale = 0.01 },
        new("kv_hit_ratio_2x", MetricKind.Gauge,
            "What kv_hit_ratio would be with twice the memory, estimated from a sample of the evicted keys",
            r => MetricValue.Fraction(r.HitPercent(r.SinceReset(s => s.ShadowHits)), 2))
            { Page = "kv_hit_ratio_2x", PageScale = 0.01 },
        new("pubsub_channels", MetricKind.Gauge, "With subscribers", r => r.Server.PubSub.ChannelCount)
            { Page = "redis_pubsub_channels" },
        new("pubsub_patterns", MetricKind.Gauge, "With subscribers, each counted once",
            r => r.Server.PubSub.PatternCount) { Page = "redis_pubsub_patterns" },
        new("pubsubshard_channels", MetricKind.Gauge, "With subscribers", r => r.Server.PubSub.ShardChannelCount)
            { Page = "redis_pubsubshard_channels" },
        new("latest_fork_usec", MetricKind.Gauge, "No fork is made", r => 0)
            { Page = "redis_latest_fork_seconds", PageScale = 1e-6 },
        new("total_forks", MetricKind.Counter, "No fork is made", r => 0),
        new("migrate_cached_sockets", MetricKind.Gauge,
            "Connections that MIGRATE keeps for its next call: none, each makes its own", r => 0)
            { Page = "redis_migrate_cached_sockets_total" },
        new("slave_expires_tracked_keys", MetricKind.Gauge, "Follows nobody yet", r => 0)
            { Page = "redis_slave_expires_tracked_keys" },
        new("active_defrag_hits", MetricKind.Counter, "Reclaim does that work", r => 0) { Page = "redis_defrag_hits" },
        new("active_defrag_misses", MetricKind.Counter, "Reclaim does that work", r => 0)
            { Page = "redis_defrag_misses" },
        new("active_defrag_key_hits", MetricKind.Counter, "Reclaim does that work", r => 0)
            { Page = "redis_defrag_key_hits" },
        new("active_defrag_key_misses", MetricKind.Counter, "Reclaim does that work", r => 0)
            { Page = "redis_defrag_key_misses" },
        new("total_active_defrag_time", MetricKind.Counter, "Reclaim does that work", r => 0),
        new("current_active_defrag_time", MetricKind.Gauge, "Reclaim does that work", r => 0),
        new("tracking_total_keys", MetricKind.Gauge, "Keys that clients keep copies of",
            r => r.Server.Tracking.KeyCount) { Page = "redis_tracking_total_keys" },
        new("tracking_total_items", MetricKind.Gauge, "Pairs of a client and such a key",
            r => r.Server.Tracking.ItemCount)
            { Page = "redis_tracking_total_items" },
        new("tracking_total_prefixes", MetricKind.Gauge, "Of keys that clients are told of in broadcasting mode",
            r => r.Server.Tracking.PrefixCount)
            { Page = "redis_tracking_total_prefixes" },
        new("unexpected_error_replies", MetricKind.Counter, "None is sent to replicas", r => 0)
            { Page = "redis_unexpected_error_replies" },
        new("total_error_replies", MetricKind.Counter, "Replies that were errors",
            r => r.Server.Counters.Sum(c => c.Errors)) { Page = "redis_total_error_replies" },
        new("dump_payload_sanitizations", MetricKind.Counter, "Not counted", r => 0)
            { Page = "redis_dump_payload_sanitizations" },
        new("total_reads_processed", MetricKind.Counter, "Receives from sockets",
            r => r.Server.Counters.Sum(c => c.Reads)) { Page = "redis_total_reads_processed" },
        new("total_writes_processed", MetricKind.Counter, "Sends to sockets",
            r => r.Server.Counters.Sum(c => c.Writes)) { Page = "redis_total_writes_processed" },
        new("io_threaded_reads_processed", MetricKind.Counter, "Workers do their own", r => 0)
            { Page = "redis_io_threaded_reads_processed" },
        new("io_threaded_writes_processed", MetricKind.Counter, "Workers do their own", r => 0)
            { Page = "redis_io_threaded_writes_processed" },
        new("reply_buffer_shrinks", MetricKind.Counter, "Workers own the buffers", r => 0)
            { Page = "redis_reply_buffer_shrinks_total" },
        new("reply_buffer_expands", MetricKind.Counter, "Workers own the buffers", r => 0)
            { Page = "redis_reply_buffer_expands_total" },
        new("client_query_buffer_limit_disconnections", MetricKind.Counter,
            "Clients closed at client-query-buffer-limit, or for 1 MB before AUTH",
            r => r.Server.Counters.InputLimitCloses) { Page = "redis_client_query_buffer_limit_disconnections_total" },
        new("kv_auth_timeouts", MetricKind.Counter, "Clients closed at auth-timeout",
            r => r.Server.Counters.AuthTimeouts) { Page = "kv_auth_timeouts_total" },
        new("client_output_buffer_limit_disconnections", MetricKind.Counter,
            "Clients closed at client-output-buffer-limit", r => r.Server.Counters.OutputLimitCloses)
            { Page = "redis_client_output_buffer_limit_disconnections_total" },
        new("acl_access_denied_auth", MetricKind.Counter, "Failed logins, since the start",
            r => r.Server.AccessLog.CountOf(Denial.Auth)) { Page = "redis_acl_access_denied_auth_total" },
        new("acl_access_denied_cmd", MetricKind.Counter, "Commands that their user may not call, since the start",
            r => r.Server.AccessLog.CountOf(Denial.Command)) { Page = "redis_acl_access_denied_cmd_total" },
        new("acl_access_denied_key", MetricKind.Counter, "Commands denied for one of their keys, since the start",
            r => r.Server.AccessLog.CountOf(Denial.Key)) { Page = "redis_acl_access_denied_key_total" },
        new("acl_access_denied_channel", MetricKind.Counter,
            "Commands denied for one of their channels, since the start",
            r => r.Server.AccessLog.CountOf(Denial.Channel)) { Page = "redis_acl_access_denied_channel_total" },
        new("kv_reclaimed_segments", MetricKind.Counter, "Segments of the log emptied and reused",
            r => r.SinceReset(s => s.ReclaimedSegments)) { Page = "kv_reclaimed_segments_total" },
        new("kv_index_growths", MetricKind.Counter, "Doublings of the index", r => r.SinceReset(s => s.IndexGrowths))
            { Page = "kv_index_growths_total" },
        new("kv_index_halvings", MetricKind.Counter, "Halvings of the index", r => r.SinceReset(s => s.IndexHalvings))
            { Page = "kv_index_halvings_total" },
        new("kv_stalls", MetricKind.Counter, "Times a thread stood still for 100 ms while memory waited to be freed",
            r => r.SinceReset(s => s.Stalls)) { Page = "kv_stalls_total" },
        new("kv_gc_collections", MetricKind.Counter, "Collections of the managed heap", r => GC.CollectionCount(0))
            { Page = "kv_gc_collections_total" },
        new("kv_gc_full_collections", MetricKind.Counter, "Those of all of it",
            r => GC.CollectionCount(GC.MaxGeneration)) { Page = "kv_gc_full_collections_total" },
        new("kv_gc_pause_ms", MetricKind.Counter, "Milliseconds they stopped the process",
            r => (long)GC.GetTotalPauseDuration().TotalMilliseconds)
            { Page = "kv_gc_pause_seconds_total", PageScale = 1e-3 },
        new("kv_scripts_alone", MetricKind.Counter,
            "Scripts that ran while all others stood still: it is not plain that they change declared keys only",
            r => r.Server.Scripts.Alone) { Page = "kv_scripts_alone_total" },
    ];
}
