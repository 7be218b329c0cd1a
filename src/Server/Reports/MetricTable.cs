namespace Kv.Server.Reports;

/// <summary>Every metric, a row each, in the order in which INFO shows them.</summary>
/// <remarks>
/// Names are those that tools know; our own begin with kv_. A metric that means nothing here is 0, not missing, since
/// tools expect a number. Sections that are lists (commandstats, errorstats, keyspace) are made by
/// <see cref="InfoReport"/>.
/// </remarks>
internal static class MetricTable
{
    public static readonly (InfoSection Section, Metric[] Rows)[] Sections =
    [
        (InfoSection.Server, ServerMetrics.Rows),
        (InfoSection.Clients, ClientMetrics.Rows),
        (InfoSection.Memory, MemoryMetrics.Rows),
        (InfoSection.Persistence, PersistenceMetrics.Rows),
        (InfoSection.Stats, StatsMetrics.Rows),
        (InfoSection.Replication, ReplicationMetrics.Rows),
        (InfoSection.Cpu, CpuMetrics.Rows),
        (InfoSection.Cluster, ReplicationMetrics.Cluster),
        (InfoSection.HotKeys, KeyMetrics.Hot),
        (InfoSection.BigKeys, KeyMetrics.Big),
    ];

    public static Metric[] RowsOf(InfoSection section) =>
        Array.Find(Sections, candidate => candidate.Section == section).Rows ?? [];

    public static IEnumerable<Metric> Rows
    {
        get
        {
            foreach (var (_, rows) in Sections)
                foreach (var row in rows) yield return row;
        }
    }
}
