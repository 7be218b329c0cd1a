using System.Diagnostics;
using System.Globalization;
using Kv.Server.Execution;
using Kv.Server.Metrics;
using Kv.Tests.Harness;

namespace Kv.Tests.Metrics;

/// <summary>How often commands were called, and for how long they ran.</summary>
public sealed class CommandCountsTests
{
    private static readonly long Microsecond = Stopwatch.Frequency / 1_000_000;

    [Fact]
    public void The_first_run_is_timed_and_each_behind_a_slow_one_but_of_quick_ones_one_in_some()
    {
        foreach (bool isFast in new[] { true, false })
        {
            var counts = new CommandCounts();
            for (int i = 0; i < 5; i++)
            {
                Assert.NotEqual(0, counts.Begin());
                counts.Calls++;
                counts.AddRun(1000 * Microsecond, 1, isFast);
            }

            Assert.Equal(5000, counts.Microseconds);
            Assert.NotEqual(0, counts.Begin());
            counts.Calls++;
            counts.AddRun(2 * Microsecond, 1, isFast);
            int passed = 0;
            for (; counts.Begin() == 0; passed++) counts.Calls++;
            Assert.InRange(passed, 10, 100);
            // as long as the last one took, until one is timed
            Assert.Equal(5002 + (2 * passed), counts.Microseconds);
            counts.Calls += 3;
            counts.AddRun(9 * Microsecond, 3, isFast);
            Assert.Equal(5002 + (3 * (passed + 3)), counts.Microseconds);
        }
    }

    [Fact]
    public void Workers_are_added_up()
    {
        var quick = new CommandCounts { Calls = 10, Failed = 1 };
        Assert.NotEqual(0, quick.Begin());
        quick.AddRun(5 * Microsecond, 1, isFast: true);
        quick.Calls += 2;
        var slow = new CommandCounts { Calls = 1, Rejected = 2 };
        Assert.NotEqual(0, slow.Begin());
        slow.AddRun(400 * Microsecond, 1, isFast: true);
        var sum = new CommandCounts();
        sum.Add(quick);
        sum.Add(slow);
        Assert.Equal((13L, 1L, 2L, 460L), (sum.Calls, sum.Failed, sum.Rejected, sum.Microseconds));
    }

    [Fact]
    public void A_slow_run_that_is_timed_before_its_turn_does_not_stand_for_the_quick_ones_before_it()
    {
        var counts = new CommandCounts();
        Run(ref counts, 1, 2 * Microsecond);
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal(0, counts.Begin());
            counts.Calls++;
        }

