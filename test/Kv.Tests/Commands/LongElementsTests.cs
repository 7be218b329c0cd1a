using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>Commands about many elements of one collection, which answer in steps: what they answer, and what others see meanwhile.</summary>
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
                "SMEMBERS set", "HGETALL hash", "HKEYS hash", "HVALS hash", "LRANGE list 0 -1", "LRANGE list 1 -3", "ZRANGE scores 0 -1", "ZRANGE scores 0 -1 WITHSCORES",
                "ZREVRANGE scores 3 -2 WITHSCORES", "ZRANGEBYSCORE scores 5 (100000 WITHSCORES", "ZRANGE scores - + BYLEX REV", "ZRANGE scores + - BYLEX REV LIMIT 10 100000",
            })
            {
                client.Ok("MULTI");
                client.Ok(line);
                Assert.Equal(client.Ok("EXEC").Items!.Single().ToString(), client.Ok(line).ToString());
            }
        }
    }

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
                Assert.Equal(Many, client.Ok("ZRANGE scores 0 -1").Items!.Select(item => item.String).Distinct().Count());
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
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
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
        Eventually.Holds(() => server.Server.Store.UsedBytes - before < 4096, () => $"{server.Server.Store.UsedBytes - before} bytes more than before");
        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void A_reply_that_is_too_large_is_an_error_and_leaves_the_key_free()
    {
        using var server = KvInstance.Start("--max-reply-bytes", "1048576");
        using var client = server.Connect();
        string filler = new('m', 200);
        for (int i = 0; i < Many; i += 1000) client.Ok("SADD set " + string.Join(' ', Enumerable.Range(i, 1000).Select(n => filler + n)));
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
