using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>How long commands take, in LATENCY HISTOGRAM and INFO latencystats.</summary>
public sealed class LatencyHistogramCommandTests
{
    // Of each kind: quick, in a pipeline, of many elements, in EXEC, of a script, in steps, one that waits, wrong.
    private static readonly string[] Mix =
    [
        "SET k v", "GET k", "GET k", "LPUSH wrong", "LPUSH k v", "INCR n", "CONFIG GET port", "CLIENT NO-EVICT on",
        $"SADD set {string.Join(' ', Enumerable.Range(0, 20_000))}", "SMEMBERS set", "KEYS *", "LPUSH list a",
        "BLPOP list 0", "BLPOP none 0.01", "DEBUG SLEEP 0.01", "MULTI", "SET k v", "SMEMBERS set", "GET k", "EXEC",
        "EVAL \"for i = 1, 10 do redis.call('SET', 'k', i) end return redis.call('KEYS', '*')\" 0", "NOTHING",
        $"MSET {string.Join(' ', Enumerable.Range(0, 4000).Select(i => $"{i} v"))}",
        $"MGET {string.Join(' ', Enumerable.Range(0, 5000))}", "WAIT 0 10", "SELECT 1", "SELECT 0",
    ];

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Histograms_have_the_calls_that_commandstats_has(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        for (int round = 0; round < 20; round++)
        {
            byte[] pipeline = [.. Mix.SelectMany(line => RespText.Encode(line))];
            if (round % 2 == 0) client.Send(pipeline);
            foreach (string line in Mix)
            {
                if (round % 2 != 0) client.Send(line);
                client.Read();
            }
        }

        byte[] quick = [.. Enumerable.Range(0, 10_000)
            .SelectMany(i => RespText.Encode(i % 7 == 0 ? "SET k v" : "GET k"))];
        client.Send(quick);
        for (int i = 0; i < 10_000; i++) client.Read();
        var calls = Calls(client);
        var counted = Histograms(client, "").ToDictionary(pair => pair.Key, pair => pair.Value.Calls);
        foreach (var own in new[] { calls, counted }) own.Remove("info");
        Assert.Equal(calls.OrderBy(pair => pair.Key, StringComparer.Ordinal),
            counted.OrderBy(pair => pair.Key, StringComparer.Ordinal));
        Assert.Equal(20L * 2, calls["blpop"]);
        foreach (var (_, (all, bounds)) in Histograms(client, ""))
        {
            Assert.Equal(all, bounds[^1].Count);
            Assert.Equal(bounds.OrderBy(bound => bound.Microseconds).ThenBy(bound => bound.Count), bounds);
            Assert.Equal(bounds.Count, bounds.DistinctBy(bound => bound.Count).Count());
        }
    }

    [Fact]
    public void A_command_in_steps_counts_with_all_of_its_turns()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        for (int i = 0; i < 20; i++)
            client.Ok($"MSET {string.Join(' ', Enumerable.Range(i * 10_000, 10_000).Select(n => $"key:{n} v"))}");
        client.Ok("CONFIG RESETSTAT");
        client.Ok("KEYS *");
        // One call, so all of its time is known to both.
        double usec = double.Parse(Field(client.Ok("INFO commandstats").String, "cmdstat_keys:", "usec"),
            CultureInfo.InvariantCulture);
        Assert.True(usec > 2000, $"200,000 keys took {usec} us, which is no more than one turn");
        Assert.InRange(Percentile(client, "keys", "p50"), usec, (usec * 17 / 16) + 1);
    }

    [Fact]
    public void Bounds_and_percentiles_are_of_what_was_measured()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string numbers = string.Join(' ', Enumerable.Range(0, 20_000));
        client.Ok("CONFIG RESETSTAT");
        client.Ok($"SADD set {numbers}");
        var (calls, bounds) = Histograms(client, "sadd").Single().Value;
        double shown = Percentile(client, "sadd", "p99.9");
        Assert.Equal((1, 1), (calls, bounds.Single().Count));
        Assert.True(bounds[0].Microseconds >= shown * 16 / 17 && bounds[0].Microseconds <= (shown * 2.02) + 2,
            $"{shown} us are in the bound {bounds[0].Microseconds}");
    }

    [Fact]
    public void A_reset_and_the_options_act_at_once()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        for (int i = 0; i < 10; i++) client.Ok("SET k v");
        client.Ok("CONFIG RESETSTAT");
        Assert.Empty(Histograms(client, "set"));
        client.Ok("SET k v");
        Assert.Equal(1, Histograms(client, "set")["set"].Calls);
        client.Command("CONFIG"u8.ToArray(), "SET"u8.ToArray(), "latency-tracking-info-percentiles"u8.ToArray(),
            "0 50.5 100"u8.ToArray());
        Assert.Matches(@"\r\nlatency_percentiles_usec_set:p0=\d+\.\d{3},p50\.5=\d+\.\d{3},p100=\d+\.\d{3}\r\n",
            client.Ok("INFO latencystats").String);
        client.Ok("CONFIG SET latency-tracking-info-percentiles \"\"");
        Assert.Contains("\r\nlatency_percentiles_usec_set:\r\n", client.Ok("INFO latencystats").String,
            StringComparison.Ordinal);
        client.Ok("CONFIG SET latency-tracking no");
        for (int i = 0; i < 1000; i++) client.Ok("INCR n");
        Assert.Equal("# Latencystats\r\n", client.Ok("INFO latencystats").String);
        Assert.Empty(Histograms(client, "incr"));
        client.Ok("CONFIG SET latency-tracking yes");
        for (int i = 0; i < 1000; i++) client.Ok("INCR n");
        Assert.InRange(Histograms(client, "incr")["incr"].Calls, 900, 1100);
    }

    private static Dictionary<string, long> Calls(RespClient client) => client.Ok("INFO commandstats").String
        .Split("\r\n").Where(line => line.StartsWith("cmdstat_", StringComparison.Ordinal))
        .ToDictionary(line => line[8..line.IndexOf(':')], line => long.Parse(
            line[(line.IndexOf('=') + 1)..line.IndexOf(',')], CultureInfo.InvariantCulture))
        .Where(pair => pair.Value > 0).ToDictionary();

    private static double Percentile(RespClient client, string command, string name) => double.Parse(
        Field(client.Ok("INFO latencystats").String, $"latency_percentiles_usec_{command}:", name),
        CultureInfo.InvariantCulture);

    private static string Field(string info, string line, string name) => info.Split("\r\n")
        .Single(candidate => candidate.StartsWith(line, StringComparison.Ordinal))[line.Length..].Split(',')
        .Single(field => field.StartsWith(name + "=", StringComparison.Ordinal))[(name.Length + 1)..];

    private static Dictionary<string, (long Calls, List<(long Microseconds, long Count)> Bounds)> Histograms(
        RespClient client, string names)
    {
        var items = client.Ok($"LATENCY HISTOGRAM {names}".TrimEnd()).Items!;
        return items.Chunk(2).ToDictionary(pair => pair[0].String, pair =>
        {
            var entry = pair[1].Items!;
            Assert.Equal(["calls", "histogram_usec"], [entry[0].String, entry[2].String]);
            return (entry[1].Integer,
                entry[3].Items!.Chunk(2).Select(bound => (bound[0].Integer, bound[1].Integer)).ToList());
        });
    }
}
