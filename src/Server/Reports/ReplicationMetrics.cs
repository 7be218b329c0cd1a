namespace Kv.Server.Reports;

/// <summary>Metrics of replication and clusters: a lone master.</summary>
internal static class ReplicationMetrics
{
    public static readonly Metric[] Rows =
    [
        new("role", MetricKind.Fact, "master or slave", r => "master"),
        new("connected_slaves", MetricKind.Gauge, "Replicas that follow", r => r.Server.Replicas.Count)
            { Page = "redis_connected_slaves" },
        new("master_failover_state", MetricKind.Fact, "Follows nobody yet", r => "no-failover"),
        new("master_replid", MetricKind.Fact, "40 random hexadecimal digits, new at each start", r => r.Server.RunId),
        new("master_replid2", MetricKind.Fact, "Follows nobody yet", r => "0000000000000000000000000000000000000000"),
        new("master_repl_offset", MetricKind.Gauge, "Bytes of the stream for replicas", r => r.Server.Replicas.Offset)
            { Page = "redis_master_repl_offset" },
        new("second_repl_offset", MetricKind.Gauge, "Follows nobody yet", r => -1)
            { Page = "redis_second_repl_offset" },
        new("repl_backlog_active", MetricKind.Gauge, "Whether the stream is kept",
            r => r.Server.Replicas.IsActive ? 1 : 0)
            { Page = "redis_repl_backlog_is_active" },
        new("repl_backlog_size", MetricKind.Gauge, "The option's value", r => r.Server.Options.ReplBacklogSize)
            { Page = "redis_replication_backlog_bytes" },
        new("repl_backlog_first_byte_offset", MetricKind.Gauge, "The first byte that is kept",
            r => r.Server.Replicas.IsActive ? r.Server.Replicas.First + 1 : 0)
            { Page = "redis_repl_backlog_first_byte_offset" },
        new("repl_backlog_histlen", MetricKind.Gauge, "Bytes that are kept",
            r => r.Server.Replicas.KeptBytes) { Page = "redis_repl_backlog_history_bytes" },
    ];

    public static readonly Metric[] Cluster =
    [
        new("cluster_enabled", MetricKind.Fact, "No cluster here", r => 0) { Page = "redis_cluster_enabled" },
    ];
}
