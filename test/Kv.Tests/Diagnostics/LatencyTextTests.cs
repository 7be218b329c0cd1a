using System.Globalization;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Tests.Tidy;

namespace Kv.Tests.Diagnostics;

/// <summary>The drawing and the figures that LATENCY makes of samples: those of the reference, for the same
/// samples.</summary>
public sealed class LatencyTextTests
{
    private const long Now = 1_700_000_000;

    public static TheoryData<string, string[]> Recorded()
    {
        var data = new TheoryData<string, string[]>();
        foreach (string part in Repository.Read("test/Kv.Tests/Diagnostics/LatencyGraphs.txt").Split("\n== ")[1..])
        {
            string[] lines = part.TrimEnd('\n').Split('\n');
            data.Add(lines[0], lines[1..]);
        }

        return data;
    }

    [Theory, MemberData(nameof(Recorded))]
    public void Graphs_and_figures_are_those_of_the_reference(string name, string[] lines)
    {
        LatencySample[] samples = [.. Of(lines, "samples ").SelectMany(line => line.Split(' ')).Select(Parse)];
        Assert.Equal(name, $"{samples.Length} samples");
        var series = new LatencySeries(LatencyEvent.Command, samples, samples.Max(sample => sample.Milliseconds));
        Assert.Equal(Of(lines, "|").Select(line => line.TrimStart(' ').Replace('.', ' ')),
            LatencyGraph.Draw(series, Now).TrimEnd('\n').Split('\n'));
        string report = LatencyReport.Write([series], new ServerOptions { LatencyMonitorThreshold = 5 }, Now);
        Assert.Equal(Of(lines, "doctor ").Single(), report.Split('\n')[2]);
    }

    [Theory]
    [InlineData(59, "59s"), InlineData(60, "1m"), InlineData(3599, "59m"), InlineData(3600, "1h")]
    [InlineData(86_399, "23h"), InlineData(86_400, "1d"), InlineData(-5, "0s")]
    public void Ages_are_in_the_largest_unit_that_fits(long seconds, string age)
    {
        var series = new LatencySeries(LatencyEvent.GcPause, [new LatencySample(Now - seconds, 7)], 9);
        string[] lines = LatencyGraph.Draw(series, Now).Split('\n');
        Assert.Equal("gc-pause - high 7 ms, low 7 ms (all time high 9 ms)", lines[0]);
        Assert.Equal(age, string.Concat(lines[7..]));
    }

    [Theory]
    [InlineData(-1, "The slow log is off")]
    [InlineData(10_000, "Lower its threshold: CONFIG SET slowlog-log-slower-than 5000")]
    [InlineData(5000, "- SLOWLOG GET shows")]
    public void Advice_on_commands_goes_by_the_slow_log(long slowerThan, string advice)
    {
        string report = Report(slowerThan, LatencyEvent.Command, LatencyEvent.FastCommand);
        Assert.Contains(advice, report, StringComparison.Ordinal);
        // Two events with one cause: nothing is said twice.
        Assert.Equal(2, report.Split("SLOWLOG GET").Length);
    }

    [Fact]
    public void There_is_advice_on_every_event()
    {
        foreach (var cause in Enum.GetValues<LatencyEvent>())
        {
            string report = Report(5000, cause);
            Assert.Contains($"\n1. {LatencyEvents.NameOf(cause)}: 1 latency spikes", report, StringComparison.Ordinal);
            Assert.Contains(report.Split('\n'), line => line.StartsWith("- ", StringComparison.Ordinal));
            Assert.Equal(cause, LatencyEvents.Find(LatencyEvents.NameOf(cause)));
        }

        Assert.Null(LatencyEvents.Find("COMMAND"));
    }

    private static string Report(long slowerThan, params LatencyEvent[] causes) => LatencyReport.Write(
        [.. causes.Select(cause => new LatencySeries(cause, [new LatencySample(Now, 7)], 7))],
        new ServerOptions { LatencyMonitorThreshold = 5, SlowlogLogSlowerThan = slowerThan }, Now);

    private static IEnumerable<string> Of(string[] lines, string mark) => lines
        .Where(line => line.StartsWith(mark, StringComparison.Ordinal)).Select(line => line[mark.Length..]);

    private static LatencySample Parse(string word)
    {
        long[] numbers = [.. word.Split(':').Select(text => long.Parse(text, CultureInfo.InvariantCulture))];
        return new LatencySample(Now - numbers[0], numbers[1]);
    }
}
