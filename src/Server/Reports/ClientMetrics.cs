namespace Kv.Server.Reports;

/// <summary>Metrics of the connected clients.</summary>
internal static class ClientMetrics
{
    public static readonly Metric[] Rows =
    [
        new("connected_clients", MetricKind.Gauge, "Open connections", r => r.Server.Connections.Count)
            { Page = "redis_connected_clients" },
        new("cluster_connections", MetricKind.Gauge, "No cluster here", r => 0),
        new("maxclients", MetricKind.Gauge, "Connections served at once at most", r => r.Server.MaxClients)
            { Page = "redis_max_clients" },
        new("kv_reserved_clients", MetricKind.Gauge, "In places behind maxclients that are kept for administrators",
            r => r.Clients.Reserved) { Page = "kv_reserved_clients" },
        new("kv_lingering_connections", MetricKind.Gauge,
            "Sent off, and open until the client closes its side or a second has passed",
            r => r.Server.Connections.Lingering) { Page = "kv_lingering_connections" },
        new("kv_tls_clients", MetricKind.Gauge, "Open connections over TLS whose handshake was completed",
            r => r.Server.Tls.Counters.Clients) { Page = "kv_tls_clients" },
        new("kv_tls_handshaking", MetricKind.Gauge, "TLS handshakes in progress", r => r.Server.Tls.Places.Taken)
            { Page = "kv_tls_handshaking" },
        new("client_recent_max_input_buffer", MetricKind.Gauge, "The longest unread input of a client now",
            r => r.Clients.InputMax) { Page = "redis_client_recent_max_input_buffer_bytes" },
        new("client_recent_max_output_buffer", MetricKind.Gauge, "The longest unsent output of a client now",
            r => r.Clients.OutputMax) { Page = "redis_client_recent_max_output_buffer_bytes" },
        new("blocked_clients", MetricKind.Gauge, "Waiting in a blocking command, or for the end of a CLIENT PAUSE",
            r => r.Server.Blocked.Count + r.Server.Pause.HeldCount) { Page = "redis_blocked_clients" },
        new("tracking_clients", MetricKind.Gauge, "That keep copies of what they read",
            r => r.Server.Tracking.ClientCount) { Page = "redis_tracking_clients" },
        new("pubsub_clients", MetricKind.Gauge, "With at least one subscription", r => r.Server.PubSub.SubscriberCount)
            { Page = "redis_pubsub_clients" },
        new("watching_clients", MetricKind.Gauge, "With at least one watched key", r => r.Clients.Watching)
            { Page = "redis_watching_clients" },
        new("clients_in_timeout_table", MetricKind.Gauge, "Waiting in a blocking command, with an end",
            r => r.Server.Blocked.TimedCount) { Page = "redis_clients_in_timeout_table" },
        new("total_watched_keys", MetricKind.Gauge, "Keys that somebody watches", r => r.Store.Watches.Count)
            { Page = "redis_total_watched_keys" },
        new("total_blocking_keys", MetricKind.Gauge, "Keys that somebody waits for in a blocking command",
            r => r.Store.Watches.AwaitedCount) { Page = "redis_total_blocking_keys" },
        new("total_blocking_keys_on_nokey", MetricKind.Gauge, "Those of them whose going ends the wait (XREADGROUP)",
            r => r.Server.Blocked.KeysEndingWaits) { Page = "redis_total_blocking_keys_on_nokey" },
    ];
}
