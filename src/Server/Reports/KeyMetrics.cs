namespace Kv.Server.Reports;

/// <summary>Metrics of single keys, without their names.</summary>
internal static class KeyMetrics
{
    public static readonly Metric[] Hot =
    [
        new("kv_key_uses_per_sec", MetricKind.Gauge,
            "Uses of keys by commands a second, of about the last minute, estimated from samples",
            r => MetricValue.Fraction(r.HotKeys.UsesPerSecond, 2)) { Page = "kv_key_uses_per_second" },
        new("kv_hottest_key_percent", MetricKind.Gauge, "Percent of them that are of the key which is used most",
            r => MetricValue.Fraction(100 * HotKeyRanking.ShareOfFirst(r.HotKeys), 2))
            { Page = "kv_hottest_key_ratio", PageScale = 0.01 },
    ];

    public static readonly Metric[] Big =
    [
        new("kv_big_key_walks", MetricKind.Counter,
            "Walks over all keys since the start that have looked for large ones",
            r => r.Store.BigKeys.Walks) { Page = "kv_big_key_walks_total" },
        new("kv_biggest_key_bytes", MetricKind.Gauge, "Memory of the largest key, when it was last measured",
            r => r.BigKeys.Select(key => key.Size.Bytes).DefaultIfEmpty().Max()) { Page = "kv_biggest_key_bytes" },
    ];
}
