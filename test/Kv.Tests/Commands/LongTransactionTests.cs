using System.Globalization;
using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>EXEC of very many commands: others have turns in between, and it happens at one instant all the
/// same.</summary>
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
                    for (int key = 0; key < Keys; key++)
                        Assert.True(model.Run($"DUMP {kind}{key}") == client.Run($"DUMP {kind}{key}"),
                            $"{kind}{key} of {database}; {Seed.Hint}");
            }

            instance.Server.Store.CheckIntegrity();
        }
    }

    // Four were run before the clock was asked for the first time: others of the worker waited for all of them.
    [Fact]
    public void Of_long_commands_in_EXEC_others_wait_for_one_at_a_time()
    {
        const int commands = 6;
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run("SETRANGE a 2999 x");
        client.Run("MULTI");
        for (int i = 0; i < commands; i++) Assert.Equal("+QUEUED\r\n", client.Run("LCS a a LEN"));
        int turns = 0;
        client.Between = _ =>
        {
            turns++;
            Assert.Equal("+PONG\r\n", other.Run("PING"));
        };
        Assert.Equal($"*{commands}\r\n{string.Concat(Enumerable.Repeat(":3000\r\n", commands))}",
            client.Run("EXEC"));
        Assert.True(turns >= commands - 1, $"others had {turns} turns");
    }

    // The keys of few commands are held from the first turn on, those of many are found and locked first.
    public static TheoryData<string, string, string, int> Visitors()
    {
        var data = new TheoryData<string, string, string, int>();
        foreach (int count in (int[])[1_200, Many])
        {
            data.Add("GET last", "$-1\r\n", "$3\r\nend\r\n", count);
            data.Add("LLEN list", ":0\r\n", $":{count}\r\n", count);
            data.Add("MGET first last", "*2\r\n$-1\r\n$-1\r\n", "*2\r\n$5\r\nbegin\r\n$3\r\nend\r\n", count);
            data.Add("DEL first last", ":0\r\n", ":2\r\n", count);
            data.Add("LPOP list", "$-1\r\n", "$1\r\n0\r\n", count);
            data.Add("FLUSHALL", "+OK\r\n", "+OK\r\n", count);
            data.Add("SWAPDB 0 1", "+OK\r\n", "+OK\r\n", count);
        }

        return data;
    }

    [Theory, MemberData(nameof(Visitors))]
    public void Whoever_comes_in_between_comes_before_or_after_all_of_it(
        string line, string before, string after, int count)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        bool isAfter = false;
        int steps;
        int at = 1;
        // Ends: each round looks one step later.
        do
        {
            client.Run("FLUSHALL");
            Queue(client, count);
            string? seen = null;
            client.Between = step =>
            {
                if (step == at) seen = other.Run(line);
            };
            string answer = client.Run("EXEC");
            steps = client.Steps;
            client.Between = null;
            Assert.StartsWith($"*{count + 2}\r\n+OK\r\n:1\r\n", answer, StringComparison.Ordinal);
            Assert.EndsWith($":{count}\r\n+OK\r\n", answer, StringComparison.Ordinal);
            // all of it was done in one turn: there was no time for that
            if (steps == 0 && count != Many) return;
            if (seen == null) break;                        // fewer steps than in the round before
            bool wasAfter = isAfter;
            isAfter = line switch
            {
                "FLUSHALL" => client.Run("DBSIZE") == ":0\r\n",
                "SWAPDB 0 1" => client.Run("LLEN list") == ":0\r\n",
                _ => seen == after,
            };
            if (!isAfter) Assert.Equal(before, seen);
            if (line == "SWAPDB 0 1" && isAfter) client.Run(line);
            if (line != "FLUSHALL" || !isAfter)
                Assert.Equal(line == "LPOP list" && isAfter ? $":{count - 1}\r\n" : $":{count}\r\n",
                    client.Run("LLEN list"));
            Assert.True(isAfter || !wasAfter, $"step {at} of {steps} came before it, an earlier one after");
            Assert.True(at > 1 || isAfter == (count != Many), "the first step");
            instance.Server.Store.CheckIntegrity();
        }
        while (++at <= steps);
        Assert.True(isAfter, "the last step");
    }

    // The steps have the session's queue until the end.
    [Fact]
    public void Clients_are_listed_while_one_of_them_is_in_a_long_EXEC()
    {
        using var instance = KvInstance.Start("--worker-threads", "2");
        using RespClient client = instance.Connect(), other = instance.Connect();
        other.Ok($"RPUSH list {string.Join(' ', Enumerable.Range(0, 200))}");
        client.Ok("MULTI");
        for (int i = 0; i < 5000; i++) client.Send("SORT list ALPHA LIMIT 0 1");
        for (int i = 0; i < 5000; i++) client.Read();
        client.Send("EXEC");
        while (!client.HasInput) other.Ok("CLIENT LIST");
        Assert.Equal(5000, client.Read().Items!.Count);
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

    /// <summary>The steps have taken the client's transaction: CLIENT LIST of others was an internal error.</summary>
    [Fact]
    public void CLIENT_LIST_shows_a_client_whose_EXEC_goes_on_in_steps()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        Queue(client);
        var seen = new List<string>();
        client.Between = _ => seen.Add(client.Line);
        client.Run("EXEC");
        Assert.NotEmpty(seen);
        Assert.All(seen, line => Assert.Matches(" flags=x .* multi=[0-9]+ ", line));
    }

    [Fact]
    public void A_client_that_leaves_half_way_leaves_all_of_it_done()
    {
        using var instance = KvInstance.Start();
        using var other = new WindowClient(instance);
        for (int at = 1; at <= 12; at += 2)
        {
            other.Run("FLUSHALL");
            var client = new WindowClient(instance);
            Queue(client);
            client.LeaveAfter(at);
            Assert.Throws<OperationCanceledException>(() => client.Run("EXEC"));
            client.Dispose();
            Eventually.Holds(() => other.Run("GET last") == "$3\r\nend\r\n", () => "not done");
            Assert.Equal(":6000\r\n", other.Run("LLEN list"));
            instance.AwaitWhole();
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
        Eventually.Holds(() => instance.Server.Store.UsedBytes < before + (512 << 10),
            () => $"{instance.Server.Store.UsedBytes - before} bytes are left charged");
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
    public void A_watched_key_that_changes_before_all_keys_are_locked_ends_it()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        int ended = 0, done = 0, steps, at = 1;
        // Ends: each round changes it one step later.
        do
        {
            client.Run("FLUSHALL");
            client.Run("WATCH watched other");
            Queue(client);
            client.Between = step =>
            {
                if (step == at) other.Run("SET watched 1");
            };
            string answer = client.Run("EXEC");
            steps = client.Steps;
            client.Between = null;
            if (answer == "*-1\r\n") ended = at;
            else if (done == 0) done = at;
            Assert.Equal(answer == "*-1\r\n" ? ":0\r\n" : ":6000\r\n", client.Run("LLEN list"));
            if (at <= steps) Assert.Equal("$1\r\n1\r\n", client.Run("GET watched"));
            Assert.Equal("-ERR EXEC without MULTI\r\n", client.Run("EXEC"));
        }
        while (++at <= Math.Max(steps, 20));
        Assert.InRange(ended, 1, done - 1);
        instance.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void Very_many_keys_of_several_databases_are_locked_and_let_go_of_in_steps()
    {
        const int Count = 20_000;
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run("MULTI");
        for (int i = 0; i < Count; i++) client.Run(i % 1000 == 999 ? $"SELECT {i / 1000 % 4}" : $"SET k{i % 7000} {i}");
        client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
        Assert.StartsWith($"*{Count}\r\n", client.Run("EXEC"), StringComparison.Ordinal);
        client.Between = null;
        Assert.True(client.Steps > 4 * Count / 1024, $"{client.Steps} steps");
        var model = new Dictionary<(int, int), int>();
        for (int i = 0, database = 0; i < Count; i++)
        {
            if (i % 1000 == 999) database = i / 1000 % 4;
            else model[(database, i % 7000)] = i;
        }

        for (int database = 0; database < 4; database++)
        {
            client.Run($"SELECT {database}");
            Assert.Equal($":{model.Keys.Count(key => key.Item1 == database)}\r\n", client.Run("DBSIZE"));
        }

        foreach (var ((database, key), value) in model)
        {
            if (key % 97 != 0) continue;
            client.Run($"SELECT {database}");
            Assert.Equal($"${value.ToString(CultureInfo.InvariantCulture).Length}\r\n{value}\r\n",
                client.Run($"GET k{key}"));
        }

        instance.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void A_long_queue_that_changes_the_session_is_refused()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        client.Run("MULTI");
        for (int i = 0; i < 10_000; i++) client.Run("INCR n");
        client.Run("CLIENT SETNAME me");
        Assert.StartsWith("-EXECABORT Transaction discarded because of: more than 10000 commands", client.Run("EXEC"),
            StringComparison.Ordinal);
        Assert.Equal("$-1\r\n", client.Run("GET n"));
        Assert.Equal("-ERR EXEC without MULTI\r\n", client.Run("EXEC"));
        client.Run("MULTI");
        for (int i = 0; i < 9_999; i++) client.Run("INCR n");
        client.Run("CLIENT SETNAME me");
        Assert.EndsWith(":9999\r\n+OK\r\n", client.Run("EXEC"), StringComparison.Ordinal);
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
                for (int j = 0; j < count; j++)
                    client.Run(string.Create(CultureInfo.InvariantCulture, $"INCR k{random.Next(8)}"));
                Assert.StartsWith($"*{count}\r\n", client.Run("EXEC"), StringComparison.Ordinal);
                Interlocked.Add(ref added, count);
            });
        }

        run.Finish();
        using var last = server.Connect();
        Assert.Equal(added, Enumerable.Range(0, 8)
            .Sum(i => last.Command($"GET k{i}") is { IsNull: false } reply
            ? long.Parse(reply.String!, CultureInfo.InvariantCulture) : 0));
        server.Server.Store.CheckIntegrity();
    }

    private static void Queue(WindowClient client, int count = Many)
    {
        client.Run("MULTI");
        client.Run("SET first begin");
        for (int i = 0; i < count; i++) client.Run($"RPUSH list {i}");
        client.Run("SET last end");
    }

    // With more arguments than are found in one turn, and commands among them that alone would take keys of their own
    // in steps, or wait.
    [Theory]
    [InlineData("MSET", 2, "+\"OK\"")]
    [InlineData("DEL", 1, ":0")]
    [InlineData("EXISTS", 1, ":0")]
    [InlineData("MSETNX", 2, ":1")]
    [InlineData("SADD", 1, ":5000")]
    [InlineData("BLPOP", 1, "*-1")]
    public void A_long_command_in_a_long_transaction_uses_its_keys_and_waits_for_nobody(
        string name, int stride, string reply)
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Ok("MULTI");
        // BLPOP takes 4,096 keys at most.
        int count = name == "BLPOP" ? 4000 : 5000;
        byte[][] words = [.. Enumerable.Range(0, count * stride)
            .Select(i => System.Text.Encoding.ASCII.GetBytes("word:" + i))];
        client.Command([System.Text.Encoding.ASCII.GetBytes(name), .. words,
            .. name switch { "BLPOP" => new[] { "0"u8.ToArray() }, "SADD" => ["last"u8.ToArray()], _ => [] }]);
        client.Command(["RPUSH"u8.ToArray(), "other"u8.ToArray(), .. words]);
        Assert.Equal($"[{reply} :{words.Length}]", client.Ok("EXEC").ToString());
        Assert.Equal(words.Length, client.Ok("LLEN other").Integer);
    }
}
