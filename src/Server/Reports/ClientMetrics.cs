namespace Kv.Server.Reports;

/// <summary>Metrics of the connected clients.</summary>
internal static class ClientMetrics
{
    public static readonly Metric[] Rows =
    [
        new("connected_clients", MetricKind.Gauge, "Open connections", r => r.Server.Connections.Count),
        new("cluster_connections", MetricKind.Gauge, "No cluster here", r => 0),
        new("maxclients", MetricKind.Gauge, "Connections served at once at most", r => r.Server.MaxClients),
        new("kv_reserved_clients", MetricKind.Gauge, "In places behind maxclients that are kept for administrators",
            r => r.Clients.Reserved),
        new("kv_lingering_connections", MetricKind.Gauge,
            "Sent off, and open until the client closes its side or a second has passed",
            r => r.Server.Connections.Lingering),
        new("client_recent_max_input_buffer", MetricKind.Gauge, "The longest unread input of a client now",
            r => r.Clients.InputMax),
        new("client_recent_max_output_buffer", MetricKind.Gauge, "The longest unsent output of a client now",
            r => r.Clients.OutputMax),
        new("blocked_clients", MetricKind.Gauge, "Waiting in a blocking command, or for the end of a CLIENT PAUSE",
            r => r.Server.Blocked.Count + r.Server.Pause.HeldCount),
        new("tracking_clients", MetricKind.Gauge, "No tracking yet", r => 0),
        new("pubsub_clients", MetricKind.Gauge, "With at least one subscription", r => r.Server.PubSub.SubscriberCount),
        new("watching_clients", MetricKind.Gauge, "With at least one watched key", r => r.Clients.Watching),
        new("clients_in_timeout_table", MetricKind.Gauge, "Waiting in a blocking command, with an end",
            r => r.Server.Blocked.TimedCount),
        new("total_watched_keys", MetricKind.Gauge, "Keys that somebody watches", r => r.Store.Watches.Count),
        new("total_blocking_keys", MetricKind.Gauge, "Keys that somebody waits for in a blocking command",
            r => r.Store.Watches.AwaitedCount),
        new("total_blocking_keys_on_nokey", MetricKind.Gauge, "Those of them whose going ends the wait (XREADGROUP)",
            r => r.Server.Blocked.KeysEndingWaits),
    ];
}
