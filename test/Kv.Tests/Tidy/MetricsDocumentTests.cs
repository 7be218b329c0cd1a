using System.Text;
using Kv.Server.Reports;

namespace Kv.Tests.Tidy;

/// <summary>docs/metrics.md: every field of INFO, from the rows.</summary>
public class MetricsDocumentTests
{
    [Fact]
    public void The_table_of_metrics_is_in_step() => GeneratedFile.Check("docs/metrics.md", Text());

    [Fact]
    public void Every_metric_has_a_name_of_its_own_and_says_what_it_is()
    {
        Assert.Equal(MetricTable.Rows.Count(), MetricTable.Rows.Select(row => row.Name).Distinct().Count());
        Assert.All(MetricTable.Rows, row =>
        {
            Assert.Matches("^[a-z0-9_]+$", row.Name);
            Assert.NotEmpty(row.Summary);
        });
    }

    private static string Text()
    {
        var text = new StringBuilder();
        text.Append("# Metrics\n\n");
        text.Append(
            "Made from the metric rows (`src/Server/Reports`); do not edit.\n"
            + "`KV_REWRITE=1 dotnet test -c Release --filter Tidy` renews it.\n\n");
        text.Append(
            "`INFO [section ...]` shows them. The names are those that tools for Redis read; our own begin with "
            + "`kv_`.\n");
        foreach (var (section, rows) in MetricTable.Sections)
        {
            text.Append($"\n## {section}\n\n| field | kind | what it says |\n|---|---|---|\n");
            foreach (var row in rows)
            {
                text.Append(
                    $"| `{row.Name}` | {row.Kind.ToString().ToLowerInvariant()} | "
                    + $"{GeneratedFile.Cell(row.Summary)} |\n");
            }
        }

        return text.ToString();
    }
}
