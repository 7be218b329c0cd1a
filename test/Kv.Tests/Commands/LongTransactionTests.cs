using System.Globalization;
using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>EXEC of very many commands: others have turns in between, and it happens at one instant all the same.</summary>
public sealed class LongTransactionTests
{
    private const int Many = 6_000, Keys = 40;

    /// <summary>Commands of all kinds about some keys.</summary>
    private static List<string> NewQueue(Random random, bool selects)
    {
        var queue = new List<string>();
        for (int i = 0; i < Many; i++)
        {
            int key = random.Next(Keys);
            queue.Add(random.Next(selects ? 13 : 12) switch
            {
                0 => $"SET s{key} {i}",
                1 => $"INCR n{key}",
                2 => $"RPUSH l{key} {i}",
                3 => $"LRANGE l{key} 0 -1",
                4 => $"SADD t{key} {i % 50}",
                5 => $"SMEMBERS t{key}",
                6 => $"ZADD z{key} {i % 30} m{i % 70}",
                7 => $"GET s{key}",
                8 => $"RENAME s{key} s{random.Next(Keys)}",
                9 => $"LPUSH s{key} wrong",
                10 => $"DEL l{key}",
                11 => $"MSET s{key} a s{random.Next(Keys)} b",
                _ => $"SELECT {random.Next(3)}",
            });
        }

        return queue;
    }

