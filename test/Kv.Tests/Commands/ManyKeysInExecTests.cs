using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>Commands of EXEC over more keys than a turn works on: in steps, on what EXEC holds, as they answer
/// alone.</summary>
public sealed class ManyKeysInExecTests
{
    private const int Keys = 5000, KeysPerStep = 1024;

    public static TheoryData<string, string, string> All() => new()
    {
        { "MGET", "mget", $"{Names("k")} none k7 k7 set" },
        { "EXISTS", "exists", $"{Names("k")} none k7 k7 set" },
        { "TOUCH", "touch", $"{Names("k")} none k7 k7" },
        { "PFCOUNT", "pfcount", $"{Names("absent")} h1 h2 h1" },
        { "PFCOUNT", "pfcount", $"{Names("absent")} h1 set" },
        { "MSET", "mset", $"{Pairs("k")} k7 last set string" },
        { "MSETNX", "msetnx", Pairs("new") + " new7 last" },
        { "MSETNX", "msetnx", Pairs("new") + " new7 last k7 there" },
        { "DEL", "del", $"{Names("k")} none k7 set" },
        { "UNLINK", "unlink", $"{Names("k")} none k7 set" },
    };

    // PFCOUNT waited for ever for the keys that its own transaction held, and its worker with it; the others looked all
    // of their keys up once more in one turn: 400,000 of them took 0.4 to 0.7 s.
    [Theory, MemberData(nameof(All))]
    public void They_answer_as_alone_and_leave_turns_to_others(string command, string row, string words)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var model = new WindowClient(plain);
        using var other = new WindowClient(instance);
        Fill(client);
        Fill(model);
        client.Run("MULTI");
        client.Run($"{command} {words}");
        client.Run("APPEND k3 x");
        int turns = 0;
        // Turns of others behind its first step and before the next command.
        client.Between = _ =>
        {
            string counts = other.Run("INFO commandstats");
            if (counts.Contains($"cmdstat_{row}:calls=1,", StringComparison.Ordinal)
                && !counts.Contains("cmdstat_append", StringComparison.Ordinal)) turns++;
        };
        string answer = client.Run("EXEC");
        Assert.Equal("*2\r\n" + model.Run($"{command} {words}") + model.Run("APPEND k3 x"), answer);
        // The last of the steps may end behind the next command.
        bool isRefused = row == "msetnx" && words.EndsWith("there", StringComparison.Ordinal);
        int least = isRefused ? 1 : Keys / KeysPerStep - 1;
        Assert.True(turns >= least, $"{turns} turns of others, not {least}");
        client.Between = null;
        foreach (string line in (string[])["DBSIZE", $"MGET {Names("k")}", $"MGET {Names("new")}", "TYPE set"])
            Assert.Equal(model.Run(line), client.Run(line));
        instance.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(All))]
    public void In_a_script_that_has_declared_them_they_are_done_at_once(string command, string row, string words)
    {
        Assert.NotEmpty(row);
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var model = new WindowClient(plain);
        Fill(client);
        Fill(model);
        // As many as fit on the stack of a script.
        string[] some = [.. words.Split(' ').TakeLast(3000)];
        string body = $"return redis.call(\"{command}\",unpack(KEYS))";
        byte[] reply = Run(client, ["EVAL", body, $"{some.Length}", .. some]);
        string expected = model.Run($"{command} {string.Join(' ', some)}");
        Assert.StartsWith(expected[..4], Encoding.Latin1.GetString(reply), StringComparison.Ordinal);
        Assert.Equal(model.Run("DBSIZE"), client.Run("DBSIZE"));
        instance.Server.Store.CheckIntegrity();
    }

    // What needs the keys meanwhile has all of it done first.
    [Fact]
    public void Who_needs_one_of_the_keys_comes_behind_all_of_it()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        int turns = 1;
        // Ends: each round comes some turns later; in the first one nobody comes.
        for (int at = 0; at <= turns; at += 3)
        {
            client.Run("FLUSHALL");
            Fill(client);
            client.Run("MULTI");
            client.Run($"MSET {Pairs("k")}");
            client.Run($"DEL {Names("k")}");
            client.Run($"MSETNX {Pairs("k")}");
            string? seen = null;
            client.Between = turn =>
            {
                if (turn == at) seen = other.Run("MGET k1 k4999");
            };
            Assert.Equal("*3\r\n+OK\r\n:5000\r\n:1\r\n", client.Run("EXEC"));
            client.Between = null;
            if (at == 0) turns = client.Steps;
            // Before its first lock it may see what was there.
            const string Before = "*2\r\n$2\r\nv1\r\n$5\r\nv4999\r\n", Behind = "*2\r\n$2\r\nw1\r\n$5\r\nw4999\r\n";
            if (seen != null) Assert.True(seen is Before or Behind, seen);
            instance.Server.Store.CheckIntegrity();
        }

        Assert.True(turns > 25, $"{turns} turns");
    }

    [Fact]
    public void A_client_that_leaves_in_the_middle_leaves_all_of_it_done()
    {
        using var instance = KvInstance.Start();
        using var other = new WindowClient(instance);
        for (int at = 1; at < 40; at += 4)
        {
            other.Run("FLUSHALL");
            Fill(other);
            using var client = new WindowClient(instance);
            client.Run("MULTI");
            client.Run($"MSETNX {Pairs("new")}");
            client.Run($"MSETNX {Pairs("fresh")} k1 there");
            client.Run("SET last end");
            client.LeaveAfter(at);
            Record.Exception(() => client.Run("EXEC"));
            client.Dispose();
            Eventually.Holds(() => other.Run("GET last") == "$3\r\nend\r\n", () => $"EXEC is not done, turn {at}");
            instance.AwaitWhole();
            // Two lists, a set, two sketches, and last.
            Assert.Equal($":{(2 * Keys) + 4}\r\n", other.Run("DBSIZE"));
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Large_values_are_found_in_its_steps(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var client = server.Connect();
        byte[] large = new byte[100_000];
        client.Ok("MULTI");
        client.Command(["MSET"u8.ToArray(), .. Enumerable.Range(0, 2 * Keys)
            .Select(i => i is 1 or 2 * Keys - 1 ? large : Encoding.ASCII.GetBytes($"word:{i}"))]);
        client.Ok("STRLEN word:0");
        client.Ok($"STRLEN word:{2 * Keys - 2}");
        var replies = client.Ok("EXEC").Items!;
        Assert.Equal("OK", replies[0].String);
        Assert.Equal(100_000, replies[1].Integer);
        Assert.Equal(100_000, replies[2].Integer);
        server.Server.Store.CheckIntegrity();
    }

    private static void Fill(WindowClient client)
    {
        client.Run($"MSET {string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"k{i} v{i}"))}");
        client.Run("SADD set a b");
        client.Run("PFADD h1 a b c");
        client.Run("PFADD h2 c d");
    }

    private static byte[] Run(WindowClient client, string[] words) =>
        client.Run(RespText.Encode([.. words.Select(Encoding.Latin1.GetBytes)])).ToArray();

    private static string Names(string stem) => string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"{stem}{i}"));

    private static string Pairs(string stem) =>
        string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"{stem}{i} w{i}"));
}
