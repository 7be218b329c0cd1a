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
        var pages = MetricTable.Rows.Where(row => row.Page != null).Select(row => row.Page!)
            .Concat(SeriesTable.Rows.Select(row => row.Page)).ToList();
        Assert.Equal(pages.Count, pages.Distinct().Count());
        Assert.All(pages, page => Assert.Matches("^(redis|kv)_[a-z0-9_]+$", page));
        Assert.All(SeriesTable.Rows, row => Assert.NotEmpty(row.Summary));
    }

    private const string Introduction = """
    # Metrics

    Made from the metric rows (`src/Server/Reports`); do not edit.
    `KV_REWRITE=1 dotnet test -c Release --filter Tidy` renews it.

    The same figures are shown in three ways:

    - `INFO [section ...]`. The names are those that tools for Redis read; our own begin with `kv_`. The sections
      `hotkeys` and `bigkeys` also have a line for each key, with its name; they are shown only when they are named.
    - `GET /metrics`, in the text format of Prometheus, under the names of redis_exporter, so that its dashboards and
      alerts work as they are and no exporter is needed; our own begin with `kv_`. Seconds and ratios where INFO has
      microseconds and percent. The statistics of commands, errors and databases are lists there (last table).
    - The meter `Kv.Server` of System.Diagnostics.Metrics, for .NET programs that have a server inside
      (OpenTelemetry: `AddMeter("Kv.Server")`): an observable counter or gauge for each name of the page, which is
      `kv.` and that name without `redis_` or `kv_`, its unit (`_bytes` By, `_seconds` s, `_ms` ms) and a counter's
      `_total`: `redis_memory_used_bytes` is `kv.memory_used`, `redis_commands_total` is `kv.commands` with the tag
      `cmd`. The tag `server.port` of the meter tells the servers of a process apart. While nobody listens it costs
      nothing.

    ## Pages by HTTP

    | page | what it says |
    |---|---|
    | `GET /` | the [web page](web-page.md), for people |
    | `GET /status.json` | what the web page draws: INFO, the slow log, clients, options |
    | `GET /metrics` | all figures, as above |
    | `GET /healthz` | 200 as long as the server replies |
    | `GET /readyz` | 200, or 503 and why clients should go elsewhere: `loading`, `stopping` |

    They are on two ports:

    - `port`, and the unix socket, as `http-on-port` says: `local` (the default) for clients from this machine, `yes`
      for all that may connect, `no`. A connection whose first line is a request of HTTP gets its reply and ends; on
      any other connection nothing changes. **With a password set (`requirepass`) `/metrics` is refused there (403)**:
      whoever cannot run INFO is not shown its figures either. `/healthz` and `/readyz` say nothing but that one
      word; the web page asks for the password.
    - `metrics-port` (off by default), on the addresses of `bind`: a port of its own for those who watch, **without a
      password**, whatever `protected-mode` and `requirepass` say. Let nobody reach it who may not see the figures
      (they hold no keys, values, addresses or passwords; the web page, which does, asks for the password where one
      is set). At most 16 connections at once, 5 seconds for a request of at most 8 KB; where all places are taken, the
      connection that has been silent for longest gives way to the next one. Who is connected there is no client, and
      counts for no limit.

    A scrape takes about a millisecond of a thread of the pool; workers only send what it has made, 64 KB a turn. More
    than four at once get 503.

        scrape_configs:
          - job_name: kv
            static_configs: [{ targets: ["127.0.0.1:6379"] }]

    `kv-server --health [--ready] [--host name] [options]` asks a running server from the outside, for HEALTHCHECK of
    a container: exit 0 when it is alive (`--ready`: when it runs commands, too), else 1, and one line that says why.
    It takes the server's own options, file and environment, so that the same ones find it.

    """;

    private static string Text()
    {
        var text = new StringBuilder();
        text.Append(Introduction.ReplaceLineEndings("\n"));
        foreach (var (section, rows) in MetricTable.Sections)
        {
            text.Append(
                $"\n## {section}\n\n| field of INFO | kind | what it says | on the page |\n|---|---|---|---|\n");
            foreach (var row in rows)
            {
                text.Append($"| `{row.Name}` | {Word(row.Kind)} | {GeneratedFile.Cell(row.Summary)} | "
                    + $"{GeneratedFile.Code(row.Page ?? "")} |\n");
            }
        }

        text.Append("\n## Lists, and what is on the page only\n\n| on the page | labels | kind | what it says |\n"
            + "|---|---|---|---|\n");
        foreach (var row in SeriesTable.Rows)
        {
            text.Append($"| `{row.Page}` | {string.Join(' ', row.Labels.Select(GeneratedFile.Code))} | "
                + $"{Word(row.Kind)} | {GeneratedFile.Cell(row.Summary)} |\n");
        }

        return text.ToString();
    }

    private static string Word(MetricKind kind) => kind.ToString().ToLowerInvariant();
}