    [Theory, InlineData(true), InlineData(false)]
    public void What_comes_of_steps_is_what_comes_of_the_commands_one_by_one(bool selects)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        using var model = new WindowClient(plain);
        var random = Seed.NewRandom();
        for (int round = 0; round < 3; round++)
        {
            var queue = NewQueue(random, selects);
            var expected = new StringBuilder($"*{queue.Count}\r\n");
            foreach (string line in queue) expected.Append(model.Run(line));
            client.Run("MULTI");
            foreach (string line in queue) Assert.Equal("+QUEUED\r\n", client.Run(line));
            client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
            Assert.True(expected.ToString() == client.Run("EXEC"), Seed.Hint);
            client.Between = null;
            Assert.True(client.Steps >= 3, $"{client.Steps} steps");
            for (int database = 0; database < 3; database++)
            {
                model.Run($"SELECT {database}");
                client.Run($"SELECT {database}");
                foreach (string kind in (string[])["s", "n", "l", "t", "z"])
                    for (int key = 0; key < Keys; key++) Assert.True(model.Run($"DUMP {kind}{key}") == client.Run($"DUMP {kind}{key}"), $"{kind}{key} of {database}; {Seed.Hint}");
            }

            instance.Server.Store.CheckIntegrity();
        }
    }

    [Theory]
    [InlineData("GET last", "$3\r\nend\r\n")]
    [InlineData("LLEN list", ":6000\r\n")]
    [InlineData("MGET first last", "*2\r\n$5\r\nbegin\r\n$3\r\nend\r\n")]
    [InlineData("DEL first last", ":2\r\n")]
    [InlineData("FLUSHALL", "+OK\r\n")]
    [InlineData("SWAPDB 0 1", "+OK\r\n")]
    [InlineData("DBSIZE", null)]
    [InlineData("LPOP list", "$1\r\n0\r\n")]
    public void Whoever_comes_in_between_comes_after_all_of_it(string line, string? expected)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        for (int at = 1; at <= 4; at++)
        {
            client.Run("FLUSHALL");
            Queue(client);
            string? seen = null;
            client.Between = step =>
            {
                if (step == at) seen = other.Run(line);
            };
            string answer = client.Run("EXEC");
            client.Between = null;
            Assert.True(client.Steps >= at, $"{client.Steps} steps");
            Assert.StartsWith($"*{Many + 2}\r\n+OK\r\n:1\r\n", answer, StringComparison.Ordinal);
            Assert.EndsWith(":6000\r\n+OK\r\n", answer, StringComparison.Ordinal);
            if (expected != null) Assert.Equal(expected, seen);
            if (line.StartsWith("SWAPDB", StringComparison.Ordinal)) client.Run(line);
            if (line != "FLUSHALL") Assert.Equal(line == "LPOP list" ? ":5999\r\n" : ":6000\r\n", client.Run("LLEN list"));
            else Assert.Equal(":0\r\n", client.Run("DBSIZE"));
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void Who_waits_for_a_key_is_served_after_the_last_step()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var waiting = instance.Connect();
        instance.Block(waiting, "BLPOP list 0");
        Queue(client);
        client.Run("EXEC");
        Assert.True(client.Steps >= 2, $"{client.Steps} steps");
        Assert.Equal("0", waiting.Read().Items![1].String);
        Assert.Equal(":5999\r\n", client.Run("LLEN list"));
    }

    [Fact]
    public void A_client_that_leaves_half_way_leaves_all_of_it_done()
    {
        using var instance = KvInstance.Start();
        using var other = new WindowClient(instance);
        for (int at = 1; at <= 3; at++)
        {
            other.Run("FLUSHALL");
            var client = new WindowClient(instance);
            Queue(client);
            client.Between = step =>
            {
                if (step == at) throw new OperationCanceledException();
            };
            Assert.Throws<OperationCanceledException>(() => client.Run("EXEC"));
            client.Dispose();
            Assert.Equal("$3\r\nend\r\n", other.Run("GET last"));
            Assert.Equal(":6000\r\n", other.Run("LLEN list"));
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void A_reply_that_is_too_large_is_one_error_and_all_of_it_is_done()
    {
        using var instance = KvInstance.Start("--max-reply-bytes", "2mb");
        using var client = new WindowClient(instance);
        long before = instance.Server.Store.UsedBytes;
        client.Run($"SET text {new string('t', 10_000)}");
        client.Run("MULTI");
        for (int i = 0; i < 1000; i++)
        {
            client.Run("GET text");
            client.Run("INCR n");
        }

        Assert.Equal("-ERR reply is larger than max-reply-bytes\r\n", client.Run("EXEC"));
        Assert.True(client.Steps >= 2, $"{client.Steps} steps");
        Assert.Equal("$4\r\n1000\r\n", client.Run("GET n"));
        client.Run("MULTI");
        client.Run("INCR n");
        Assert.Equal("*1\r\n:1001\r\n", client.Run("EXEC"));
        client.Run("DEL text n");
        Eventually.Holds(() => instance.Server.Store.UsedBytes < before + (512 << 10), () => $"{instance.Server.Store.UsedBytes - before} bytes are left charged");
    }

    [Fact]
    public void A_queue_that_changes_the_session_is_run_in_one_turn()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        client.Run("MULTI");
        for (int i = 0; i < Many; i++) client.Run("INCR n");
        client.Run("CLIENT SETNAME me");
        Assert.EndsWith(":6000\r\n+OK\r\n", client.Run("EXEC"), StringComparison.Ordinal);
        Assert.Equal(0, client.Steps);
        Assert.Equal("$2\r\nme\r\n", client.Run("CLIENT GETNAME"));
    }

    [Fact]
    public void Transactions_in_steps_beside_each_other_lose_nothing()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using var run = new ClientRun(server, TimeBudget.OfSeconds(3));
        long added = 0;
        for (int i = 0; i < 4; i++)
        {
            run.AddWindow(server, random => client =>
            {
                client.Run("MULTI");
                int count = random.Next(1, 3000);
                for (int j = 0; j < count; j++) client.Run(string.Create(CultureInfo.InvariantCulture, $"INCR k{random.Next(8)}"));
                Assert.StartsWith($"*{count}\r\n", client.Run("EXEC"), StringComparison.Ordinal);
                Interlocked.Add(ref added, count);
            });
        }

        run.Finish();
        using var last = server.Connect();
        Assert.Equal(added, Enumerable.Range(0, 8).Sum(i => last.Command($"GET k{i}") is { IsNull: false } reply ? long.Parse(reply.String!, CultureInfo.InvariantCulture) : 0));
        server.Server.Store.CheckIntegrity();
    }

    private static void Queue(WindowClient client)
    {
        client.Run("MULTI");
        client.Run("SET first begin");
        for (int i = 0; i < Many; i++) client.Run($"RPUSH list {i}");
        client.Run("SET last end");
    }
}
