using System.Text;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>The text of INFO: "# Section", then "name:value" lines, each ending in CR LF, a blank line between
/// sections.</summary>
internal static class InfoReport
{
    /// <param name="rules">Of who asks: names of keys that they may not read are left out. Null: they may read
    /// all.</param>
    /// <param name="session">Whose turn it is, if it is anybody's.</param>
    public static string Write(KvServer server, InfoSections sections, UserRules? rules = null,
        StoreSession? session = null)
    {
        var reading = new ServerReading(server, session);
        var text = new StringBuilder(8 << 10);
        for (var section = InfoSection.Server; section <= InfoSection.BigKeys; section++)
        {
            if (!sections.Has(section)) continue;
            if (text.Length > 0) text.Append("\r\n");
            text.Append("# ").Append(TitleOf(section)).Append("\r\n");
            foreach (var row in MetricTable.RowsOf(section))
            {
                text.Append(row.Name).Append(':');
                row.Read(reading).AppendTo(text);
                text.Append("\r\n");
            }

            switch (section)
            {
                case InfoSection.CommandStats: AppendCommands(text, reading); break;
                case InfoSection.ErrorStats: AppendErrors(text, server); break;
                case InfoSection.LatencyStats: AppendLatencies(text, reading); break;
                case InfoSection.Replication: AppendReplicas(text, server); break;
                case InfoSection.Keyspace: AppendKeyspace(text, server); break;
                case InfoSection.HotKeys: HotKeyRanking.AppendTo(text, reading.HotKeys, rules); break;
                case InfoSection.BigKeys: BigKeyRanking.AppendTo(text, reading.BigKeys, rules); break;
            }
        }
        return text.ToString();
    }

    private static string TitleOf(InfoSection section) => section switch
    {
        InfoSection.Cpu => "CPU",
        InfoSection.CommandStats => "Commandstats",
        InfoSection.ErrorStats => "Errorstats",
        InfoSection.LatencyStats => "Latencystats",
        InfoSection.HotKeys => "Hotkeys",
        InfoSection.BigKeys => "Bigkeys",
        _ => section.ToString(),
    };

    private static void AppendCommands(StringBuilder text, ServerReading reading)
    {
        foreach (var (command, counts) in reading.Commands)
        {
            double each = counts.Calls > 0 ? (double)counts.Microseconds / counts.Calls : 0;
            text.Append("cmdstat_").Append(command.FullName)
                .Append(Invariant($":calls={counts.Calls},usec={counts.Microseconds},usec_per_call={each:F2}"))
                .Append(Invariant($",rejected_calls={counts.Rejected},failed_calls={counts.Failed}\r\n"));
        }
    }

    private static void AppendErrors(StringBuilder text, KvServer server)
    {
        foreach (var (code, count) in server.Counters.Errors.OrderBy(error => error.Code, StringComparer.Ordinal))
            text.Append("errorstat_").Append(Safe(code)).Append(Invariant($":count={count}\r\n"));
    }

    /// <summary>The first word of an error, which a script may have made up, as the name of a field.</summary>
    private static string Safe(string code) =>
        string.Concat(code.Select(letter => letter is '#' or ':' || char.IsControl(letter) ? '_' : letter));

    private static void AppendLatencies(StringBuilder text, ServerReading reading)
    {
        var percentiles = LatencyPercentile.Of(reading.Options);
        foreach (var (command, latencies, _) in reading.Latencies)
        {
            var figures = percentiles.Select(
                p => Invariant($"p{p.Text}={latencies.AtPercentile(p.Percent) / 1000.0:F3}"));
            text.Append("latency_percentiles_usec_").Append(command).Append(':')
                .AppendJoin(',', figures).Append("\r\n");
        }
    }

    private static void AppendReplicas(StringBuilder text, KvServer server)
    {
        long now = server.TickMs;
        int number = 0;
        foreach (string line in server.Replicas.Describe(replica => replica.Describe(now)))
            text.Append(Invariant($"slave{number++}:")).Append(line).Append("\r\n");
    }

    private static void AppendKeyspace(StringBuilder text, KvServer server)
    {
        var store = server.Store;
        for (int database = 0; database < server.Options.Databases; database++)
        {
            long keys = store.Count(database);
            if (keys == 0) continue;
            text.Append(Invariant($"db{database}:keys={keys},expires={store.CountWithExpiry(database)}"))
                .Append(Invariant($",avg_ttl={store.AverageTtlMs(database)}"))
                .Append(Invariant($",subexpiry={store.CountWithFieldExpiry(database)}\r\n"));
        }
    }

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
