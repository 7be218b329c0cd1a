using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>Names that clients give themselves, and patterns that they compare others with, are bounded.</summary>
public sealed class NameAndPatternTests
{
    [Theory]
    [InlineData("CLIENT SETNAME {0}", "ERR Client names cannot be longer than 128 bytes.")]
    [InlineData("HELLO 2 SETNAME {0}", "ERR Client names cannot be longer than 128 bytes.")]
    [InlineData("CLIENT SETINFO lib-name {0}", "ERR lib-name cannot be longer than 128 bytes.")]
    [InlineData("CLIENT SETINFO LIB-VER {0}", "ERR LIB-VER cannot be longer than 128 bytes.")]
    public void A_name_has_128_bytes_at_most(string command, string error)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string longest = new('n', 128);
        client.Ok(string.Format(null, command, longest));
        Assert.Equal(error, client.Command(string.Format(null, command, longest + "n")).String);
        Assert.Equal(error, client.Command(string.Format(null, command, new string('n', 1_000_000))).String);
        // What was refused has changed nothing.
        Assert.Contains($"={longest} ", client.Ok("CLIENT LIST").String.Replace('\n', ' '), StringComparison.Ordinal);
    }

    [Fact]
    public void An_id_that_is_given_twice_is_listed_once()
    {
        using var kv = KvInstance.Start();
        using var first = kv.Connect();
        using var second = kv.Connect();
        (long a, long b) = (first.Ok("CLIENT ID").Integer, second.Ok("CLIENT ID").Integer);
        string list = first.Ok($"CLIENT LIST ID {b} {a} {b} 999999 {a} {a}").String;
        Assert.Equal([$"id={b}", $"id={a}"], list.TrimEnd('\n').Split('\n').Select(line => line.Split(' ')[0]));
        Assert.Equal(1, first.Ok($"CLIENT KILL ID {b} ID {b}").Integer);
        Assert.True(second.IsClosedByServer());
    }

    [Theory]
    [InlineData("KEYS {0}")]
    [InlineData("SCAN 0 MATCH {0}")]
    [InlineData("HSCAN hash 0 MATCH {0}")]
    [InlineData("SSCAN set 0 MATCH {0} COUNT 5")]
    [InlineData("ZSCAN sorted 0 MATCH {0}")]
    [InlineData("PUBSUB CHANNELS {0}")]
    [InlineData("PUBSUB SHARDCHANNELS {0}")]
    [InlineData("PSUBSCRIBE first {0}")]
    public void A_pattern_has_1024_bytes_at_most(string command)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Say("HSET hash f v\nSADD set m\nZADD sorted 1 m");
        string longest = "*" + new string('p', 1023);
        Assert.Equal("ERR pattern is longer than 1024 bytes",
            client.Command(string.Format(null, command, longest + "p")).String);
        Assert.Equal("0", client.Info("pubsub_clients"));
        Assert.False(client.Command(string.Format(null, command, longest)).IsError);
    }

    // More than one step's time, whatever the machine: each pattern takes the channel some milliseconds.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_message_to_patterns_that_take_long_to_compare_reaches_those_that_match(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var subscriber = kv.Connect();
        using var publisher = kv.Connect();
        using var other = kv.Connect();
        byte[] channel = new byte[200_000];
        Array.Fill(channel, (byte)'a');
        for (int i = 0; i < 40; i++) subscriber.Ok($"PSUBSCRIBE *{new string('a', 400 + i)}b*");
        subscriber.Ok("PSUBSCRIBE aaa*");
        subscriber.Command("SUBSCRIBE"u8.ToArray(), channel);
        publisher.Send([.. RespText.Encode(["PUBLISH"u8.ToArray(), channel, "message"u8.ToArray()]),
            .. RespText.Encode("SET after 1")]);
        for (int i = 0; i < 10; i++) other.Ok("PING");
        Assert.Equal(2, publisher.Read().Integer);
        Assert.Equal("OK", publisher.Read().String);
        Assert.Equal("message", subscriber.Read().Items![2].String);
        Assert.Equal("aaa*", subscriber.Read().Items![1].String);
    }

    [Fact]
    public void A_message_published_in_a_transaction_reaches_all_patterns_at_once()
    {
        using var kv = KvInstance.Start();
        using var subscriber = kv.Connect();
        using var publisher = kv.Connect();
        for (int i = 0; i < 300; i++) subscriber.Ok($"PSUBSCRIBE {i}*");
        publisher.Ok("MULTI");
        publisher.Ok("PUBLISH 17 message");
        Assert.Equal(2, publisher.Ok("EXEC").Items![0].Integer);        // 1* and 17*
    }
}
