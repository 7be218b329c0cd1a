using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>The events that LATENCY names, each provoked.</summary>
public sealed class LatencyEventTests
{
    // It writes, so it stands alone: all others wait.
    private const string LongScript =
        "EVAL \"redis.call('SET', 'x', 1) local n = 0 for i = 1, 6000000 do n = n + i end return n\" 0";

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Commands_are_events_by_their_flag_and_so_is_the_turn_that_they_make_long(string transport)
    {
        using var kv = KvInstance.Start(WithIdlers(), "--transport", transport, "--latency-monitor-threshold", "20");
        using var client = kv.Connect();
        client.Ok("IDLE 30");
        Assert.True(Worst(client)["command"] >= 30);
        Assert.DoesNotContain("fast-command", Worst(client).Keys);
        client.Ok("FASTIDLE 60");
        Assert.True(Worst(client)["fast-command"] >= 60);
        // Noted when the turn is over, by when the client has its reply.
        Eventually.Holds(() => Worst(client).GetValueOrDefault("worker-turn") >= 60, () => "no turn was long");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void What_EXEC_and_scripts_run_is_an_event_too_and_so_are_they(string transport)
    {
        using var kv = KvInstance.Start(WithIdlers(), "--transport", transport, "--latency-monitor-threshold", "20");
        using var client = kv.Connect();
        client.Say("MULTI\nIDLE 15\nIDLE 15\nEXEC");
        Assert.True(Worst(client)["command"] >= 30);        // EXEC's own time: each of its parts is shorter
        client.Ok("LATENCY RESET");
        client.Say("MULTI\nFASTIDLE 25\nEXEC");
        Assert.True(Worst(client)["fast-command"] >= 25);
        client.Ok("LATENCY RESET");
        client.Ok("EVAL \"return redis.call('FASTIDLE', 25)\" 0");
        Assert.True(Worst(client)["fast-command"] >= 25);
        Assert.True(Worst(client)["command"] >= 25);
    }

    [Fact]
    public void A_script_that_others_wait_for_is_an_event_also_after_they_were_told_that_it_is_busy()
    {
        using var kv = KvInstance.Start("--latency-monitor-threshold", "5", "--busy-reply-threshold", "1");
        using var client = kv.Connect();
        client.Ok("CONFIG SET slowlog-log-slower-than 0");
        client.Ok(LongScript);
        long took = client.Ok("SLOWLOG GET -1").Items!
            .Single(entry => entry.Items![3].Items![0].String == "EVAL").Items![2].Integer;
        // Its first turn is a millisecond; the rest is one piece.
        long noted = Worst(client)["command"];
        Assert.True(noted >= took / 2000, $"{noted} ms are noted of {took} us");
    }

    [Fact]
    public void With_the_threshold_0_nothing_is_noted()
    {
        using var kv = KvInstance.Start(WithIdlers());
        using var client = kv.Connect();
        client.Ok("IDLE 30");
        client.Ok("CONFIG SET latency-monitor-threshold 10");
        client.Ok("IDLE 30");
        Assert.Contains("command", Worst(client).Keys);
        client.Ok("CONFIG SET latency-monitor-threshold 0");
        client.Ok("LATENCY RESET");
        client.Ok("IDLE 30");
        Assert.Empty(Worst(client));
    }

    [Fact]
    public void Collections_that_stop_all_threads_are_events()
    {
        using var kv = KvInstance.Start("--latency-monitor-threshold", "1");
        using var client = kv.Connect();
        // A million objects, each to be marked.
        object[] live = [.. Enumerable.Range(0, 1_000_000).Select(i => new object[] { i })];
        Eventually.Holds(() =>
        {
            GC.Collect(2, GCCollectionMode.Forced, blocking: true);
            return Worst(client).ContainsKey("gc-pause");
        }, () => "no pause was noted");
        GC.KeepAlive(live);
    }

    [Fact]
    public void Rounds_of_expiry_that_take_long_are_events()
    {
        using var kv = KvInstance.Start("--latency-monitor-threshold", "1");
        using var client = kv.Connect();
        Eventually.Holds(() =>
        {
            Fill(client, 20_000, "PX 1");
            return Worst(client).ContainsKey("expire-cycle");
        }, () => "no round was noted");
    }

    [Fact]
    public void Rounds_of_eviction_that_take_long_are_events()
    {
        using var kv = KvInstance.Start("--latency-monitor-threshold", "1", "--maxmemory", "32mb",
            "--maxmemory-policy", "allkeys-lru");
        using var client = kv.Connect();
        Eventually.Holds(() =>
        {
            Fill(client, 20_000, "");
            return Worst(client).ContainsKey("eviction-cycle");
        }, () => "no round was noted");
    }

    private static void Fill(RespClient client, int keys, string rest)
    {
        string value = new('v', 500), run = Guid.NewGuid().ToString("N");
        for (int from = 0; from < keys; from += 1000)
        {
            client.Send([.. Enumerable.Range(from, 1000)
                .SelectMany(i => RespText.Encode($"SET {run}{i} {value} {rest}".TrimEnd()))]);
            for (int i = 0; i < 1000; i++) client.Read();
        }
    }

    /// <summary>The worst milliseconds of each event.</summary>
    private static Dictionary<string, long> Worst(RespClient client) => client.Ok("LATENCY LATEST").Items!
        .ToDictionary(entry => entry.Items![0].String, entry => entry.Items![3].Integer);

    /// <summary>The usual commands, and two that take as many milliseconds as they are told to.</summary>
    private static CommandTable WithIdlers() => new([.. AllCommands.Table.All, Idler("IDLE", CommandFlags.None),
        Idler("FASTIDLE", CommandFlags.Fast)]);

    private static Command Idler(string name, CommandFlags flags) =>
        new(name, 2, (ref CommandContext context) =>
        {
            long milliseconds = context.Args.NextInt64();
            if (!context.Args.Finish(context.Reply)) return;
            long end = Stopwatch.GetTimestamp() + (milliseconds * Stopwatch.Frequency / 1000);
            while (Stopwatch.GetTimestamp() < end) Thread.Sleep(1);
            context.Reply.WriteOk();
        })
        {
            Summary = "For tests.", Complexity = "O(N)", Since = "1.0.0", Group = CommandGroup.Server, Flags = flags,
        };
}
