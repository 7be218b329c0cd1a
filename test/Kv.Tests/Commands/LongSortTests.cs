using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>SORT of many elements, which works in steps: what it answers and stores, and what others do
/// meanwhile.</summary>
public sealed class LongSortTests
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
            foreach (string key in new[] { "set", "list", "scores" })
            {
                foreach (string rest in new[]
                {
                    "", "DESC", "ALPHA", "ALPHA DESC LIMIT 10 5000", "LIMIT 5 10", "LIMIT 3000 50 DESC", "BY nosort",
                        "BY nosort DESC LIMIT 7 4500", "BY w_* GET # GET w_* GET h_*->f",
                    "BY w_* ALPHA", "BY h_*->f LIMIT 4000 100", "GET none", "LIMIT 20000 5",
                })
                {
                    string line = $"SORT {key} {rest}".TrimEnd();
                    string expected = client.OkInOneTurn(line).ToString();
                    Assert.True(expected == client.Ok(line).ToString(), $"{line} of {count}");
                    if (rest.Contains("nosort") && key == "set") continue;      // its own order; stored, by bytes
                    long stored = client.Ok($"{line} STORE result").Integer;
                    Assert.True(rest.Contains("GET")
                        || expected == client.Ok("LRANGE result 0 -1").ToString(), $"{line} STORE of {count}");
                    Assert.Equal(stored, client.Ok("LLEN result").Integer);
                }
            }

            server.Server.Store.CheckIntegrity();
        }
    }

    // Each RPUSH is acknowledged; sorting the list onto itself must not lose one.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Sorting_a_key_onto_itself_loses_nothing_that_others_add_meanwhile(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var client = server.Connect();
        foreach (int count in new[] { 10, Many })
        {
            client.Ok("DEL list other");
            Fill(client, count);
            int pushed = 0, sorted = 0;
            using (var run = new ClientRun(server, TimeBudget.OfSeconds(1.5)))
            {
                for (int i = 0; i < 3; i++)
                {
                    int writer = i + 1;
                    run.Add((pusher, random) =>
                    {
                        pusher.Ok($"RPUSH list {random.Next(1000)}.{writer}");
                        Interlocked.Increment(ref pushed);
                    });
                }

                for (int i = 0; i < 2; i++)
                {
                    run.Add((sorter, random) =>
                    {
                        sorter.Ok(random.Next(2) == 0 ? "SORT list STORE list" : "SORT list BY w_* ALPHA STORE list");
                        Interlocked.Increment(ref sorted);
                    });
                }

                run.Finish();
            }

            Assert.True(sorted > 0 && pushed > 0);
            Assert.Equal(count + pushed, client.Ok("LLEN list").Integer);
            client.Ok("SORT list STORE list");
            var numbers = client.Ok("LRANGE list 0 -1").Items!.Select(
                item => double.Parse(item.String, System.Globalization.CultureInfo.InvariantCulture)).ToArray();
            Assert.Equal(numbers.Order(), numbers);
            server.Server.Store.CheckIntegrity();
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_that_leaves_in_the_middle_leaves_nothing_behind(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--enable-debug-command", "yes");
        using var client = server.Connect();
        Fill(client, Many);
        client.Ok("SORT list STORE kept");
        long before = server.Server.Store.UsedBytes;
        for (int i = 0; i < 20; i++)
        {
            using var leaver = server.Connect();
            leaver.Send("SORT set BY w_* GET # GET w_*");
            leaver.Send("SORT list STORE kept");
            leaver.Send("SORT scores ALPHA");
            if (i % 2 == 0) leaver.Socket.LingerState = new System.Net.Sockets.LingerOption(true, 0);
        }

        Assert.Equal(1, client.Ok("SADD set 200001").Integer);
        server.AwaitClients(1);
        Eventually.Holds(() => server.Server.Store.UsedBytes - before < 512 * 1024,
            () => $"{server.Server.Store.UsedBytes - before} bytes more than before");
        // What a client has left to be done may still be going on: this waits for it.
        client.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void A_reply_that_is_too_large_is_an_error_and_nothing_else()
    {
        using var server = KvInstance.Start("--max-reply-bytes", "1048576");
        using var client = server.Connect();
        Fill(client, Many);
        client.Ok("SET w_1 " + new string('x', 1000));
        Assert.StartsWith("ERR reply is larger",
            client.Command("SORT list GET *_1 " + string.Join(' ', Enumerable.Repeat("GET #", 30))).String,
            StringComparison.Ordinal);
        Assert.StartsWith("ERR reply is larger",
            client.Command("SORT list LIMIT 0 4000 " + string.Join(' ', Enumerable.Repeat("GET #", 60))).String,
            StringComparison.Ordinal);
        Assert.Equal("PONG", client.Ok("PING").String);
        Assert.Equal(Many, client.Ok("LLEN list").Integer);
    }

    [Fact]
    public void Refused_memory_leaves_the_destination_as_it_was()
    {
        using var server = KvInstance.Start("--worker-threads", "1");
        using var client = server.Connect();
        Fill(client, 300);
        client.Ok("RPUSH result old");
        int refused = 0;
        for (int nth = 1; nth < 60; nth++)
        {
            int calls = 0, stop = nth;
            server.Server.Store.Budget.Refuse = () => Interlocked.Increment(ref calls) == stop;
            Reply reply = client.Command("SORT list STORE result");
            server.Server.Store.Budget.Refuse = null;
            if (reply.IsError)
            {
                refused++;
                Assert.StartsWith("OOM", reply.String, StringComparison.Ordinal);
                Assert.Equal("old", client.Ok("LRANGE result 0 -1").Items!.Single().String);
                continue;
            }

            Assert.Equal(300, client.Ok("LLEN result").Integer);
            client.Ok("DEL result");
            client.Ok("RPUSH result old");
        }

        Assert.True(refused > 0);
        server.Server.Store.CheckIntegrity();
    }

    private static void Fill(RespClient client, int count)
    {
        client.Ok("DEL set list scores");
        for (int i = 0; i < count; i += 500)
        {
            // In no order at all: a step through the numbers that meets all.
            var range = Enumerable.Range(i, Math.Min(500, count - i)).Select(n => n * 7919L % 100_003).ToArray();
            client.Ok("SADD set " + string.Join(' ', range));
            client.Ok("RPUSH list " + string.Join(' ', range));
            client.Ok("ZADD scores " + string.Join(' ', range.Select(n => $"{n % 100} {n}")));
            client.Ok("MSET " + string.Join(' ',
                range.Where(n => n % 3 != 0).Append(5).Select(n => $"w_{n} {n % 50}")));
            foreach (long n in range.Where(n => n % 50 == 0)) client.Ok($"HSET h_{n} f {n % 7}");
        }
    }
}
