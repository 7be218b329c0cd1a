using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>What goes without a command (keys that expire or are evicted, places in the table), and what clients may
/// cost.</summary>
public sealed class TrackingLimitTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_B06_a_key_that_expires_is_told_without_anybody_looking(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = Tracking(kv);
        using var broadcast = Tracking(kv, " BCAST PREFIX k");
        using var writer = kv.Connect();
        writer.Ok("SET k v");
        Assert.Equal(">[\"invalidate\" [\"k\"]]", broadcast.Read().ToString());
        client.Ok("GET k");
        writer.Ok("PEXPIRE k 5");
        foreach (var one in (RespClient[])[client, broadcast])
            Assert.Equal(">[\"invalidate\" [\"k\"]]", one.Read().ToString());
        // The time was told; the end is to those who have read it since. Ends: at a time that is long enough to read
        // it.
        string value = "_";
        for (int ttlMs = 20; value == "_"; ttlMs *= 2)
        {
            writer.Ok($"SET k2 v PX {ttlMs}");
            value = Reply(client, "GET k2").ToString();
        }

        Assert.Equal(">[\"invalidate\" [\"k2\"]]", client.Read().ToString());
    }

    [Fact]
    public void A_field_that_expires_is_a_change_of_its_hash()
    {
        using var kv = KvInstance.Start();
        using var client = Tracking(kv);
        using var writer = kv.Connect();
        string hash = "";
        // Ends: at a time that is long enough to read it.
        for (int ttlMs = 20; !hash.Contains("\"a\"", StringComparison.Ordinal); ttlMs *= 2)
        {
            writer.Ok("HSET h a 1 b 2");
            writer.Ok($"HPEXPIRE h {ttlMs} FIELDS 1 a");
            hash = Reply(client, "HGETALL h").ToString();
        }

        Assert.Equal(">[\"invalidate\" [\"h\"]]", client.Read().ToString());
        Assert.Equal("{\"b\" \"2\"}", client.Ok("HGETALL h").ToString());
    }

    [Fact]
    public void Known_B06_a_key_that_is_evicted_is_told()
    {
        using var kv = KvInstance.Start("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru");
        using var client = Tracking(kv, " BCAST PREFIX first");
        using var writer = kv.Connect();
        for (int i = 0; i < 200; i++) writer.Ok($"SET first:{i} {new string('v', 1000)}");
        Eventually.Holds(() => TryReadAll(client, 200), () => "200 keys were written");
        string large = new('v', 4000);
        // Ends: what is used least goes first.
        for (int i = 0; long.Parse(writer.Info("evicted_keys")) < 20_000; i += 500)
        {
            for (int j = i; j < i + 500; j++) writer.Send($"SET other:{j} {large}");
            for (int j = i; j < i + 500; j++) writer.Read();
        }

        Assert.StartsWith(">[\"invalidate\" [\"first:", client.Read().ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_full_table_tells_whoever_has_read_the_keys_that_go()
    {
        using var kv = KvInstance.Start("--tracking-table-max-keys", "100");
        using var client = Tracking(kv);
        using var control = kv.Connect();
        for (int i = 0; i < 250; i++) client.Send($"GET k{i}");
        var told = new HashSet<string>();
        for (int replies = 0; replies < 250 || told.Count < 150;)
        {
            var reply = client.Read();
            if (reply.Type != '>') replies++;
            else Assert.True(told.Add(reply.Items![1].Items![0].String), "a key that has gone is told once");
        }

        Assert.Equal("100", control.Info("tracking_total_keys"));
        Assert.Equal("100", control.Info("tracking_total_items"));
        Assert.Equal("1", control.Info("tracking_clients"));
        // Those that are left are told of still.
        string left = Enumerable.Range(0, 250).Select(i => $"k{i}").First(key => !told.Contains(key));
        control.Ok($"SET {left} v");
        Assert.Equal($">[\"invalidate\" [\"{left}\"]]", client.Read().ToString());
        control.Ok("CONFIG SET tracking-table-max-keys 10");
        Eventually.Holds(() => control.Info("tracking_total_keys") == "10", () => control.Info("tracking_total_keys"));
        control.Ok("CONFIG SET tracking-table-max-keys 0");
        for (int i = 0; i < 250; i++) client.Send($"GET n{i}");
        Eventually.Holds(() => control.Info("tracking_total_keys") == "260", () => control.Info("tracking_total_keys"));
    }

    [Fact]
    public void Known_B06_a_flush_of_ten_thousand_tracked_keys_is_one_message_and_gives_their_memory_back()
    {
        using var kv = KvInstance.Start();
        using var client = Tracking(kv);
        using var control = kv.Connect();
        client.Ok("GET k");
        control.Ok("FLUSHALL");
        Assert.Equal(">[\"invalidate\" _]", client.Read().ToString());
        long before = ExternalBytes(kv);
        for (int i = 0; i < 10_000; i++) client.Send($"GET key:{i}");
        for (int i = 0; i < 10_000; i++) client.Read();
        Assert.Equal("10000", control.Info("tracking_total_keys"));
        Assert.InRange(ExternalBytes(kv) - before, 10_000 * 40, 10_000 * 200);
        control.Ok("FLUSHALL");
        Assert.Equal(">[\"invalidate\" _]", client.Read().ToString());
        Assert.Equal("+PONG", client.Ok("PING").ToString());
        Assert.Equal("0", control.Info("tracking_total_keys"));
        Eventually.Holds(() => control.Info("tracking_total_items") == "0", () => control.Info("tracking_total_items"));
        Eventually.Holds(() => ExternalBytes(kv) - before < 10_000 * 4, () => $"{ExternalBytes(kv) - before} bytes");
    }

    [Fact]
    public void The_table_is_empty_once_nobody_tracks()
    {
        using var kv = KvInstance.Start();
        using var control = kv.Connect();
        using (var client = Tracking(kv))
        {
            client.Ok("MGET a b c");
            using var other = Tracking(kv);
            other.Ok("GET a");
            Assert.Equal(("3", "4", "2"), Figures(control));
        }

        Eventually.Holds(() => Figures(control) == ("0", "0", "0"), () => $"{Figures(control)}");
        using (var client = Tracking(kv, " BCAST PREFIX a PREFIX b"))
        {
            using var other = Tracking(kv, " BCAST PREFIX a");
            Assert.Equal("2", control.Info("tracking_total_prefixes"));
            client.Ok("RESET");
            Assert.Equal("1", control.Info("tracking_total_prefixes"));
        }

        Eventually.Holds(() => control.Info("tracking_total_prefixes") == "0", () => "prefixes are left");
        Assert.False(kv.Server.Store.Watches.IsAny, "writes look for nobody any more");
    }

    [Fact]
    public void A_client_that_does_not_read_is_closed_at_its_limit()
    {
        using var kv = KvInstance.Start("--client-output-buffer-limit", "normal 200000 0 0");
        using var client = Tracking(kv, " BCAST");
        using var control = kv.Connect();
        string key = new('k', 1000);
        // Ends: what waits for the client grows, until it is too much.
        for (int i = 0; control.Info("tracking_clients") == "1"; i++)
        {
            for (int j = 0; j < 100; j++) control.Send($"SET {key}{i}:{j} v");
            for (int j = 0; j < 100; j++) control.Read();
        }

        Eventually.Holds(() => control.Info("connected_clients") == "1", () => "it is there still");
    }

    [Fact]
    public void A_long_read_is_replied_before_its_keys_are_told()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        using var client = Tracking(kv);
        using var writer = kv.Connect();
        string many = string.Join(' ', Enumerable.Range(0, 3000).Select(i => $"k{i}"));
        for (int round = 0; round < TimeBudget.Count(50); round++)
        {
            client.Send($"MGET {many}");
            writer.Ok($"SET k{round} {round}");
            var reply = client.Read();
            // It had read the key in an earlier round.
            bool wasTold = reply.Type == '>';
            if (wasTold) reply = client.Read();
            Assert.Equal('*', reply.Type);
            string value = reply.Items![round].ToString();
            // What it keeps now is what was read before the write, so the message is behind it.
            if (value == "_") Assert.False(wasTold, "a message comes behind the value that it is about");
            if (value == "_") Assert.Equal($">[\"invalidate\" [\"k{round}\"]]", client.Read().ToString());
            Assert.Equal($"\"{round}\"", Reply(client, $"GET k{round}").ToString());
        }
    }

    private static RespClient Tracking(TestServer server, string options = "")
    {
        var client = server.Connect(resp: 3);
        client.Ok("CLIENT TRACKING ON" + options);
        return client;
    }

    /// <summary>The reply, past messages that come before it.</summary>
    private static Reply Reply(RespClient client, string command)
    {
        client.Send(command);
        var reply = client.Read();
        while (reply.Type == '>') reply = client.Read();
        return reply;
    }

    private static (string Keys, string Items, string Clients) Figures(RespClient control) =>
        (control.Info("tracking_total_keys"), control.Info("tracking_total_items"), control.Info("tracking_clients"));

    private static long ExternalBytes(KvInstance kv) => kv.Server.Store.Budget.ExternalBytes;

    private int _read;

    private bool TryReadAll(RespClient client, int count)
    {
        while (_read < count && client.HasInput)
        {
            client.Read();
            _read++;
        }

        return _read >= count;
    }
}