        Assert.Equal(0, counts.Begin());
        counts.Calls++;
        counts.AddRun(5000 * Microsecond, 1, isFast: false, tracks: true);
        Assert.Equal(2 + (10 * 2) + 5000, counts.Microseconds);
        var latencies = new LatencyHistogram();
        counts.AddLatenciesTo(latencies);
        Assert.Equal(12, latencies.Total);
        Assert.InRange(latencies.AtPercentile(91), 2000, 2125);
        Assert.InRange(latencies.AtPercentile(100), 5_000_000, 5_312_500);
    }

    [Fact]
    public void The_histogram_has_each_call_once_however_it_was_timed()
    {
        var random = Seed.NewRandom();
        var counts = new CommandCounts();
        int going = 0;
        for (int i = 0; i < 20_000; i++)
        {
            int calls = random.Next(1, 33);
            bool goesOn = random.Next(10) == 0, waits = goesOn && random.Next(2) == 0;
            long begin = counts.Begin();
            bool isTimed = begin != 0 || random.Next(20) == 0;
            counts.Calls += waits ? calls - 1 : calls;
            if (goesOn && !waits) counts.BeginSteps();
            long ticks = random.Next(10) == 0 ? 100 * Microsecond : calls * Microsecond;
            if (isTimed) counts.AddRun(ticks, calls, isFast: true, tracks: true, goesOn);
            if (goesOn && !waits) going++;
            if (waits)
            {
                counts.Calls++;
                counts.EndSteps(Microsecond, tracks: true, wasCountedNow: true);
            }

            if (going > 0 && random.Next(3) == 0)
            {
                counts.EndSteps(10 * Microsecond, tracks: true, wasCountedNow: false);
                going--;
            }

            var latencies = new LatencyHistogram();
            counts.AddLatenciesTo(latencies);
            Assert.True(counts.Calls - going == latencies.Total,
                $"{latencies.Total} of {counts.Calls} - {going} calls after {i} runs. {Seed.Hint}");
        }
    }

    [Fact]
    public void Each_call_of_a_run_counts_with_its_share_and_stands_for_those_that_were_not_timed()
    {
        var counts = new CommandCounts();
        Run(ref counts, 4, 400 * Microsecond);
        Run(ref counts, 2, 6 * Microsecond);
        for (; counts.Begin() == 0;) counts.Calls += 5;
        counts.Calls += 5;
        counts.AddRun(5 * Microsecond, 5, isFast: true, tracks: true);
        var latencies = new LatencyHistogram();
        counts.AddLatenciesTo(latencies);
        Assert.Equal(counts.Calls, latencies.Total);
        Assert.Equal([(9, 0L), (10, counts.Calls - 4 - 2), (11, counts.Calls - 4 - 2), (12, counts.Calls - 4),
            (16, counts.Calls - 4), (17, counts.Calls)],
            latencies.Cumulative(9).Where(pair => pair.Exponent is <= 12 or 16 or 17));
        counts.AddRun(Microsecond, 1, isFast: true, tracks: false);
        Assert.Equal(counts.Calls, latencies.Total);
    }

    private static void Run(ref CommandCounts counts, int calls, long ticks)
    {
        Assert.NotEqual(0, counts.Begin());
        counts.Calls += calls;
        counts.AddRun(ticks, calls, isFast: true, tracks: true);
    }

    [Fact]
    public void What_commands_took_is_told_and_forgotten_by_a_reset()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        for (int i = 0; i < 100; i++)
            client.Command("RPUSH list " + string.Join(
                ' ', Enumerable.Range(i * 1000, 1000).Select(n => n * 7919 % 100_000)));
        for (int i = 0; i < 3; i++) client.Command("SORT list LIMIT 0 1");
        client.Command("SORT list BY");        // fails
        client.Command("MULTI");
        client.Command("SORT list LIMIT 0 1");
        client.Command("EXEC");
        foreach (string line in new[] { "SADD set " + string.Join(' ', Enumerable.Range(0, 20_000)), "SMEMBERS set",
            "GET none", "CONFIG GET port" }) client.Command(line);
        foreach (var (name, calls) in new[] { ("sort", 5), ("exec", 1), ("sadd", 1), ("smembers", 1), ("rpush", 100),
            ("config|get", 1) })
        {
            var (told, usec, each) = Told(client, name);
            Assert.Equal(calls, told);
            Assert.Equal((usec / calls).ToString("F2", CultureInfo.InvariantCulture), each);
            if (name is "sort" or "exec" or "sadd" or "smembers" or "rpush")
                Assert.True(usec > 0, $"{name} took {usec}");
        }

        client.Command("CONFIG RESETSTAT");
        Assert.DoesNotContain("cmdstat_sort", client.Command("INFO commandstats").String, StringComparison.Ordinal);
        client.Command("SORT list LIMIT 0 1");
        Assert.Equal(1, Told(client, "sort").Calls);
        Assert.True(Told(client, "sort").Usec > 0);
    }

    private static (long Calls, double Usec, string Each) Told(RespClient client, string name)
    {
        string line = client.Command("INFO commandstats").String.Split("\r\n")
            .Single(line => line.StartsWith($"cmdstat_{name}:", StringComparison.Ordinal));
        var fields = line[(line.IndexOf(':') + 1)..].Split(',').Select(field => field.Split('='))
            .ToDictionary(pair => pair[0], pair => pair[1]);
        return (long.Parse(fields["calls"], CultureInfo.InvariantCulture),
            double.Parse(fields["usec"], CultureInfo.InvariantCulture), fields["usec_per_call"]);
    }
}
