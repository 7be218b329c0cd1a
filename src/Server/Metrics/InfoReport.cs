using System.Text;

namespace Kv.Server.Metrics;

/// <summary>The text of INFO: "# Section", then "name:value" lines, each ending in CR LF, a blank line between
/// sections.</summary>
internal static class InfoReport
{
    public static string Write(ServerFigures figures, InfoSections sections)
    {
        var text = new StringBuilder(8 << 10);
        for (var section = InfoSection.Server; section <= InfoSection.Keyspace; section++)
        {
            if (!sections.Has(section)) continue;
            if (text.Length > 0) text.Append("\r\n");
            text.Append("# ").Append(TitleOf(section)).Append("\r\n");
            AppendRows(text, figures, section);
            switch (section)
            {
                case InfoSection.CommandStats: AppendCommands(text, figures); break;
                case InfoSection.ErrorStats: AppendErrors(text, figures); break;
                case InfoSection.Keyspace: AppendKeyspace(text, figures); break;
            }
        }
        return text.ToString();
    }

    private static string TitleOf(InfoSection section) => section switch
    {
        InfoSection.Cpu => "CPU",
        InfoSection.CommandStats => "Commandstats",
        InfoSection.ErrorStats => "Errorstats",
        _ => section.ToString(),
    };

    private static void AppendRows(StringBuilder text, ServerFigures figures, InfoSection section)
    {
        foreach (var row in MetricTable.Rows)
        {
            if (row.Section != section) continue;
            text.Append(row.Name).Append(':');
            row.Read(figures).AppendTo(text);
            text.Append("\r\n");
        }
    }

    private static void AppendCommands(StringBuilder text, ServerFigures figures)
    {
        foreach (var command in figures.CommandCalls)
        {
            double each = command.Calls > 0 ? (double)command.Microseconds / command.Calls : 0;
            text.Append("cmdstat_").Append(command.Name)
                .Append(Invariant($":calls={command.Calls},usec={command.Microseconds},usec_per_call={each:F2}"))
                .Append(Invariant($",rejected_calls={command.Rejected},failed_calls={command.Failed}\r\n"));
        }
    }

    private static void AppendErrors(StringBuilder text, ServerFigures figures)
    {
        foreach (var error in figures.Errors)
            text.Append("errorstat_").Append(error.Code).Append(Invariant($":count={error.Count}\r\n"));
    }

    private static void AppendKeyspace(StringBuilder text, ServerFigures figures)
    {
        foreach (var database in figures.Keyspace)
        {
            text.Append(Invariant($"db{database.Database}:keys={database.Keys},expires={database.Expires}"))
                .Append(Invariant($",avg_ttl={database.AverageTtlMs},subexpiry={database.WithFieldExpiry}\r\n"));
        }
    }

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
