namespace Kv.Server.Reports;

/// <summary>Metrics of replication and clusters: a lone master.</summary>
internal static class ReplicationMetrics
{
    public static readonly Metric[] Rows =
    [
        new("role", MetricKind.Fact, "master or slave", r => "master"),
        new("connected_slaves", MetricKind.Gauge, "No replication yet", r => 0) { Page = "redis_connected_slaves" },
        new("master_failover_state", MetricKind.Fact, "No replication yet", r => "no-failover"),
        new("master_replid", MetricKind.Fact, "40 random hexadecimal digits, new at each start", r => r.Server.RunId),
        new("master_replid2", MetricKind.Fact, "No replication yet", r => "0000000000000000000000000000000000000000"),
        new("master_repl_offset", MetricKind.Gauge, "No replication yet", r => 0) { Page = "redis_master_repl_offset" },
        new("second_repl_offset", MetricKind.Gauge, "No replication yet", r => -1)
            { Page = "redis_second_repl_offset" },
        new("repl_backlog_active", MetricKind.Gauge, "No replication yet", r => 0)
            { Page = "redis_repl_backlog_is_active" },
        new("repl_backlog_size", MetricKind.Gauge, "No replication yet: the option's default", r => 1 << 20)
            { Page = "redis_replication_backlog_bytes" },
        new("repl_backlog_first_byte_offset", MetricKind.Gauge, "No replication yet", r => 0)
            { Page = "redis_repl_backlog_first_byte_offset" },
        new("repl_backlog_histlen", MetricKind.Gauge, "No replication yet", r => 0)
            { Page = "redis_repl_backlog_history_bytes" },
    ];

    public static readonly Metric[] Cluster =
    [
        new("cluster_enabled", MetricKind.Fact, "No cluster here", r => 0) { Page = "redis_cluster_enabled" },
    ];
}
