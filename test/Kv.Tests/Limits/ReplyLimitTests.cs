using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>max-reply-bytes bounds every reply, whatever it is made of, and nothing else.</summary>
public class ReplyLimitTests
{
    private const int Limit = 1 << 20;

    private const string TooLarge = "-ERR reply is larger than max-reply-bytes";

    // "$1048566\r\n", the value, "\r\n" make 1,048,576 bytes.
    private const int Longest = Limit - 12;

    // Of what is copied into the reply the longest head is reserved.
    private const int Reserved = 8;

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_value_in_a_block_is_answered_up_to_the_limit_and_not_one_byte_past_it(string transport)
    {
        using var kv = Start(transport);
        using var client = kv.Connect();
        client.Ok($"SET fits {new string('x', Longest)}");
        client.Ok($"SET long {new string('x', Longest + 1)}");
        client.Ok($"SET half {new string('x', 600_000)}");
        foreach (string line in (string[])["GET fits", "GETRANGE long 1 -1", "MGET half",
            "ECHO " + new string('x', Longest - Reserved)])
            Assert.StartsWith("\"xxx", client.Command(line).ToString().TrimStart('['), StringComparison.Ordinal);
        foreach (string line in (string[])["GET long", "GETRANGE long 0 -1", "MGET half half", "GETDEL long",
            "GETSET long x", "SET long x GET", "GETEX long EX 100",
            "ECHO " + new string('x', Longest + 1), "SORT_RO sorted BY nosort GET hal* GET hal*"])
        {
            if (line.StartsWith("SORT", StringComparison.Ordinal)) client.Ok("RPUSH sorted f");
            Assert.Equal($"{line[..4]}: {TooLarge}", $"{line[..4]}: {client.Command(line)}");
        }

        // What was refused has changed nothing, and holds nothing.
        Assert.Equal($"{Longest + 1}", client.Command("STRLEN long").String);
        Assert.Equal("-1", client.Command("TTL long").String);
        client.Ok("SET long x");
        client.Ok("DEL half fits");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Replies_of_other_commands_do_not_count(string transport)
    {
        using var kv = Start(transport);
        using var client = kv.Connect();
        client.Ok($"SET fits {new string('x', Longest)}");
        client.Ok($"SET some {new string('x', 60_000)}");
        Pipeline(client, [.. Enumerable.Repeat("GET some", 10), .. Enumerable.Repeat("GET fits", 10),
            $"ECHO {new string('y', Longest - Reserved)}"]);
        for (int i = 0; i < 10; i++) Assert.Equal(60_000, client.Read().String!.Length);
        for (int i = 0; i < 10; i++) Assert.Equal(Longest, client.Read().String!.Length);
        Assert.Equal(Longest - Reserved, client.Read().String!.Length);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Those_of_a_transaction_count_together(string transport)
    {
        using var kv = Start(transport);
        using var client = kv.Connect();
        client.Ok($"SET half {new string('x', Limit / 2)}");
        foreach (int more in (int[])[0, 3000])      // in one turn, and in steps
        {
            var queued = Enumerable.Repeat("SORT none", more).Append("GET half").Append("INCR counter").ToArray();
            Pipeline(client, ["MULTI", .. queued, "EXEC"]);
            for (int i = 0; i <= queued.Length; i++) client.Read();
            Assert.Equal(queued.Length, client.Read().Items!.Count);
            Pipeline(client, ["MULTI", .. queued, "GET half", "EXEC"]);
            for (int i = 0; i <= queued.Length + 1; i++) client.Read();
            // In one turn the one that had no room left is told; what was left to steps is answered as a whole.
            var reply = client.Read();
            Assert.Equal(TooLarge[1..], (reply.IsError ? reply : reply.Items![^1]).String);
        }

        // It was only the reply that was too large.
        Assert.Equal("4", client.Command("GET counter").String);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Very_many_keys_count_with_the_blocks_of_their_values(string transport)
    {
        using var kv = Start(transport);
        using var client = kv.Connect();
        client.Ok($"SET half {new string('x', Limit / 2)}");
        string absent = string.Concat(Enumerable.Repeat(" absent", 3000));
        Assert.Equal(3001, client.Command($"MGET half{absent}").Items!.Count);
        Assert.Equal(TooLarge, client.Command($"MGET half{absent} half").ToString());
        client.Ok("PING");
    }

    // A message is no reply: whoever does not read it is closed by client-output-buffer-limit.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Messages_are_longer_than_a_reply_may_be(string transport)
    {
        using var log = new CapturedLog();
        using var kv = KvInstance.Start(log, "--transport", transport, "--max-reply-bytes", $"{Limit}");
        using RespClient client = kv.Connect(), subscriber = kv.Connect(), leaving = kv.Connect();
        foreach (var one in (RespClient[])[subscriber, leaving]) one.Command("SUBSCRIBE channel");
        string message = new('m', 2 * Limit);
        Assert.Equal("2", client.Command($"PUBLISH channel {message}").String);
        for (int i = 0; i < 20; i++)
            Assert.Equal("2", client.Command($"PUBLISH channel {new string('n', 200_000)}").String);
        leaving.Send("UNSUBSCRIBE channel");
        foreach (var one in (RespClient[])[subscriber, leaving])
        {
            Assert.Equal(message, one.Read().Items![2].String);
            for (int i = 0; i < 20; i++) Assert.Equal(200_000, one.Read().Items![2].String!.Length);
        }

        Assert.Equal("unsubscribe", leaving.Read().Items![0].String);
        leaving.Ok("PING");
        subscriber.Command("UNSUBSCRIBE");
        Eventually.Holds(() => kv.Server.PubSub.MessageBytes == 0,
            () => $"{kv.Server.PubSub.MessageBytes} bytes of messages are left");
        Assert.DoesNotContain("xception", string.Join("\n", log.Lines), StringComparison.Ordinal);
    }

    private static void Pipeline(RespClient client, IEnumerable<string> lines) =>
        client.Send(lines.SelectMany(RespText.Encode).ToArray());

    private static KvInstance Start(string transport) =>
        KvInstance.Start("--transport", transport, "--max-reply-bytes", $"{Limit}");
}
