using System.Diagnostics;
using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Diagnostics;

/// <summary>KV.HOTKEYS and INFO hotkeys: what clients have used, and who is told.</summary>
public sealed class HotKeyCommandTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Keys_come_by_how_often_they_are_used(string transport)
    {
        using var kv = KvInstance.Start(new TestClock(), "--transport", transport);
        using var client = kv.Connect();
        Assert.Empty(Keys(client, "KV.HOTKEYS"));
        Repeat(client, 100, "GET read");
        Repeat(client, 60, "SET written 1");
        Repeat(client, 15, "INCR both");
        Repeat(client, 25, "GET both");
        Repeat(client, 50, "PING");
        var keys = Keys(client, "KV.HOTKEYS");
        Assert.Equal(["read", "written", "both"], keys.Select(key => key.Name));
        // Few enough that each is counted; the clock stands still, and the table is as old as it can be then.
        Assert.Equal([50.0, 30.0, 20.0], keys.Select(key => key.Percent));
        Assert.Equal([(100_000, 0), (0, 60_000), (25_000, 15_000)], keys.Select(key => (key.Reads, key.Writes)));
        Assert.Equal(["read", "both"], Keys(client, "KV.HOTKEYS READS").Select(key => key.Name));
        Assert.Equal(["written"], Keys(client, "KV.HOTKEYS COUNT 1 WRITES").Select(key => key.Name));
        client.Ok("CONFIG RESETSTAT");
        Assert.Empty(Keys(client, "KV.HOTKEYS"));
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Each_key_of_a_command_is_found_wherever_it_stands(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        foreach (string call in (string[])["EVAL \"return 1\" 1 @",
            "XREAD STREAMS @ 0", "ZINTER 1 @", "BLPOP @ 0.001", "LMPOP 1 @ LEFT", "SORT @", "XINFO STREAM @",
            "HGET @ f", "SET @ v GET"])
        {
            client.Ok("CONFIG RESETSTAT");
            Repeat(client, 10, call.Replace("@", "the-key", StringComparison.Ordinal));
            Assert.Equal([("the-key", 100.0)], Keys(client, "KV.HOTKEYS").Select(key => (key.Name, key.Percent)));
        }

        // One of several, by chance, counts for all of them.
        client.Ok("CONFIG RESETSTAT");
        Repeat(client, 400, "MGET a b c d");
        var keys = Keys(client, "KV.HOTKEYS");
        Assert.Equal(["a", "b", "c", "d"], keys.Select(key => key.Name).Order());
        Assert.All(keys, key => Assert.InRange(key.Percent, 10, 45));
        client.Ok("CONFIG RESETSTAT");
        Repeat(client, 200, "COPY from to REPLACE");
        keys = Keys(client, "KV.HOTKEYS");
        Assert.Equal((0, true), (keys.Single(key => key.Name == "to").Reads, keys.All(key => key.Percent > 20)));
        Assert.Equal(0, keys.Single(key => key.Name == "from").Writes);
    }

    [Fact]
    public void What_cannot_be_run_or_is_not_allowed_is_no_use()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        using var admin = kv.Connect();
        using var client = kv.Connect();
        Repeat(client, 10, "GET unauthenticated");
        admin.Ok("AUTH secret");
        admin.Ok("ACL SETUSER u on nopass ~mine* +get");
        client.Ok("AUTH u x");
        Repeat(client, 10, "GET theirs");
        Repeat(client, 10, "SET mine:1 v");
        Repeat(client, 10, "GET mine:1 too many");
        Repeat(client, 10, "NOSUCH mine:1");
        // redis-cli --hotkeys and --memkeys ask this of every key.
        Repeat(admin, 10, "OBJECT FREQ mine:1");
        Repeat(admin, 10, "MEMORY USAGE mine:1");
        Assert.Empty(Keys(admin, "KV.HOTKEYS"));
        Repeat(client, 10, "GET mine:1");
        Assert.Equal(["mine:1"], Keys(admin, "KV.HOTKEYS").Select(key => key.Name));
    }

    [Fact]
    public void Who_may_not_read_a_key_is_not_told_of_it()
    {
        using var kv = KvInstance.Start();
        using var admin = kv.Connect();
        using var client = kv.Connect();
        string longName = "mine:" + new string('n', 500);
        foreach (string key in (string[])["mine:1", "theirs", "written", longName]) Repeat(admin, 10, $"SET {key} v");
        Assert.Equal(4, Keys(admin, "KV.HOTKEYS").Count);
        admin.Ok("ACL SETUSER u on nopass %R~mine* %W~written +@all");
        client.Ok("AUTH u x");
        // Of a long name only the beginning is known: not enough to judge by.
        Assert.Equal(["mine:1"], Keys(client, "KV.HOTKEYS").Select(key => key.Name));
        Assert.DoesNotContain("theirs", client.Ok("INFO hotkeys").String, StringComparison.Ordinal);
        Assert.Contains(",key=mine:1,", client.Ok("INFO hotkeys").String, StringComparison.Ordinal);
        admin.Ok("ACL SETUSER u %R~*");
        Assert.Equal(4, Keys(client, "KV.HOTKEYS").Count);
        Assert.Equal(505, client.Ok("KV.HOTKEYS").Items!.Max(key => key.Items![3].Integer));
        admin.Ok("ACL SETUSER u -@admin");
        Assert.True(client.Command("KV.HOTKEYS").IsError);
        Assert.True(client.Command("KV.BIGKEYS").IsError);
    }

    [Fact]
    public void INFO_has_them_in_a_section_that_is_only_shown_by_its_name()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("SELECT 3");
        Repeat(client, 10, "GET \"a,b=c\\r\\n d\"");
        string text = client.Ok("INFO hotkeys").String;
        Assert.Matches("^# Hotkeys\r\nkv_key_uses_per_sec:[0-9.]+\r\nkv_hottest_key_percent:100.00\r\n"
            + "kv_hotkey_0:db=3,key=a\\\\x2cb\\\\x3dc\\\\x0d\\\\x0a\\\\x20d,reads_per_sec=[0-9.]+,writes_per_sec=0.00,"
            + "percent=100.00\r\n$", text);
        foreach (string sections in (string[])["", "all", "everything", "default"])
            Assert.DoesNotContain("# Hotkeys", client.Ok($"INFO {sections}").String, StringComparison.Ordinal);
    }

    [Fact]
    public void Deep_pipelines_of_many_clients_are_sampled()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        var clients = Enumerable.Range(0, 4).Select(_ => kv.Connect()).ToList();
        // 60 % of 200,000 uses are of one key; which it is, each worker finds out from some thousand samples.
        byte[] batch = [.. Enumerable.Range(0, 1000).SelectMany(i => RespText.Encode(i % 5 < 3 ? "GET hot"
            : $"GET cold{i}"))];
        for (int round = 0; round < 50; round++)
        {
            foreach (var client in clients) client.Send(batch);
            foreach (var client in clients)
                for (int i = 0; i < 1000; i++) client.Read();
        }

        var first = Keys(clients[0], "KV.HOTKEYS")[0];
        Assert.Equal("hot", first.Name);
        Assert.InRange(first.Percent, 45, 75);
        foreach (var client in clients) client.Dispose();
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Commands_that_take_more_than_a_turn_are_counted_once(string transport)
    {
        using var kv = KvInstance.Start(new TestClock(), "--transport", transport);
        using var client = kv.Connect();
        client.Ok("SETRANGE large 67108864 x");
        // Each takes longer than a share of a turn: those after it in the window are parsed once more for each.
        Repeat(client, 20, "BITCOUNT large");
        Repeat(client, 10, "GET small");
        Assert.Equal([("large", 20_000, 1_000), ("small", 10_000, 0)],
            Keys(client, "KV.HOTKEYS").Select(key => (key.Name, (int)key.Reads, (int)key.Writes)));
    }

    [Fact]
    public void A_wall_clock_that_is_set_back_changes_no_rate()
    {
        var wall = new WallClock();
        using var kv = KvInstance.Start(wall);
        using var client = kv.Connect();
        long begin = Stopwatch.GetTimestamp();
        wall.Behind = TimeSpan.FromHours(1);
        Repeat(client, 300, "GET key");
        Eventually.Holds(() => Stopwatch.GetElapsedTime(begin).TotalMilliseconds > 200, () => "time stands still");
        double most = 300 / Stopwatch.GetElapsedTime(begin).TotalSeconds;
        Assert.InRange(Keys(client, "KV.HOTKEYS").Single().Reads, 0.01, 1.1 * most);
    }

    private static void Repeat(RespClient client, int count, string command)
    {
        client.Send([.. Enumerable.Range(0, count).SelectMany(_ => RespText.Encode(command))]);
        for (int i = 0; i < count; i++) client.Read();
    }

    private static List<(string Name, double Reads, double Writes, double Percent)> Keys(RespClient client,
        string command) =>
        [.. client.Ok(command).Items!.Select(key => (key.Items![1].String, Number(key.Items[7]), Number(key.Items[9]),
            Number(key.Items[11])))];

    private static double Number(Reply reply) => double.Parse(reply.String, CultureInfo.InvariantCulture);

    /// <summary>The machine's clock, but for what people set it back.</summary>
    private sealed class WallClock : TimeProvider
    {
        private long _behindTicks;

        public TimeSpan Behind
        {
            set => Volatile.Write(ref _behindTicks, value.Ticks);
        }

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow().AddTicks(-Volatile.Read(ref _behindTicks));
    }
}
