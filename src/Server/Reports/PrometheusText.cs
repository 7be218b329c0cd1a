using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Kv.Server.Reports;

//  # HELP redis_db_keys Keys of a database
//  # TYPE redis_db_keys gauge
//  redis_db_keys{db="db0"} 12
//  redis_db_keys{db="db1"} 0

/// <summary>The page for Prometheus, in its text format 0.0.4: every row of <see cref="MetricTable"/> and
/// <see cref="SeriesTable"/> that has a name there.</summary>
/// <remarks>Source: https://prometheus.io/docs/instrumenting/exposition_formats. Cost: as INFO, about a millisecond;
/// not on a worker's turn.</remarks>
internal static class PrometheusText
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    /// <summary>Writes the whole page.</summary>
    public static void Write(KvServer server, PageBuffer page)
    {
        var reading = new ServerReading(server);
        foreach (var row in MetricTable.Rows)
        {
            if (row.Page == null) continue;
            BeginFamily(page, row.Page, row.Kind, row.Summary);
            WriteSample(page, row.Page, [], new Sample(row.ReadForPage(reading)));
        }

        foreach (var row in SeriesTable.Rows)
        {
            BeginFamily(page, row.Page, row.Kind, row.Summary);
            foreach (var sample in row.Read(reading)) WriteSample(page, row.Page, row.Labels, sample);
        }
    }

    private static void BeginFamily(PageBuffer page, string name, MetricKind kind, string help)
    {
        Append(page, "# HELP ");
        Append(page, name);
        Append(page, " ");
        Append(page, Escape(help));
        Append(page, "\n# TYPE ");
        Append(page, name);
        Append(page, kind == MetricKind.Counter ? " counter\n" : " gauge\n");
    }

    internal static void WriteSample(PageBuffer page, string name, string[] labels, Sample sample)
    {
        Debug.Assert(sample.Labels.Length == labels.Length, "each label has a value");
        Append(page, name);
        for (int i = 0; i < labels.Length; i++)
        {
            Append(page, i == 0 ? "{" : ",");
            Append(page, labels[i]);
            Append(page, "=\"");
            Append(page, Escape(sample.Labels[i]).Replace("\"", "\\\"", StringComparison.Ordinal));
            Append(page, "\"");
        }

        Append(page, labels.Length > 0 ? "} " : " ");
        Append(page, sample.Number.ToString(CultureInfo.InvariantCulture));
        Append(page, "\n");
    }

    private static string Escape(string text) =>
        text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\n", "\\n", StringComparison.Ordinal);

    private static void Append(PageBuffer page, string text)
    {
        var room = page.GetSpan(Encoding.UTF8.GetMaxByteCount(text.Length));
        page.Advance(Encoding.UTF8.GetBytes(text, room));
    }
}
