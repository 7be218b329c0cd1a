using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>What holds keys or an epoch is done though its client does not read: others wait for no client.</summary>
public sealed class UnreadHoldTests
{
    private const int Many = 30_000, BigBytes = 32 << 20;

    private static readonly string[] Lines =
    [
        "SMEMBERS set", "HGETALL hash", "LRANGE list 0 -1", "ZRANGE scores 0 -1 WITHSCORES", "XRANGE stream - +",
        "DUMP hash", "SORT list ALPHA", "SDIFF set none", "ZUNION 2 scores scores",
        "SRANDMEMBER set 20000", "SPOP set 20000", "LPOP list 20000", "ZPOPMIN scores 20000", "COPY hash copy",
        "SDIFFSTORE copy set none", "XTRIM stream MAXLEN 10", "LREM list 0 none",
        "DEL " + Words("k{0}"), "MSET " + Words("k{0} v"), "SADD set " + Words("new{0}"), "SREM set " + Words("m{0}"),
        "RPUSH list " + Words("new{0}"),
    ];

    public static TheoryData<string, string> Cases
    {
        get
        {
            var cases = new TheoryData<string, string>();
            foreach (var transport in Transports.Both)
                foreach (string line in Lines)
                    cases.Add(transport.Data, line.Length < 60
                        ? line : line[..line.IndexOf(' ', StringComparison.Ordinal)]);
            return cases;
        }
    }

    private static string Words(string form) =>
        string.Join(' ', Enumerable.Range(0, 9_000)
            .Select(i => string.Format(System.Globalization.CultureInfo.InvariantCulture, form, i)));

    [Theory, MemberData(nameof(Cases))]
    public void A_command_in_steps_lets_go_of_its_keys_though_its_client_does_not_read(string transport, string name)
    {
        string line = Lines.Single(each => each == name
            || (each.Length >= 60 && each.StartsWith(name + " ", StringComparison.Ordinal)));
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--client-output-pause", "1gb");
        using var other = server.Connect();
        Fill(other, line);
        using var client = server.Connect();
        long id = client.Command("CLIENT ID").Integer;
        var session = server.Server.Connections.Snapshot().Single(each => each.Id == id);
        client.Send("GET big");
        Eventually.Holds(() => session.OutputBytes > 1 << 20,
            () => $"only {session.OutputBytes} bytes wait for the client");
        other.Ok("CONFIG SET client-output-pause 1mb");
        // What is answered first pauses the client, in the turn in which the command begins.
        client.Send([.. RespText.Encode("PING"), .. RespText.Encode(line), .. RespText.Encode("PING")]);
        Eventually.Holds(() => session.OutputPaused, () => "the client is not paused");
        Eventually.Holds(() => session.Steps is not { Holds: true },
            () => $"{name} holds its keys for as long as its client does not read");
        for (int i = 0; i < 10; i++)
        {
            other.Ok("SETRANGE freed 100000 x");
            other.Ok("DEL freed");
        }

        Eventually.Holds(() => server.Server.Store.Stats.PendingFrees == 0,
            () => $"{server.Server.Store.Stats.PendingFrees} things wait to be freed");
        Assert.True(session.OutputPaused);
        client.Skip($"${BigBytes}\r\n".Length + BigBytes + 2);
        Assert.Equal("PONG", client.Read().String);
        Assert.NotEqual('-', client.Read().Type);
        Assert.Equal("PONG", client.Read().String);
        server.Server.Store.CheckIntegrity();
    }

    /// <summary>Makes what the client does not read, and the collection that the command is about.</summary>
    private static void Fill(RespClient client, string line)
    {
        client.Ok($"SETRANGE big {BigBytes - 1} x");
        for (int from = 0; from < Many; from += 3_000)
        {
            var some = Enumerable.Range(from, 3_000).ToArray();
            if (Has("set")) client.Ok("SADD set " + string.Join(' ', some.Select(i => $"m{i}")));
            if (Has("list")) client.Ok("RPUSH list " + string.Join(' ', some.Select(i => $"element:{i}")));
            if (Has("hash")) client.Ok("HSET hash " + string.Join(' ', some.Select(i => $"f{i} value:{i}")));
            if (Has("scores")) client.Ok("ZADD scores " + string.Join(' ', some.Select(i => $"{i} m{i}")));
            if (!Has("stream")) continue;
            client.Send([.. some.SelectMany(i => RespText.Encode($"XADD stream {i + 1}-1 f v"))]);
            foreach (int i in some) client.Read();
        }

        bool Has(string key) => line.Contains($" {key}", StringComparison.Ordinal);
    }
}
