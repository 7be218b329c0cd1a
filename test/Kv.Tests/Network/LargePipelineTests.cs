using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Several large values in a pipeline take one turn, and their replies one call: none is held back for what
/// has not come.</summary>
public sealed class LargePipelineTests
{
    // What is received at first, and what is received of a head, as ConnectionReader has it.
    private const int FirstBytes = 64 * 1024, HeadBytes = 8 * 1024;

    private static byte[] Value(int length, int content)
    {
        byte[] value = new byte[length];
        Array.Fill(value, (byte)('a' + (content % 26)));
        return value;
    }

    private static byte[] Set(string key, byte[] value) =>
        [.. RespText.Bytes($"*3\r\n$3\r\nSET\r\n${key.Length}\r\n{key}\r\n${value.Length}\r\n"), .. value, .. "\r\n"u8];

    // Cut where a receive has just been filled, so that more of it seems to be there, and around that.
    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void What_is_complete_is_answered_though_the_next_large_value_stalls(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--enable-debug-command", "yes");
        using var client = new RespClient(kv.EndPoint);
        byte[] first = Set("first", Value(70_000, 0)), second = Set("second", Value(300_000, 1)),
            ping = RespText.Encode("PING");
        byte[] wire = [.. ping, .. first, .. first, .. second];
        int behindOne = ping.Length + first.Length, behindTwo = behindOne + first.Length;
        (int Cut, int Replies)[] cuts =
        [
            (FirstBytes, 1), (FirstBytes - 1, 1), (FirstBytes + 1, 1), (behindOne - 1, 1), (behindOne, 2),
            (behindOne + 1, 2), (behindOne - 2 + HeadBytes, 2),
            (behindOne - 2 + HeadBytes + 1, 2), (behindTwo, 3), (behindTwo - 2 + HeadBytes, 3),
            (behindTwo - 1 + HeadBytes, 3), (wire.Length - 2, 3), (wire.Length - 1, 3),
        ];
        foreach (var (cut, replies) in cuts)
        {
            client.Send(wire.AsSpan(0, cut));
            for (int i = 0; i < replies; i++) Assert.Equal(i == 0 ? "+PONG" : "+OK", client.Read().ToString());
            client.Send(wire.AsSpan(cut));
            for (int i = replies; i < 4; i++) Assert.Equal("+OK", client.Read().ToString());
            Assert.True(client.Command("GET first").Text.AsSpan().SequenceEqual(Value(70_000, 0)));
            Assert.True(client.Command("GET second").Text.AsSpan().SequenceEqual(Value(300_000, 1)));
            client.Ok("DEL first second");
        }

        client.Ok("DEBUG INTEGRITY");
    }

