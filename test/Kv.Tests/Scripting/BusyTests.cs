using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>A script that takes longer than busy-reply-threshold while it stands alone: what others are told, and what
/// they can do.</summary>
public sealed class BusyTests
{
    // It uses a key that it has not declared, so that it stands alone here; and changes nothing.
    private const string Endless = "redis.call('GET','undeclared') while true do end",
        EndlessInPcall = "redis.call('GET','undeclared') while true do pcall(function() while true do end end) end",
        EndlessWriter = "redis.call('SET','w','1') redis.call('RPUSH','q','x') while true do end",
        Libraries = "#!lua name=l\nredis.register_function('f', function() " + Endless + " end)\n"
            + "redis.register_function('g', function() " + EndlessWriter + " end)";

    private static readonly string[][] Asked =
    [
        ["PING"], ["GET", "a"], ["SET", "a", "1"], ["NOSUCH"], ["GET"], ["MULTI"], ["SET", "x", "1"], ["EXEC"],
        ["MULTI"], ["DISCARD"], ["WATCH", "k"], ["UNWATCH"], ["RESET"], ["AUTH", "x"], ["AUTH"], ["SHUTDOWN"],
        ["SHUTDOWN", "SAVE"], ["SHUTDOWN", "x"], ["FUNCTION", "STATS"], ["FUNCTION", "LIST"],
        ["SCRIPT", "EXISTS", "a"], ["CLIENT", "ID"], ["EVAL", "return 1", "0"], ["SUBSCRIBE", "c"],
        ["CONFIG", "GET", "x"], ["HELLO", "9"],
    ];

    public static TheoryData<string, string, string, bool> Scripts => new()
    {
        { "epoll", "1", Endless, false }, { "epoll", "2", Endless, false }, { "pipelines", "1", Endless, false },
        { "pipelines", "2", EndlessInPcall, false }, { "epoll", "1", EndlessInPcall, false },
        { "epoll", "1", EndlessWriter, false }, { "epoll", "2", EndlessWriter, false },
        { "pipelines", "1", EndlessWriter, false },
        { "epoll", "1", "f", true }, { "epoll", "2", "g", true }, { "pipelines", "1", "f", true },
    };

