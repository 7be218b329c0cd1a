using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Large values arrive right however they are cut, with other commands before and behind them; who stalls in
/// one stops nobody.</summary>
public sealed class LargeArgumentTests
{
    private static byte[] Value(Random random, int length)
    {
        byte[] value = new byte[length];
        random.NextBytes(value);
        return value;
    }

    private static byte[] Set(string key, byte[] value) =>
        [.. RespText.Bytes($"*3\r\n$3\r\nSET\r\n${key.Length}\r\n{key}\r\n${value.Length}\r\n"), .. value, .. "\r\n"u8];

    // Around what is received behind a block (8 KB), at once (64 KB), before the worker is woken (256 KB), and in a
    // turn (1 MB).
    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void Large_values_arrive_right_whatever_is_around_them_and_however_they_are_cut(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = new RespClient(kv.EndPoint);
        var random = Seed.NewRandom();
        int[] borders = [1, 8 * 1024, 32 * 1024, 64 * 1024, 72 * 1024, 256 * 1024, 320 * 1024, 1 << 20,
            (1 << 20) + 65536];
        for (int round = 0; round < TimeBudget.Count(30); round++)
        {
            var expected = new List<string>();
            var values = new List<byte[]>();
            var wire = new List<byte>();
            for (int i = 0; i < 6; i++)
            {
                byte[] value = Value(random, Math.Max(1, borders[random.Next(borders.Length)] + random.Next(-70, 70)));
                values.Add(value);
                wire.AddRange(Set("key" + i, value));
                expected.Add("+OK");
                if (random.Next(2) == 0) continue;
                wire.AddRange(RespText.Bytes($"*2\r\n$6\r\nSTRLEN\r\n$4\r\nkey{i}\r\n"));
                expected.Add(":" + value.Length);
            }

            Send(client, [.. wire], random);
            foreach (string line in expected) Assert.Equal(line, client.Read().ToString());
            for (int i = 0; i < values.Count; i++)
                Assert.True(values[i].AsSpan().SequenceEqual(client.Command("GET key" + i).Text),
                    $"round {round}, {values[i].Length} bytes; {Seed.Hint}");
        }

        client.Ok("FLUSHALL");
        Eventually.Holds(() => client.Info("kv_mem_blocks") == "0",
            () => $"{client.Info("kv_mem_blocks")} bytes of blocks are left");
    }

    private static void Send(RespClient client, byte[] wire, Random random)
    {
        for (int at = 0; at < wire.Length;)
        {
            int piece = Math.Min(wire.Length - at, random.Next(4) == 0 ? random.Next(1, 100) : random.Next(1, 700_000));
            client.Send(wire.AsSpan(at, piece));
            at += piece;
        }
    }

    // It came fast at first, so that the worker waits for more of it than there is.
    [Fact]
    public void A_value_that_stalls_is_complete_when_its_last_byte_is_there_and_holds_up_nobody()
    {
        using var kv = KvInstance.Start();
        using var slow = new RespClient(kv.EndPoint);
        using var other = new RespClient(kv.EndPoint);
        byte[] value = Value(Seed.NewRandom(), 2_000_000), wire = Set("key", value);
        foreach (int stop in new[] { 700_000, 700_001, 900_000, wire.Length - (256 * 1024) - 3,
            wire.Length - (256 * 1024), wire.Length - 3, wire.Length - 1 })
        {
            slow.Send(wire.AsSpan(0, stop));
            Eventually.Holds(() => long.Parse(other.Info("kv_mem_blocks")) > 0, () => "nothing of it has arrived");
            Assert.Equal("+PONG", other.Command("PING").ToString());
            Assert.Equal("$-1", other.Command("GET key").ToString());
            slow.Send(wire.AsSpan(stop));
            Assert.Equal("+OK", slow.Read().ToString());
            Assert.Equal(value, other.Command("GET key").Text);
            other.Ok("DEL key");
            Eventually.Holds(() => other.Info("kv_mem_blocks") == "0",
                () => $"{other.Info("kv_mem_blocks")} bytes of blocks are left");
        }
    }

    [Fact]
    public void A_client_that_leaves_in_the_middle_of_a_value_leaves_nothing_behind()
    {
        using var kv = KvInstance.Start();
        using var other = new RespClient(kv.EndPoint);
        byte[] wire = Set("key", new byte[2_000_000]);
        foreach (int stop in new[] { 60_000, 66_000, 300_000, 1_100_000, wire.Length - 1 })
        {
            using (var leaver = new RespClient(kv.EndPoint))
            {
                leaver.Send(wire.AsSpan(0, stop));
                if (stop > 65_536)
                    Eventually.Holds(() => long.Parse(other.Info("kv_mem_blocks")) > 0,
                        () => "nothing of it has arrived");
            }

            Eventually.Holds(() => other.Info("kv_mem_blocks") == "0" && other.Info("connected_clients") == "1",
                () => $"{other.Info("kv_mem_blocks")} bytes of blocks are left after {stop}");
            Assert.Equal("$-1", other.Command("GET key").ToString());
        }
    }
}
