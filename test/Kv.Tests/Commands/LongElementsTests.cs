using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>Commands about many elements of one collection, which answer in steps: what they answer, and what others
/// see meanwhile.</summary>
public sealed class LongElementsTests
{
    private const int Many = 12_000;

    // EXEC runs all in one turn: the same must come of both.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void The_answer_in_steps_is_that_of_one_turn(int version)
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Ok($"HELLO {version}");
        foreach (int count in new[] { 4095, 4096, 4097, Many })
        {
            Fill(client, count);
            foreach (string line in new[]
            {
                "SMEMBERS set", "HGETALL hash", "HKEYS hash", "HVALS hash", "LRANGE list 0 -1", "LRANGE list 1 -3",
                    "ZRANGE scores 0 -1", "ZRANGE scores 0 -1 WITHSCORES",
                "ZREVRANGE scores 3 -2 WITHSCORES", "ZRANGEBYSCORE scores 5 (100000 WITHSCORES",
                "ZRANGE scores - + BYLEX REV", "ZRANGE scores + - BYLEX REV LIMIT 10 100000",
            })
            {
                Assert.Equal(client.OkInOneTurn(line).ToString(), client.Ok(line).ToString());
            }
        }
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Sets_combined_in_steps_are_those_of_one_turn(int version)
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Ok($"HELLO {version}");
        Fill(client, Many);
        client.Ok("SADD numbers 1 2 3");
        client.Ok("SADD few m1 m2 m5000 other");
        client.Ok("ZADD scored 7 m1 8 m5000 9 other");
        client.Ok("SUNIONSTORE half set");
        client.Ok($"SPOP half {Many / 2}");
        client.Ok("ZUNIONSTORE weighted 2 scores half WEIGHTS 2 3");
        string[] sets = ["set half", "half set", "set few", "few set", "set", "set none", "none set",
            "half numbers few set", "set set"];
        string[] lines =
        [
            .. from set in sets from name in new[] { "SUNION", "SINTER", "SDIFF" } select $"{name} {set}",
            .. from set in sets select $"SINTERCARD {set.Split(' ').Length} {set} LIMIT 5000",
            .. from set in sets.Append("scores half").Append("scored scores set").Append("weighted scored few")
               from name in new[] { "ZUNION", "ZINTER",
                   "ZDIFF" } select $"{name} {set.Split(' ').Length} {set} WITHSCORES",
            "ZUNION 3 scores half weighted WEIGHTS 1 -2 inf AGGREGATE MAX WITHSCORES",
            "ZINTER 2 weighted half AGGREGATE MIN", "ZINTERCARD 2 scores weighted LIMIT 7000",
        ];
        foreach (string line in lines)
        {
            Assert.Equal(Sorted(client.OkInOneTurn(line), line), Sorted(client.Ok(line), line));
            if (line.Contains("CARD", StringComparison.Ordinal)) continue;
            string name = line.Split(' ')[0], storing =
                line.Replace($"{name} ", $"{name}STORE result ", StringComparison.Ordinal)
                    .Replace(" WITHSCORES", "", StringComparison.Ordinal);
            long count = client.Ok(storing).Integer;
            string result = Digest(client, name);
            Assert.Equal(count, client.OkInOneTurn(storing).Integer);
            Assert.Equal(result, Digest(client, name));
        }

        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void A_copy_that_is_made_in_steps_is_the_same_and_its_own()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        string filler = new('x', 100);
        foreach (int i in Enumerable.Range(0, 20))
            client.Ok("ZADD scores " + string.Join(
                ' ', Enumerable.Range(i * 1000, 1000).Select(n => $"{n % 777} {filler}{n}")));
        client.Ok("PEXPIREAT scores 99999999999999");
        Assert.Equal(1, client.Ok("COPY scores copy").Integer);
        Assert.Equal(0, client.Ok("COPY scores copy").Integer);
        string content = client.Ok("ZRANGE scores 0 -1 WITHSCORES").ToString()!;
        Assert.Equal(content, client.Ok("ZRANGE copy 0 -1 WITHSCORES").ToString());
        Assert.Equal(99999999999999, client.Ok("PEXPIRETIME copy").Integer);
        Assert.Equal(20_000, client.Ok("ZREMRANGEBYRANK scores 0 -1").Integer);
        Assert.Equal(content, client.Ok("ZRANGE copy 0 -1 WITHSCORES").ToString());
        Assert.Equal(1, client.Ok("COPY copy scores DB 3").Integer);
        client.Ok("SELECT 3");
        Assert.Equal(content, client.Ok("ZRANGE scores 0 -1 WITHSCORES").ToString());
        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void Who_waits_for_a_sorted_set_gets_what_was_combined_in_steps()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        using var waiter = server.Connect();
        Fill(client, Many);
        waiter.Send("BZPOPMIN result 0");
        Eventually.Holds(() => client.Info("blocked_clients") == "1", () => "nobody waits");
        Assert.Equal(Many, client.Ok("ZUNIONSTORE result 2 scores set").Integer);
        Assert.Equal("result", waiter.Read().Items![0].String);
    }

    private static string Digest(RespClient client, string name) =>
        name[0] == 'S' ? Sorted(client.Ok("SMEMBERS result"), "S") : client.Ok("ZRANGE result 0 -1 WITHSCORES")
            .ToString()!;

    // Members of a set come in the order of its table, which depends on what was in it before.
    private static string Sorted(Reply reply, string line) =>
        line[0] == 'S' && reply.Items is { } items
        ? string.Join(',', items.Select(item => item.String).Order(StringComparer.Ordinal)) : reply.ToString()!;

    [Fact]
    public void What_is_taken_in_steps_is_answered_and_gone()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        foreach (int taken in new[] { 4097, 9999, Many - 1, Many, Many + 1 })
        {
            Fill(client, Many);
            var members = client.Ok("SMEMBERS set").Items!.Select(item => item.String).ToHashSet();
            var popped = client.Ok($"SPOP set {taken}").Items!.Select(item => item.String).ToHashSet();
            int expected = Math.Min(taken, Many);
            Assert.Equal(expected, popped.Count);
            members.ExceptWith(popped);
            Assert.Equal(Many - expected, members.Count);
            Assert.Equal(members, client.Ok("SMEMBERS set").Items!.Select(item => item.String).ToHashSet());
            Assert.Equal(members.Count == 0 ? 0 : 1, client.Ok("EXISTS set").Integer);
            Assert.Equal(expected, client.Ok($"ZREMRANGEBYRANK scores 0 {taken - 1}").Integer);
            Assert.Equal(Many - expected, client.Ok("ZCARD scores").Integer);
            server.Server.Store.CheckIntegrity();
        }
    }

    // A writer exchanges one member for another, in one transaction: there are always as many.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Nobody_sees_a_collection_while_it_changes(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using (var client = server.Connect()) Fill(client, Many);
        using var run = new ClientRun(server, TimeBudget.OfSeconds(3));
        int reads = 0;
        for (int i = 0; i < 6; i++)
        {
            run.Add((client, _) =>
            {
                Assert.Equal(Many, client.Ok("SMEMBERS set").Items!.Select(item => item.String).Distinct().Count());
                Assert.Equal(Many, client.Ok("ZRANGE scores 0 -1").Items!.Select(item => item.String)
                    .Distinct().Count());
                Interlocked.Increment(ref reads);
            });
        }

        for (int i = 0; i < 2; i++)
        {
            int writer = i;
            run.Add((client, random) =>
            {
                int number = (random.Next(Many / 2) * 2) + writer;
                client.Ok("MULTI");
                client.Ok($"SREM set m{number}");
                client.Ok($"SADD set m{number}");
                client.Ok($"ZREM scores m{number}");
                client.Ok($"ZADD scores 0 m{number}");
                client.Ok("EXEC");
            });
        }

        run.Finish();
        Assert.True(reads > 0);
        server.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_that_leaves_in_the_middle_leaves_the_key_free(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--enable-debug-command", "yes");
        using var client = server.Connect();
        Fill(client, Many);
        long before = server.Server.Store.UsedBytes;
        for (int i = 0; i < 20; i++)
        {
            using var leaver = server.Connect();
            leaver.Send("SMEMBERS set");
            leaver.Send("HGETALL hash");
            if (i % 2 == 0) leaver.Socket.LingerState = new System.Net.Sockets.LingerOption(true, 0);
        }

        Assert.Equal(1, client.Ok("SADD set another").Integer);
        Assert.Equal(1, client.Ok("HSET hash another 1").Integer);
        server.AwaitClients(1);
        Eventually.Holds(() => server.Server.Store.UsedBytes - before < 4096,
            () => $"{server.Server.Store.UsedBytes - before} bytes more than before");
        // What a client has left to be done may still be going on: this waits for it.
        client.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void A_reply_that_is_too_large_is_an_error_and_leaves_the_key_free()
    {
        using var server = KvInstance.Start("--max-reply-bytes", "1048576");
        using var client = server.Connect();
        string filler = new('m', 200);
        for (int i = 0; i < Many; i += 1000)
            client.Ok("SADD set " + string.Join(' ', Enumerable.Range(i, 1000).Select(n => filler + n)));
        Assert.StartsWith("ERR", client.Command("SMEMBERS set").String, StringComparison.Ordinal);
        Assert.Equal(Many, client.Ok("SCARD set").Integer);
        Assert.Equal("PONG", client.Ok("PING").String);
    }

    private static void Fill(RespClient client, int count)
    {
        client.Ok("DEL set hash list scores");
        for (int i = 0; i < count; i += 1000)
        {
            var range = Enumerable.Range(i, Math.Min(1000, count - i)).ToArray();
            client.Ok("SADD set " + string.Join(' ', range.Select(n => $"m{n}")));
            client.Ok("HSET hash " + string.Join(' ', range.Select(n => $"f{n} v{n}")));
            client.Ok("RPUSH list " + string.Join(' ', range.Select(n => $"e{n}")));
            client.Ok("ZADD scores " + string.Join(' ', range.Select(n => $"0 m{n}")));
        }
    }
}
