using Kv.Server.Sessions;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands that do very many small things, each by itself: others have turns between them, and the reply is
/// that of one turn.</summary>
public sealed class PieceStepsTests
{
    private const int Many = 9_000;

    private static string Channels => string.Join(' ', Enumerable.Range(0, Many).Select(i => $"channel:{i}"));

    [Theory, InlineData(2), InlineData(3)]
    public void Subscribing_to_very_many_channels_and_leaving_them_gives_others_their_turns(int version)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run($"HELLO {version}");
        client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
        string head = version == 2 ? "*3" : ">3";
        string Confirmations(string verb, Func<int, int> count) =>
            string.Concat(Enumerable.Range(0, Many)
                .Select(i =>
                $"{head}\r\n${verb.Length}\r\n{verb}\r\n${$"channel:{i}".Length}\r\nchannel:{i}\r\n:{count(i)}\r\n"));
        Assert.Equal(Confirmations("subscribe", i => i + 1), RunInSteps(client, "SUBSCRIBE " + Channels));
        Assert.Equal(Confirmations("psubscribe", i => Many + i + 1), RunInSteps(client, "PSUBSCRIBE " + Channels));
        Assert.Equal(Confirmations("ssubscribe", i => i + 1), RunInSteps(client, "SSUBSCRIBE " + Channels));
        Assert.Equal((Many, Many, Many), ((int)instance.Server.PubSub.ChannelCount,
            (int)instance.Server.PubSub.PatternCount, (int)instance.Server.PubSub.ShardChannelCount));
        Assert.Equal(Confirmations("unsubscribe", i => (2 * Many) - i - 1),
            RunInSteps(client, "UNSUBSCRIBE " + Channels));
        RunInSteps(client, "PUNSUBSCRIBE");
        RunInSteps(client, "SUNSUBSCRIBE");
        Assert.Equal((0, 0, 0), ((int)instance.Server.PubSub.ChannelCount, (int)instance.Server.PubSub.PatternCount,
            (int)instance.Server.PubSub.ShardChannelCount));
        client.Between = null;
        Assert.Equal("+PONG\r\n", client.Run("PING"));
        Assert.Equal("+OK\r\n", client.Run("SET k v"));
    }

    [Fact]
    public void A_client_that_wants_no_replies_still_hears_of_its_subscriptions()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string expected = client.Run("SUBSCRIBE " + Channels);
        client.Run("UNSUBSCRIBE");
        client.Run("CLIENT REPLY OFF");
        Assert.Equal(expected, RunInSteps(client, "SUBSCRIBE " + Channels));
    }

    [Fact]
    public void Subscribers_of_very_many_channels_are_counted_in_steps()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        other.Run("SUBSCRIBE channel:5 channel:8999");
        using var third = new WindowClient(instance);
        client.Between = _ => Assert.Equal("+PONG\r\n", third.Run("PING"));
        string answer = RunInSteps(client, "PUBSUB NUMSUB " + Channels);
        Assert.Equal(string.Concat(Enumerable.Range(0, Many)
            .Select(i => $"${$"channel:{i}".Length}\r\nchannel:{i}\r\n:{(i is 5 or 8999 ? 1 : 0)}\r\n")),
            answer[(answer.IndexOf('\n', StringComparison.Ordinal) + 1)..]);
        Assert.StartsWith($"*{2 * Many}\r\n", answer, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("PUBSUB CHANNELS", Many + 2)]
    [InlineData("PUBSUB CHANNELS channel:*", Many)]
    [InlineData("PUBSUB CHANNELS channel:1?", 10)]
    [InlineData("PUBSUB CHANNELS none*", 0)]
    [InlineData("PUBSUB SHARDCHANNELS", 1)]
    public void Channels_are_listed_in_steps(string line, int count)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        using var third = new WindowClient(instance);
        other.Run("SUBSCRIBE one two " + Channels);
        other.Run("SSUBSCRIBE three");
        client.Between = _ => Assert.Equal("+PONG\r\n", third.Run("PING"));
        string[] names =
            [.. client.Call([.. line.Split(' ')
                .Select(word => System.Text.Encoding.ASCII.GetBytes(word))]).Items!.Select(item => item.String!)];
        Assert.Equal(count, names.Distinct().Count());
        Assert.Equal(count, names.Length);
        if (!line.Contains("SHARD", StringComparison.Ordinal)) Assert.True(client.Steps >= 3, $"{client.Steps} steps");
        client.Between = null;
        client.Run("MULTI");
        client.Run(line);
        Assert.StartsWith($"*1\r\n*{count}\r\n", client.Run("EXEC"), StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_leaves_with_very_many_subscriptions_leaves_all_of_them(string transport)
    {
        using var instance = KvInstance.Start("--transport", transport);
        using var publisher = instance.Connect();
        for (int round = 0; round < 3; round++)
        {
            using (var client = instance.Connect())
            {
                client.Send("SUBSCRIBE " + Channels);
                for (int i = 0; i < Many; i++) client.Read();
            }

            // Published while it leaves: a message is given up with the client, or was never for it.
            for (int i = Many - 1; i > 0; i -= 100) publisher.Ok($"PUBLISH channel:{i} {new string('m', 1000)}");
            Eventually.Holds(() => instance.Server.PubSub.ChannelCount == 0,
                () => $"{instance.Server.PubSub.ChannelCount} channels are left");
        }

        Eventually.Holds(() => instance.Server.PubSub.MessageBytes == 0,
            () => $"{instance.Server.PubSub.MessageBytes} bytes of messages are left");
        Assert.Equal(0, instance.Server.PubSub.SubscriberCount);
    }

    [Fact]
    public void A_list_of_very_many_clients_is_written_in_steps()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        var crowd = Enumerable.Range(0, Many).Select(i => new Session(2_000_000 + i, instance.Server, client)).ToList();
        foreach (var session in crowd) instance.Server.Connections.Add(session);
        string all = RunInSteps(client, "CLIENT LIST");
        Assert.Equal(Many, all.Split("\n").Count(line => line.StartsWith("id=20", StringComparison.Ordinal)
            || line.Contains("\nid=20", StringComparison.Ordinal)));
        foreach (var session in crowd) instance.Server.Connections.Remove(session);
    }

    public static TheoryData<string, string, int, string> Bounds => new()
    {
        { "CONFIG GET", " none", 1024, "-ERR too many patterns of CONFIG GET, at most 1024 are taken at once" },
        { "COMMAND INFO", " none", 1024, "-ERR too many names for COMMAND INFO, at most 1024 are taken at once" },
        { "COMMAND DOCS", " none", 1024, "-ERR too many names for COMMAND DOCS, at most 1024 are taken at once" },
        { "COMMAND GETKEYS DEL", " k", 65_535,
            "-ERR too many arguments for COMMAND GETKEYS, at most 65536 are taken at once" },
        { "COMMAND GETKEYSANDFLAGS DEL", " k", 65_535,
            "-ERR too many arguments for COMMAND GETKEYS, at most 65536 are taken at once" },
        { "CLIENT LIST ID", " 1", 65_536,
            "-ERR too many ids for CLIENT LIST, at most 65536 are taken at once" },
        { "CLIENT KILL", " ID 2000000000", 512,
            "-ERR too many arguments for CLIENT KILL, at most 1024 are taken at once" },
        { "INFO", " server", 1024, "-ERR too many sections for INFO, at most 1024 are taken at once" },
        { "BITFIELD k", " OVERFLOW WRAP", 32_768,
            "-ERR too many arguments for BITFIELD, at most 65536 are taken at once" },
        { "BITFIELD_RO k", " OVERFLOW WRAP", 32_768,
            "-ERR too many arguments for BITFIELD, at most 65536 are taken at once" },
        { "XADD x *", " f v", 65_536, "-ERR too many fields for XADD, an entry has at most 65536" },
        { "WATCH", " k", 10_000, "-ERR too many watched keys" },
    };

    [Theory, MemberData(nameof(Bounds))]
    public void What_nobody_needs_so_many_of_is_refused_by_name_one_past_the_limit(
        string command, string each, int most, string error)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string Line(int count) => command + string.Concat(Enumerable.Repeat(each, count));
        Assert.NotEqual('-', client.Run(Line(most))[0]);
        Assert.StartsWith(error, client.Run(Line(most + 1)), StringComparison.Ordinal);
        Assert.Equal("+PONG\r\n", client.Run("PING"));
    }

    [Theory]
    [InlineData("BLPOP {0} 0.001", "RPUSH k v")]
    [InlineData("BRPOP {0} 0.001", "RPUSH k v")]
    [InlineData("BZPOPMIN {0} 0.001", "ZADD k 1 v")]
    [InlineData("BLMPOP 0.001 {1} {0} LEFT", "RPUSH k v")]
    [InlineData("BZMPOP 0.001 {1} {0} MAX", "ZADD k 1 v")]
    public void A_client_waits_for_so_many_keys_and_no_more(string form, string fill)
    {
        const int Most = 4096;
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string Line(int count) =>
            string.Format(System.Globalization.CultureInfo.InvariantCulture, form,
                string.Join(' ', Enumerable.Repeat("k", count)), count);
        client.Run(fill);
        Assert.StartsWith("-ERR too many keys to wait for, at most 4096 are taken at once", client.Run(Line(Most + 1)),
            StringComparison.Ordinal);
        Assert.Equal(":1\r\n", client.Run("EXISTS k"));
        Assert.StartsWith("*", client.Run(Line(Most)), StringComparison.Ordinal);
        Assert.Equal(":0\r\n", client.Run("EXISTS k"));
    }

    [Fact]
    public void A_call_of_a_scan_is_one_turn_whatever_its_count()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        for (int i = 0; i < 60_000; i += 1000)
        {
            var range = Enumerable.Range(i, 1000).ToArray();
            client.Run("SADD s " + string.Join(' ', range.Select(n => $"m{n}")));
            client.Run("HSET h " + string.Join(' ', range.Select(n => $"m{n} v")));
            client.Run("ZADD z " + string.Join(' ', range.Select(n => $"{n} m{n}")));
        }

        foreach (string scan in (string[])["SSCAN s", "HSCAN h", "ZSCAN z"])
        {
            var seen = new HashSet<string>();
            string cursor = "0";
            int calls = 0, stride = scan[0] == 'S' ? 1 : 2;
            do
            {
                var items = client.Call([.. $"{scan} {cursor} COUNT 1000000".Split(' ')
                    .Select(word => System.Text.Encoding.ASCII.GetBytes(word))]).Items!;
                cursor = items[0].String!;
                Assert.InRange(items[1].Items!.Count, 0, stride * 11_000);
                for (int i = 0; i < items[1].Items!.Count; i += stride) seen.Add(items[1].Items![i].String!);
                calls++;
            }
            while (cursor != "0");
            Assert.Equal(60_000, seen.Count);
            Assert.InRange(calls, 6, 100);
        }
    }

    private static string RunInSteps(WindowClient client, string line)
    {
        string answer = client.Run(line);
        Assert.True(client.Steps >= 3, $"{line[..Math.Min(40, line.Length)]}: {client.Steps} steps");
        return answer;
    }
}
