using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Commands of very many arguments arrive right however they are cut, whatever is around them, and wherever
/// they have to wait.</summary>
public sealed class LargeCommandTests
{
    private static byte[][] Pairs(Random random, int count, string stem) =>
        [.. Enumerable.Range(0, count).SelectMany(i => new[] { Encoding.ASCII.GetBytes(stem + i), Value(random) })];

    private static byte[] Value(Random random)
    {
        byte[] value = new byte[random.Next(200) == 0 ? random.Next(60_000, 70_000) : random.Next(0, 40)];
        random.NextBytes(value);
        return value;
    }

    private static byte[] Mset(byte[][] pairs) => RespText.Encode(["MSET"u8.ToArray(), .. pairs]);

    private static void SendCut(RespClient client, byte[] wire, Random random)
    {
        for (int at = 0; at < wire.Length;)
        {
            int piece = Math.Min(wire.Length - at, random.Next(3) == 0 ? random.Next(1, 100) : random.Next(1, 200_000));
            client.Send(wire.AsSpan(at, piece));
            at += piece;
        }
    }

    private static void Holds(RespClient client, byte[][] pairs)
    {
        for (int i = 0; i < pairs.Length; i += 2)
            if (i % 64 == 0 || pairs[i + 1].Length > 100)
                Assert.True(pairs[i + 1].AsSpan()
                    .SequenceEqual(client.Command("GET"u8.ToArray(), pairs[i]).Text), Seed.Hint);
    }

    /// <summary>A number of a client's line; -1 when it has gone.</summary>
    private static long Field(RespClient other, string id, string name)
    {
        string line = other.Ok("CLIENT LIST ID " + id).String;
        return line.Length == 0 ? -1 : long.Parse(line.Split($" {name}=")[1].Split(' ')[0]);
    }

    [Theory]
    [MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void They_arrive_right_with_others_around_them(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = new RespClient(kv.EndPoint);
        var random = Seed.NewRandom();
        for (int round = 0; round < TimeBudget.Count(12); round++)
        {
            byte[][] first = Pairs(random, random.Next(1, 6000), "first:"),
                second = Pairs(random, random.Next(1, 6000), "second:");
            byte[] wire = [.. "\r\n"u8, .. RespText.Encode("PING"), .. Mset(first), .. RespText.Encode("ECHO between"),
                .. "\r\n"u8, .. Mset(second), .. RespText.Encode("ECHO behind")];
            SendCut(client, wire, random);
            foreach (string line in new[] { "+PONG", "+OK", "\"between\"", "+OK", "\"behind\"" })
                Assert.Equal(line, client.Read().ToString());
            Holds(client, first);
            Holds(client, second);
        }
    }

    [Theory]
    [MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void They_wait_in_a_transaction_a_pause_and_behind_a_command_that_waits(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = new RespClient(kv.EndPoint);
        using var other = new RespClient(kv.EndPoint);
        var random = Seed.NewRandom();
        byte[][] queued = Pairs(random, 8000, "queued:"), paused = Pairs(random, 8000, "paused:"),
            behind = Pairs(random, 40_000, "behind:");

        string id = client.Ok("CLIENT ID").ToString()[1..];
        SendCut(client, [.. RespText.Encode("MULTI"), .. Mset(queued), .. RespText.Encode("EXEC")], random);
        foreach (string line in new[] { "+OK", "+QUEUED", "[+\"OK\"]" }) Assert.Equal(line, client.Read().ToString());
        Holds(client, queued);

        other.Ok("CLIENT PAUSE 100000 WRITE");
        SendCut(client, Mset(paused), random);
        Eventually.Holds(() => Field(other, id, "argv-mem") > 100_000
            && Field(other, id, "qbuf") == 0, () => "it is not held");
        Assert.Equal("$-1", other.Command("GET paused:0").ToString());
        other.Ok("CLIENT UNPAUSE");
        Assert.Equal("+OK", client.Read().ToString());
        Holds(client, paused);

        client.Send("BLPOP list 0");
        Eventually.Holds(() => other.Info("blocked_clients") == "1", () => "it does not wait");
        SendCut(client, Mset(behind), random);
        other.Ok("RPUSH list element");
        Assert.Equal("[\"list\" \"element\"]", client.Read().ToString());
        Assert.Equal("+OK", client.Read().ToString());
        Holds(client, behind);
    }

    [Theory]
    [MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_has_arrived_of_one_is_no_longer_input_and_is_limited_and_given_back(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-query-buffer-limit", "4mb");
        using var client = new RespClient(kv.EndPoint);
        using var other = new RespClient(kv.EndPoint);
        string id = client.Ok("CLIENT ID").ToString()[1..];
        long before = long.Parse(other.Info("used_memory"));
        byte[] wire = Mset([.. Enumerable.Repeat("0123456789"u8.ToArray(), 1_000_000)]);
        client.Send(wire.AsSpan(0, 3_000_000));
        // 176,000 arguments of 16 bytes and their text.
        Eventually.Holds(() => Field(other, id, "argv-mem") > 4_000_000,
            () => $"argv-mem={Field(other, id, "argv-mem")}");
        Assert.InRange(Field(other, id, "qbuf") + Field(other, id, "qbuf-free"), 0, 256 * 1024);
        // Charged turn by turn: it may be some of it later than it is listed.
        long charged = 0;
        Eventually.Holds(() => (charged = long.Parse(other.Info("used_memory")) - before) > 4_000_000,
            () => $"{charged} are charged");
        Assert.InRange(charged, 4_000_000, 8_000_000);

        try
        {
            client.Send(wire.AsSpan(3_000_000, 3_000_000));
        }
        catch (System.Net.Sockets.SocketException)
        {
            // The server has closed it already.
        }

        Eventually.Holds(() => Field(other, id, "qbuf") < 0, () => "it is not closed at its limit");
        Eventually.Holds(() => long.Parse(other.Info("used_memory")) - before < 1_000_000,
            () => "its memory is not given back");
    }

    [Theory]
    [InlineData("*3\r\n")]
    [InlineData(":1\r\n")]
    [InlineData("\u0016\u0003\u0001")]
    [InlineData("$-5\r\n")]
    public void Rubbish_in_the_middle_of_one_is_answered(string rubbish)
    {
        using var kv = KvInstance.Start();
        using var client = new RespClient(kv.EndPoint);
        byte[] wire = Mset([.. Enumerable.Repeat("0123456789"u8.ToArray(), 100_000)]);
        int cut = "*100001\r\n$4\r\nMSET\r\n".Length + (60_000 * "$10\r\n0123456789\r\n".Length);
        client.Send(wire.AsSpan(0, cut));
        client.Send(Encoding.Latin1.GetBytes(rubbish));
        Assert.StartsWith("-ERR Protocol error: ", client.Read().ToString(), StringComparison.Ordinal);
        Assert.True(client.IsClosedByServer());
    }
}
