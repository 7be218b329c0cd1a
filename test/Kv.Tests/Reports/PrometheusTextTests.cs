using System.Text;
using Kv.Server.Reports;

namespace Kv.Tests.Reports;

public class PrometheusTextTests
{
    [Theory]
    [InlineData(0, "0"), InlineData(-1, "-1"), InlineData(0.5, "0.5"), InlineData(123456789012, "123456789012")]
    [InlineData(1e20, "1E+20"), InlineData(double.NaN, "NaN")]
    public void A_number_is_one_that_prometheus_reads(double number, string expected)
    {
        Assert.Equal($"a {expected}\n", Written("a", [], new Sample(number)));
        Assert.Equal(number, Parse(Written("a", [], new Sample(number)))["a"]);
    }

    [Fact]
    public void What_has_a_meaning_is_escaped_in_labels()
    {
        string line = Written("a", ["x", "y"], new Sample(1, "say \"\\\"\nto {all}", "ü"));
        Assert.Equal("a{x=\"say \\\"\\\\\\\"\\nto {all}\",y=\"ü\"} 1\n", line);
        Assert.Equal(1, Parse(line)[line[..^3]]);
    }

    [Fact]
    public void A_page_grows_and_keeps_what_was_written()
    {
        using var page = new PageBuffer();
        var expected = new StringBuilder();
        for (int i = 0; i < 20_000; i++)
        {
            PrometheusText.WriteSample(page, "a", ["i"], new Sample(i, $"{i}"));
            expected.Append($"a{{i=\"{i}\"}} {i}\n");
        }

        Assert.Equal(expected.ToString(), Encoding.UTF8.GetString(page.Written.Span));
    }

    [Theory]
    [InlineData("a 1\n")]                                           // no family
    [InlineData("# HELP a x\n# TYPE a gauge\na 1")]                 // no end
    [InlineData("# HELP a x\n# TYPE a gauge\na 1\na 2\n")]          // twice
    [InlineData("# HELP a x\n# TYPE a gauge\na one\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\na  1\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\n\na 1\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\na{b=\"c} 1\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\nb 1\n")]
    [InlineData("# TYPE a gauge\na 1\n")]
    [InlineData("# HELP a x\n# TYPE a number\na 1\n")]
    [InlineData("# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\na{b=\"c\"} 1\n")]
    public void The_parser_of_these_tests_refuses_what_is_wrong(string text) =>
        Assert.Throws<FormatException>(() => PrometheusPage.Parse(text));

    private static string Written(string name, string[] labels, Sample sample)
    {
        using var page = new PageBuffer();
        PrometheusText.WriteSample(page, name, labels, sample);
        return Encoding.UTF8.GetString(page.Written.Span);
    }

    private static PrometheusPage Parse(string line) => PrometheusPage.Parse($"# HELP a x\n# TYPE a gauge\n{line}");
}