    [Theory, MemberData(nameof(Scripts))]
    public void Others_are_told_what_the_reference_tells_them(string transport, string workers, string script,
        bool isFunction)
    {
        using var redis = RedisServer.Start("--busy-reply-threshold", "50");
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", workers,
            "--busy-reply-threshold", "50", "--script-time-limit", "0");
        bool isEnded = script is not (EndlessWriter or "g");
        var answers = Array.ConvertAll<TestServer, List<string>>([redis, kv],
            server => Ask(server, script, isFunction, isEnded));
        Assert.Equal(answers[0], answers[1]);
        if (isEnded) return;
        // Only this ends it.
        using var last = kv.Connect();
        last.Send("SHUTDOWN NOSAVE");
        Assert.True(last.IsClosedByServer());
        Eventually.Holds(() => kv.Server.StopRequested.IsCompleted, () => "the server was not asked to stop");
    }

    [Fact]
    public void What_a_script_took_while_others_were_told_so_counts_in_its_statistics()
    {
        using var kv = KvInstance.Start("--busy-reply-threshold", "50", "--script-time-limit", "0");
        using RespClient runs = kv.Connect(), asks = kv.Connect();
        asks.Ok("CONFIG SET slowlog-log-slower-than 0");
        runs.Send(RespText.Encode([.. Words("EVAL", Endless, "0")]));
        Eventually.Holds(() => asks.Command("PING").IsError, () => "nobody is told that a script runs");
        Thread.Sleep(200);      // however much of that it gets
        asks.Ok("SCRIPT KILL");
        Assert.True(runs.Read().IsError);
        var entry = asks.Ok("SLOWLOG GET -1").Items!.Single(one => one.Items![3].Items![0].String == "EVAL");
        string counts = asks.Info("cmdstat_eval");
        long microseconds = long.Parse(counts.Split("usec=")[1].Split(',')[0]);
        Assert.InRange(microseconds, entry.Items![2].Integer - 1, long.MaxValue);
    }

    private static List<string> Ask(TestServer server, string script, bool isFunction, bool isEnded)
    {
        using RespClient runs = server.Connect(), asks = server.Connect(), queued = server.Connect();
        asks.Command(Words("FUNCTION", "LOAD", Libraries));
        queued.Command("WATCH w");
        queued.Command("MULTI");
        queued.Command("SET x 1");
        runs.Send(RespText.Encode(Words(isFunction ? "FCALL" : "EVAL", script, "0")));
        using (var waits = server.Connect())
        {
            // Ends: the script has no end, and the server is busy once it takes long.
            while (!waits.Command("PING").ToString().StartsWith("-BUSY", StringComparison.Ordinal))
            {
            }
        }

        var answers = new List<string> { queued.Command("EXEC").ToString() };
        // The second one ends it, if anything does.
        string[][] kills = [[isFunction ? "SCRIPT" : "FUNCTION", "KILL"], [isFunction ? "FUNCTION" : "SCRIPT", "KILL"]];
        foreach (string[] words in Asked.Concat(kills))
        {
            string answer = asks.Command(Words(words)).ToString();
            // How long it has run is nobody's choice.
            int time = answer.IndexOf("\"duration_ms\"", StringComparison.Ordinal);
            answers.Add($"{string.Join(' ', words)}: {(time < 0 ? answer : answer[..time])}");
        }

        if (!isEnded) return answers;
        answers.Add(runs.Read().ToString());
        answers.Add(asks.Command("PING").ToString());
        answers.Add(asks.Command("SCRIPT KILL").ToString());
        return answers;
    }

    [Fact]
    public void L08_a_client_that_goes_does_not_stop_its_script()
    {
        using var kv = KvInstance.Start("--worker-threads", "1", "--busy-reply-threshold", "50",
            "--script-time-limit", "0", "--enable-debug-command", "yes");
        using var other = kv.Connect();
        for (int i = 0; i < 4; i++)
        {
            using (var client = kv.Connect())
            {
                client.Send(RespText.Encode(Words("EVAL", Endless, "0")));
                WaitUntilBusy(other);
                if (i % 2 == 0) client.Reset();
            }

            Assert.StartsWith("-BUSY", other.Command("GET k").ToString(), StringComparison.Ordinal);
            Assert.Equal("+OK", other.Command("SCRIPT KILL").ToString());
            // Ends: the script does, which was killed.
            while (other.Command("SET k v").ToString() != "+OK")
            {
            }
        }

        other.Ok("DEBUG INTEGRITY");
    }

    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public void The_server_ends_while_a_script_has_no_end(string transport)
    {
        foreach (string script in new[] { Endless, EndlessWriter, "while true do end" })
        {
            using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2",
                "--busy-reply-threshold", "50", "--script-time-limit", "0");
            using RespClient client = kv.Connect(), other = kv.Connect();
            client.Send(RespText.Encode(Words("EVAL", script, "0")));
            if (script != "while true do end") WaitUntilBusy(other);
            kv.Dispose();
            Assert.True(kv.Server.EndedInOrder);
        }
    }

    [Theory, InlineData("epoll", "1"), InlineData("epoll", "2"), InlineData("pipelines", "2")]
    public void Who_needs_a_key_that_a_script_holds_for_long_is_told_and_nobody_else(string transport, string workers)
    {
        const string script = "redis.call('SET',KEYS[1],'1') while true do end";
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", workers,
            "--busy-reply-threshold", "50", "--script-time-limit", "0");
        using RespClient client = kv.Connect(), other = kv.Connect(), queued = kv.Connect();
        queued.Command("MULTI");
        queued.Command("INCR k");
        client.Send(RespText.Encode(Words("EVAL", script, "1", "k")));
        // Ends: the script has no end.
        while (other.Command("SCRIPT KILL").ToString().StartsWith("-NOTBUSY", StringComparison.Ordinal))
        {
        }

        Assert.StartsWith("-UNKILLABLE", other.Command("SCRIPT KILL").ToString(), StringComparison.Ordinal);
        foreach (string needs in (string[])["GET k", "SET k v", "INCR k", "DEL k", "MGET a k", "MSET a 1 k 2",
            "APPEND k x", "RENAME a k", "EXISTS k", "EXPIRE k 100", "LPUSH k x", "TYPE k", "BLPOP k 0", "RENAME k a"])
            Assert.StartsWith("-BUSY Redis is busy", other.Command(needs).ToString(), StringComparison.Ordinal);

        Assert.StartsWith("-BUSY", queued.Command("EXEC").ToString(), StringComparison.Ordinal);
        foreach (string alone in (string[])["GET 'other'", "INCR 'other'", "SET 'k' 1"])
        {
            string[] words = alone.Replace("'", "", StringComparison.Ordinal).Split(' ');
            string quoted = string.Join(',', words.Select(word => $"'{word}'"));
            Assert.StartsWith("-BUSY", other.Command(Words("EVAL", $"return redis.call({quoted})", "0")).ToString(),
                StringComparison.Ordinal);
        }

        Assert.StartsWith("-BUSY", other.Command(Words("EVAL", script, "1", "k")).ToString(),
            StringComparison.Ordinal);
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal("+PONG", other.Command("PING").ToString());
            Assert.Equal($":{i + 1}", other.Command("INCR free").ToString());
            Assert.Equal(":1", other.Command(Words("EVAL", "return redis.call('SADD',KEYS[1],ARGV[1])", "1", "s",
                $"{i}")).ToString());
        }

        Assert.Equal("+OK", queued.Command("FLUSHALL").ToString());
        other.Send("SHUTDOWN NOSAVE");
        Assert.True(other.IsClosedByServer());
        kv.Dispose();
        Assert.True(kv.Server.EndedInOrder);
    }

    [Fact]
    public void In_EXEC_other_workers_are_told_and_may_kill_it()
    {
        using var kv = KvInstance.Start("--worker-threads", "2", "--busy-reply-threshold", "50", "--script-time-limit",
            "0");
        // One each of the workers.
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Command("MULTI");
        client.Command(Words("EVAL", Endless, "0"));
        client.Send("EXEC");
        WaitUntilBusy(other);
        Assert.Equal("+OK", other.Command("SCRIPT KILL").ToString());
        Assert.Contains("Script killed by user", client.Read().ToString(), StringComparison.Ordinal);
        Assert.Equal("+PONG", other.Command("PING").ToString());
    }

    [Fact]
    public void Who_waits_gets_what_a_long_script_has_pushed_and_nobody_sees_half_of_it()
    {
        // Longer than the threshold by far; what is asserted holds however long it takes.
        const string script = "redis.call('RPUSH','q','x') redis.call('SET','half','1') local s = redis.call('TIME') "
            + "repeat local n = redis.call('TIME') until (n[1]-s[1])*1e6+n[2]-s[2] > 400000 "
            + "redis.call('DEL','half') return redis.call('LLEN','q')";
        using var kv = KvInstance.Start("--worker-threads", "2", "--busy-reply-threshold", "20");
        using RespClient client = kv.Connect(), waiting = kv.Connect(), other = kv.Connect(), queued = kv.Connect();
        kv.Block(waiting, "BLPOP q 0");
        queued.Command("WATCH half");
        queued.Command("MULTI");
        queued.Command("PING");
        client.Send(RespText.Encode(Words("EVAL", script, "0")));
        string seen;
        // Ends: the script does.
        do
        {
            seen = other.Command("EXISTS half").ToString();
            Assert.True(seen == ":0" || seen.StartsWith("-BUSY", StringComparison.Ordinal), seen);
        }
        while (!client.HasInput);
        Assert.Equal(":1", client.Read().ToString());
        Assert.Equal("[\"q\" \"x\"]", waiting.Read().ToString());
        Assert.Equal(":0", other.Command("LLEN q").ToString());
        Assert.True(queued.Command("EXEC").IsNull);
    }

    [Fact]
    public void Without_a_threshold_nobody_is_told_and_all_wait()
    {
        using var kv = KvInstance.Start("--worker-threads", "2", "--busy-reply-threshold", "0", "--script-time-limit",
            "300");
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Send(RespText.Encode(Words("EVAL", Endless, "0")));
        for (int i = 0; i < 20; i++) Assert.Equal("+PONG", other.Command("PING").ToString());
        Assert.Contains("script-time-limit", client.Read().ToString(), StringComparison.Ordinal);
    }

    private static void WaitUntilBusy(RespClient client)
    {
        // Ends: a script without end runs, or is about to.
        while (!client.Command("PING").ToString().StartsWith("-BUSY", StringComparison.Ordinal))
        {
        }
    }

    private static byte[][] Words(params string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];
}
