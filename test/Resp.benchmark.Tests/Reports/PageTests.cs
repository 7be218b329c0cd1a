using System.Globalization;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using RespBenchmark.Reports;

namespace RespBenchmark.Tests.Reports;

/// <summary>The page in a real browser: what it draws of fixed figures is counted.</summary>
public sealed class PageTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("page").FullName;

    // Closed: 14 bars of GET and SETIFPM's one (two panels); of those each percentile; spectra of the first cell; two
    // targets in 16 columns client and server; a ratio a metric and compared cell.
    private static readonly Dictionary<string, int> MarksOfClosed = new()
    {
        ["throughput"] = 15, ["latency"] = 4 * 14, ["cpu"] = 30, ["ratios"] = 4 * 7,
    };

    [Fact]
    public void Every_figure_of_a_sweep_is_drawn()
    {
        string dom = Dom(SampleReport.Closed());

        foreach (var (section, marks) in MarksOfClosed) Assert.Equal(marks, Marks(dom, section).Sum());
        // The variant shown first: a line a target with its points; a second-by-second line a series and 15 points.
        Assert.True(Assert.Single(Marks(dom, "spectrum")) >= 2);
        Assert.Equal([16, 48], Marks(dom, "seconds"));
        Assert.Single(Regex.Matches(Section(dom, "throughput"), "<pattern"));       // the CLIENT-BOUND cell is hatched
        Assert.Contains(">n/a<", Section(dom, "throughput"), StringComparison.Ordinal);
        Assert.DoesNotContain("<script>alert", dom, StringComparison.Ordinal);
    }

    [Fact]
    public void Latency_against_rate_marks_the_knee_of_each_target()
    {
        string rates = Section(Dom(SampleReport.Open()), "rates");

        Assert.Equal(4 + 4 * SampleReport.Rates.Length, Regex.Count(rates, "class=\"mark\""));
        Assert.Contains(">knee A<", rates, StringComparison.Ordinal);
        Assert.Contains(">knee B<", rates, StringComparison.Ordinal);
    }

    [Fact]
    public void Scaled_figures_carry_the_watermark_on_every_chart_and_table()
    {
        string dom = Dom(SampleReport.Closed(Report.ScaledWatermark));

        int charts = Regex.Count(dom, "<figure"), tables = Regex.Count(dom, "<table");
        Assert.Equal(charts, Regex.Count(dom, "class=\"watermark\""));
        Assert.Equal(tables, Regex.Count(dom, "<caption>" + Report.ScaledWatermark));
        Assert.True(charts >= 10 && tables > charts);
    }

    [Theory]
    [InlineData(1280)]
    [InlineData(500)]        // the narrowest window headless Chromium opens
    public void What_is_seen_has_the_colours_of_both_targets_and_nothing_wider_than_the_window(int width)
    {
        var picture = Picture(SampleReport.Closed(), width, 3000);

        Assert.Equal(width, picture.Width);
        // The page's first two colours, report.css: a bar of 300 x 30 alone has 9,000 of them.
        Assert.True(picture.Count(0x00, 0x72, 0xB2) > 5_000, "A's blue");
        Assert.True(picture.Count(0xD5, 0x5E, 0x00) > 5_000, "B's orange");
    }

    // A frame stands for the window: Chromium opens none narrower than 500 px, and the style looks at the frame's
    // width.
    [Theory]
    [InlineData(1100)]
    [InlineData(380)]
    public void The_reason_of_a_cell_that_is_not_available_is_seen_whole(int width)
    {
        const string measure = """
            <script>
            addEventListener('load', () => {
              const reasons = [...document.querySelectorAll('.reason')].map(one => one.getBoundingClientRect());
              parent.postMessage(['reasons', reasons.length, 'right', Math.ceil(Math.max(...reasons.map(one => one.right))),
                'page', document.documentElement.scrollWidth, 'end'].join(' '), '*');
            });
            </script>
            """;
        string page = Path.Combine(_folder, "framed.html");
        File.WriteAllText(page, ReportHtml.Write(SampleReport.Closed()) + measure);
        string frame = $"<script>onmessage = event => document.body.append(event.data)</script><iframe "
            + $"src=\"framed.html\" width=\"{width}\" height=\"900\" frameborder=\"0\"></iframe>";
        var run = Browser(frame, "--dump-dom", "--virtual-time-budget=20000", "--window-size=1400,1000");

        var found = Regex.Match(run.Output, "reasons ([0-9]+) right ([0-9]+) page ([0-9]+) end");
        Assert.True(found.Success, run.Errors + run.Output);
        Assert.Equal("1", found.Groups[1].Value);
        Assert.InRange(int.Parse(found.Groups[2].Value, CultureInfo.InvariantCulture), 1, width);
        Assert.InRange(int.Parse(found.Groups[3].Value, CultureInfo.InvariantCulture), 1, width);
    }

    [Fact]
    public void The_page_names_no_other_file_and_no_address()
    {
        string html = ReportHtml.Write(SampleReport.Closed());

        Assert.Empty(Regex.Matches(html, "(src|href)=\"(?!#)[^\"]*\"|@import|url\\((?!['\"`]?#)")
            .Select(match => match.Value));
        Assert.Equal("http://www.w3.org/2000/svg",
            Assert.Single(Regex.Matches(html, "https?://[^'\"` ]+").Select(match => match.Value).Distinct()));
        Assert.Contains("default-src 'none'", html, StringComparison.Ordinal);
    }

    [Fact]
    public void Text_of_servers_and_users_cannot_become_markup()
    {
        string html = ReportHtml.Write(SampleReport.Closed());

        Assert.DoesNotContain("<script>alert", html, StringComparison.Ordinal);
        Assert.DoesNotContain("<b>'x'", html, StringComparison.Ordinal);
        Assert.Equal(2, Regex.Count(html, "</script>"));
    }

    [Fact]
    public void A_report_without_cells_is_a_page_too() =>
        Assert.Contains("Results", Dom(new Report { Tool = "t" }), StringComparison.Ordinal);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private string Dom(Report report)
    {
        var run = Browser(report, "--dump-dom");
        Assert.True(run.Output.Contains("</html>", StringComparison.Ordinal), run.Errors);
        return run.Output;
    }

    private PngPicture Picture(Report report, int width, int height)
    {
        string png = Path.Combine(_folder, "page.png");
        var run = Browser(report, $"--screenshot={png}", $"--window-size={width},{height}", "--hide-scrollbars");
        Assert.True(File.Exists(png), run.Errors);
        return PngPicture.Read(File.ReadAllBytes(png));
    }

    private ChildResult Browser(Report report, params string[] what) => Browser(ReportHtml.Write(report), what);

    private ChildResult Browser(string html, params string[] what)
    {
        string page = Path.Combine(_folder, "page.html");
        File.WriteAllText(page, html);
        string[] quiet =
        [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
            $"--user-data-dir={Path.Combine(_folder, "profile")}",
        ];
        return ChildProcess.Run(Requires.Browser(), [.. quiet, .. what, "file://" + page], timeoutMs: 180_000);
    }

    private static string Section(string dom, string id)
    {
        var found = Regex.Match(dom, $"<section id=\"{id}\">.*?</section>", RegexOptions.Singleline);
        Assert.True(found.Success, $"no section {id}");
        return found.Value;
    }

    private static int[] Marks(string dom, string section) =>
        [.. Regex.Matches(Section(dom, section), "data-marks=\"([0-9]+)\"")
            .Select(match => int.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture))];
}