    // While the long command runs, the worker does not listen to its client.
    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void A_large_value_behind_a_long_command_arrives_in_parts(string transport)
    {
        const int Fields = 60_000;
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var client = new RespClient(kv.EndPoint);
        using var other = new RespClient(kv.EndPoint);
        for (int i = 0; i < Fields; i += 1000)
            other.Command("HSET h " + string.Join(' ', Enumerable.Range(i, 1000).Select(n => $"f{n} v")));
        byte[] wire = [.. RespText.Encode("HGETALL h"), .. Set("large", Value(200_000, 0))];
        int cut = wire.Length - 100_000;
        client.Send(wire.AsSpan(0, cut));
        Assert.Equal(2 * Fields, client.Read().Items!.Count);
        other.Ok("SET turn of-the-worker");
        Assert.Equal("+PONG", other.Command("PING").ToString());
        client.Send(wire.AsSpan(cut));
        Assert.Equal("+OK", client.Read().ToString());
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void Who_says_goodbye_in_front_of_a_large_value_gets_its_replies(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        byte[] first = Set("first", Value(70_000, 0)), second = Set("second", Value(300_000, 1));
        foreach (int cut in new[] { 10, 100, HeadBytes - 2, HeadBytes, FirstBytes, FirstBytes + HeadBytes,
            second.Length })
        {
            using var client = new RespClient(kv.EndPoint);
            client.Send([.. first, .. first, .. RespText.Encode("QUIT"), .. second.AsSpan(0, cut)]);
            for (int i = 0; i < 3; i++) Assert.Equal("+OK", client.Read().ToString());
            Assert.True(client.IsClosedByServer());
        }

        using var other = new RespClient(kv.EndPoint);
        Assert.Equal("$-1", other.Command("GET second").ToString());
        other.Ok("DEL first");
        Eventually.Holds(() => other.Info("kv_mem_blocks") == "0",
            () => $"{other.Info("kv_mem_blocks")} bytes of blocks are left");
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void Large_values_that_do_not_fit_are_refused_one_by_one(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxmemory", "60mb",
            "--enable-debug-command", "yes");
        using var client = new RespClient(kv.EndPoint);
        for (int round = 0; round < 3; round++)
        {
            byte[][] sets = [.. Enumerable.Range(0, 10).Select(i => Set("key" + i, Value(8_000_000, i)))];
            var sending = new Thread(() =>
            {
                foreach (byte[] set in sets) client.Send(set);
                client.Send("PING");
            });
            sending.Start();
            int stored = 0;
            for (int i = 0; i < sets.Length; i++)
            {
                string reply = client.Read().ToString();
                if (reply == "+OK") stored++;
                else Assert.StartsWith("-OOM", reply, StringComparison.Ordinal);
            }

            Assert.Equal("+PONG", client.Read().ToString());
            sending.Join();
            Assert.InRange(stored, 1, 7);
            Assert.Equal(":" + stored, client.Command("DBSIZE").ToString());
            client.Ok("DEBUG INTEGRITY");
            client.Ok("FLUSHALL");
            Eventually.Holds(() => client.Info("kv_mem_blocks") == "0",
                () => $"{client.Info("kv_mem_blocks")} bytes of blocks are left");
        }
    }

    // The memory of what is replaced is used again at once, while others still send from it, receive into it, or have
    // vanished in between.
    [Theory]
    [InlineData("epoll", 1)]
    [InlineData("epoll", 2)]
    [InlineData("pipelines", 2)]
    public void Whoever_reads_a_large_value_that_others_replace_gets_one_value_whole(string transport, int workers)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", workers.ToString(),
            "--enable-debug-command", "yes");
        const int Keys = 3;
        using var threads = new TestThreads();
        for (int writer = 0; writer < 3; writer++)
        {
            var random = Seed.NewRandom(writer);
            threads.Start(() =>
            {
                using var client = new RespClient(kv.EndPoint);
                while (!threads.IsStopping)
                {
                    byte[][] sets = [.. Enumerable.Range(0, 4)
                        .Select(_ =>
                        Set("key" + random.Next(Keys), Value(random.Next(60_000, 400_000), random.Next(26))))];
                    client.Send([.. sets.SelectMany(set => set)]);
                    foreach (byte[] _ in sets) Assert.Equal("+OK", client.Read().ToString());
                    using var leaver = new RespClient(kv.EndPoint);
                    leaver.Send([.. sets[0], .. sets[1].AsSpan(0, random.Next(1, sets[1].Length))]);
                    if (random.Next(2) == 0) leaver.Reset();
                }
            });
        }

        for (int reader = 0; reader < 2; reader++)
        {
            var random = Seed.NewRandom(10 + reader);
            threads.Start(() =>
            {
                using var client = new RespClient(kv.EndPoint);
                while (!threads.IsStopping)
                {
                    for (int i = 0; i < 4; i++) client.Send("GET key" + random.Next(Keys));
                    for (int i = 0; i < 4; i++)
                    {
                        byte[]? value = client.Read().Text;
                        Assert.True(value == null || value.AsSpan().IndexOfAnyExcept(value[0]) < 0,
                            $"parts of two values; {Seed.Hint}");
                    }
                }
            });
        }

        threads.Finish(TimeBudget.OfSeconds(3));
        using var last = new RespClient(kv.EndPoint);
        Eventually.Holds(() => last.Info("connected_clients") == "1", () => "clients that have left are still there");
        last.Ok("DEBUG INTEGRITY");
        last.Ok("FLUSHALL");
        Eventually.Holds(() => last.Info("kv_mem_blocks") == "0",
            () => $"{last.Info("kv_mem_blocks")} bytes of blocks are left");
    }
}
