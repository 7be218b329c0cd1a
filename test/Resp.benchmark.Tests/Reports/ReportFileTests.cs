using RespBenchmark.Measure;
using RespBenchmark.Reports;

namespace RespBenchmark.Tests.Reports;

public class ReportFileTests
{
    [Fact]
    public void Json_read_back_and_written_again_is_the_same_text()
    {
        string first = ReportJson.Write(SampleReport.Closed(Report.ScaledWatermark)),
            second = ReportJson.Write(ReportJson.Read(first));
        Assert.Equal(first, second);
        Assert.StartsWith("{\n  \"schema\": 1,\n  \"tool\": ", first, StringComparison.Ordinal);
        Assert.Contains("\"watermark\": \"scaled: not comparable", first, StringComparison.Ordinal);
        foreach (string field in (string[])["ops_s", "bytes_out", "p999", "ci95", "pause_ms", "client_cpu", "headroom",
            "hdr", "series", "ctxt"])
        {
            Assert.Contains($"\"{field}\": ", first, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Json_of_later_versions_with_more_fields_is_read_and_less_is_filled()
    {
        var report = ReportJson.Read(
            """
            {"schema":1,"new_field":{"a":[1]},"cells":[{"axis":{"op":"GET","conns":2,"shards":9},"reps":[{"ops_s":5}]}]}
            """);

        var cell = Assert.Single(report.Cells);
        Assert.Equal(("GET", 2, 1, "UNKNOWN"), (cell.Axis.Op, cell.Axis.Conns, cell.Axis.Depth, cell.Verdict));
        Assert.Equal(5, cell.Reps[0].OpsS);
        Assert.Null(cell.Reps[0].Latency().P99);
    }

    [Theory]
    [InlineData("")]
    [InlineData("[]")]
    [InlineData("null")]
    [InlineData("{\"cells\":null}")]
    [InlineData("{\"schema\":2}")]
    public void What_is_no_report_is_refused_by_a_FormatException(string json) =>
        Assert.Throws<FormatException>(() => ReportJson.Read(json));

    [Fact]
    public void Wrong_values_are_in_every_form_and_their_column_only_where_there_are_any()
    {
        var good = SampleReport.Closed(null);
        Assert.DoesNotContain("wrong", ReportCsv.Write(good), StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("wrong", ReportMarkdown.Write(good), StringComparison.OrdinalIgnoreCase);

        var first = good.Cells[0];
        var bad = good with { Cells =
            [first with { Reps = [first.Reps[0] with { Wrong = 17 }, .. first.Reps.Skip(1)] }, .. good.Cells.Skip(1)] };
        string[] rows = ReportCsv.Write(bad).Split('\n');
        Assert.EndsWith(",steady,wrong", rows[0], StringComparison.Ordinal);
        Assert.EndsWith(",17", rows[1], StringComparison.Ordinal);
        Assert.Contains("17 WRONG values", ReportMarkdown.Write(bad), StringComparison.Ordinal);
        Assert.Contains("17 WRONG values", ReportHtml.Write(bad), StringComparison.Ordinal);
        Assert.Contains("\"wrong\": 17", ReportJson.Write(bad), StringComparison.Ordinal);
    }

    [Fact]
    public void Replies_of_a_type_that_a_command_never_gives_are_errors_of_a_class_of_their_own()
    {
        var rep = Repetition.Of(new Measurement
        {
            Elapsed = TimeSpan.FromSeconds(1), Counters = new RunCounters(5, 10, 10, 2, 0, 3, 0, 0, 1, 1),
                Service = new Histogram(), Kinds = [],
            Errors = [new ErrorClass("ERR", 2, "ERR a")], LoopOccupancy = [],
        });
        Assert.Equal((5L, 3L), (rep.ErrorCount(), rep.Errors["type-mismatch"]));
    }

    [Fact]
    public void A_repetition_has_all_that_was_measured_and_leaves_out_percentiles_of_too_few()
    {
        var histogram = new Histogram();
        for (int i = 1; i <= 1000; i++) histogram.Record(i * 1000);
        var rep = Repetition.Of(new Measurement
        {
            Elapsed = TimeSpan.FromSeconds(2),
            Counters = new RunCounters(1000, 1000, 1001, 7, 3, 0, 0, 1, 36_000, 5_000),
            Service = histogram,
            Kinds = [],
            Errors = [new ErrorClass("ERR", 5, "ERR a"), new ErrorClass("OOM", 2, "OOM b")],
            LoopOccupancy = [0.5, 0.9],
            End = RunEnd.Interrupted,
        });

        Assert.Equal((2.0, 1000L, 500.0, 36_000L, 5_000L, 3L, 1L),
            (rep.Seconds, rep.Ops, rep.OpsS, rep.BytesOut, rep.BytesIn, rep.Nils, rep.Lost));
        Assert.Equal((7L, 0.9, "Interrupted"), (rep.ErrorCount(), rep.ClientHot, rep.End));
        Assert.Equal((1.0, 1000.0, 500.5), (rep.Service.Min, rep.Service.Max, rep.Service.Mean));
        Assert.Equal(500, rep.Service.P50!.Value, 0.5);
        Assert.Equal(990, rep.Service.P99!.Value, 1.0);
        Assert.Null(rep.Service.P999);
        Assert.Equal(histogram.Counts, HdrEncoding.FromText(rep.Service.Hdr!).Counts);
        Assert.Null(rep.Response);
    }

    [Fact]
    public void Csv_has_a_row_a_repetition_and_the_columns_that_are_promised()
    {
        string[] lines = ReportCsv.Write(SampleReport.Closed()).Split('\n');

        Assert.Equal(
            "target,op,conns,depth,mode,loops,keys,value_bytes,dist,rate,rep,seconds,ops,ops_s,errors,nils,"
            + "bytes_out,bytes_in,mean_us,min_us,p50_us,p90_us,p95_us,p99_us,p999_us,max_us,lag_p99_us,"
            + "client_hot,client_cpu,server_hot,server_cpu,server_rss,verdict,headroom,steady",
            lines[0]);
        Assert.Equal(1 + 2 * SampleReport.Conns.Length * SampleReport.Reps + 1 + 1, lines.Length);
        Assert.StartsWith("A,GET,1,1,window,2,1000000,128,uniform,,1,15,1333583,88905.6,0,12,", lines[1],
            StringComparison.Ordinal);
        Assert.EndsWith(",412000000,LATENCY-BOUND,,true", lines[1], StringComparison.Ordinal);
        Assert.All(lines[..^1], line => Assert.Equal(34, line.Count(letter => letter == ',')));
        Assert.EndsWith(",watermark", ReportCsv.Write(SampleReport.Closed("scaled")).Split('\n')[0],
            StringComparison.Ordinal);
    }

    [Fact]
    public void Csv_quotes_what_would_break_a_row()
    {
        Assert.Equal("\"a,b\"", ReportCsv.Field("a,b"));
        Assert.Equal("\"say \"\"x\"\"\"", ReportCsv.Field("say \"x\""));
        Assert.Equal("plain", ReportCsv.Field("plain"));
        Assert.Equal("", ReportCsv.Field(null));
    }

    [Fact]
    public void Csv_of_redis_benchmark_has_its_header_and_a_quoted_row_a_cell()
    {
        string[] lines = ReportCsv.WriteRedisBenchmark(SampleReport.Closed()).Split('\n');

        Assert.Equal(
            "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\","
            + "\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"", lines[0]);
        Assert.Equal(2 * SampleReport.Conns.Length + 1 + 2, lines.Length);
        Assert.Matches("^\"A: GET, conns 1\",\"90720.00\"(,\"[0-9]+\\.[0-9]{3}\"){6}$", lines[1]);
    }

    [Fact]
    public void Percentiles_of_a_cell_are_of_all_its_repetitions_together_never_averaged()
    {
        Histogram low = new(), high = new();
        for (int i = 0; i < 3000; i++) low.Record(1_000);
        for (int i = 0; i < 1000; i++) high.Record(9_000);
        var cell = new CellReport { Reps = [new Repetition { Service = LatencySummary.Of(low) },
            new Repetition { Service = LatencySummary.Of(high) }] };

        var merged = MergedLatency.Of(cell);
        Assert.Equal((1.0, 9.0, 3.0, 4000L), (merged.Min, merged.Max, merged.Mean, merged.N));
        Assert.Equal(1, merged.P50!.Value, 0.001);
        Assert.Equal(9, merged.P90!.Value, 0.009);
    }

    [Fact]
    public void Markdown_has_a_table_a_target_the_sides_the_ratios_and_the_warnings()
    {
        string text = ReportMarkdown.Write(SampleReport.Closed(Report.ScaledWatermark));
        string[] lines = text.Split('\n');

        Assert.Contains("## A: kv 0.1.0, 127.0.0.1:7001", lines);
        Assert.Contains("## Side by side", lines);
        Assert.Contains("## A / B", lines);
        Assert.Contains("- B: io-threads 32 > 4 cores - see doctor", lines);
        Assert.Contains(lines, line => line.StartsWith("| GET, conns 64 ", StringComparison.Ordinal)
            && line.Contains("CLIENT-BOUND", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.StartsWith("| SETIFPM, conns 16 |", StringComparison.Ordinal)
            && line.Contains(" n/a |", StringComparison.Ordinal));
        Assert.Contains("1 cell(s) left out", text, StringComparison.Ordinal);
        Assert.Equal(5, lines.Count(line => line.Contains(Report.ScaledWatermark, StringComparison.Ordinal)));
        // All rows of a table are as wide as its head, in plain text too.
        foreach (var table in text.Split("\n\n").Where(part => part.StartsWith('|')))
            Assert.Single(table.Split('\n').Select(line => line.Length).Distinct());
    }

    [Fact]
    public void Commands_are_written_as_a_shell_reads_them() =>
        Assert.Equal("rb --cmd 'SET {key} '\\''x'\\''' '' -n 5",
            ReportMarkdown.CommandText(["rb", "--cmd", "SET {key} 'x'", "", "-n", "5"]));
}
