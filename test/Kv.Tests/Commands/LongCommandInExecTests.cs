using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>A command of EXEC that takes long: others have turns in between, and EXEC happens at one instant all the
/// same.</summary>
public sealed class LongCommandInExecTests
{
    private const int Many = 20_000;

    /// <summary>Each takes several turns when it is alone.</summary>
    private static readonly string[] Lines =
    [
        "LCS text text LEN", "LCS text text IDX",
        "SMEMBERS set", "SUNION set half", "SUNIONSTORE made set half", "SDIFF set half", "SINTERCARD 2 set half",
        "LRANGE list 0 -1", "LREM list 0 absent", "LPOS list absent", "LPOP list 10000",
        "LMPOP 1 list RIGHT COUNT 9000",
        "HGETALL hash", "HKEYS hash", "COPY hash made", "DUMP hash",
        "ZRANGE scores 0 -1 WITHSCORES", "ZUNION 2 scores set", "ZUNIONSTORE made 2 scores set",
        "ZINTERSTORE made 2 scores half", "ZRANGESTORE made scores 0 -1", "ZREMRANGEBYRANK scores 0 9999",
        "ZPOPMIN scores 9000", "GEOSEARCH places FROMLONLAT 0 0 BYRADIUS 30000 km ASC",
        "GEOSEARCHSTORE made places FROMLONLAT 0 0 BYRADIUS 30000 km",
        "SORT list", "SORT set ALPHA", "SORT list LIMIT 5 9000 DESC", "SORT set BY nosort GET # ALPHA",
        "XRANGE stream - +", "XREAD COUNT 20000 STREAMS stream 0", "XREADGROUP GROUP g c COUNT 20000 STREAMS stream >",
        "XREADGROUP GROUP had c COUNT 20000 STREAMS stream 0", "XPENDING stream had - + 20000",
        "XAUTOCLAIM stream had d 0 0 COUNT 20000", "XINFO STREAM stream FULL COUNT 0",
        "BITCOUNT bits", "BITPOS bits 0", "BITOP NOT made bits", "APPEND shared x", "SETRANGE shared 6000000 x",
        "SETBIT shared 48000000 1",
    ];

    public static TheoryData<string> All() => [.. Lines];

    [Theory, MemberData(nameof(All))]
    public void It_answers_and_does_what_it_does_alone_while_others_have_turns(string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var model = new WindowClient(plain);
        using var other = new WindowClient(instance);
        Fill(client, line);
        Fill(model, line);
        bool isFirst = true;
        foreach (string before in (string[])["GET bits", "SET small 1"])
        {
            client.Run("MULTI");
            foreach (string queued in (string[])[before, line, "SET small 2", line]) client.Run(queued);
            client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
            string answer = client.Run("EXEC");
            client.Between = null;
            // The second time there may be less left to do.
            if (isFirst) Assert.True(client.Steps >= 2, $"{client.Steps} turns");
            isFirst = false;
            string expected =
                "*4\r\n" + model.Run(before) + model.Run(line) + model.Run("SET small 2") + model.Run(line);
            Assert.True(Sorted(expected, line) == Sorted(answer, line),
                $"{expected.Length} and {answer.Length} bytes");
            Assert.DoesNotContain("internal error", answer, StringComparison.Ordinal);     // here and there
            foreach (string key in Keys) Assert.True(Digest(model, key) == Digest(client, key), key);
            instance.Server.Store.CheckIntegrity();
        }
    }

    // Whoever needs a key of it meets all of it done.
    [Theory]
    [InlineData("SUNIONSTORE made set half", "SCARD made", ":20000\r\n")]
    [InlineData("LCS text text LEN", "GET last", "$3\r\nend\r\n")]
    [InlineData("ZUNIONSTORE made 2 scores set", "EXISTS made last", ":2\r\n")]
    [InlineData("SORT list", "DEL last list", ":2\r\n")]
    [InlineData("COPY hash made", "FLUSHALL", "+OK\r\n")]
    [InlineData("APPEND shared x", "STRLEN shared", ":5000001\r\n")]
    [InlineData("SMEMBERS set", "SPOP set 0", "*0\r\n")]
    public void Who_needs_one_of_the_keys_comes_behind_all_of_it(string line, string wanted, string reply)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        int turns = 1;
        // Ends: each round comes some turns later; in the first one nobody comes.
        for (int at = 0; at <= turns; at += Math.Max(1, turns / 6))
        {
            client.Run("FLUSHALL");
            Fill(client, line + wanted);
            client.Run("MULTI");
            client.Run("DEL last");
            client.Run(line);
            client.Run("SET last end");
            string? seen = null;
            client.Between = turn =>
            {
                if (turn == at) seen = other.Run(wanted);
            };
            string answer = client.Run("EXEC");
            client.Between = null;
            if (at == 0) turns = client.Steps;
            Assert.StartsWith("*3\r\n:0\r\n", answer, StringComparison.Ordinal);
            Assert.EndsWith("+OK\r\n", answer, StringComparison.Ordinal);
            if (seen != null) Assert.Equal(reply, seen);
            instance.Server.Store.CheckIntegrity();
        }

        Assert.True(turns >= 2, $"{turns} turns");
    }

    [Fact]
    public void A_client_that_leaves_in_the_middle_of_such_a_command_leaves_all_of_it_done()
    {
        using var instance = KvInstance.Start();
        using var other = new WindowClient(instance);
        foreach (string line in Lines)
        {
            other.Run("FLUSHALL");
            Fill(other, line);
            using var client = new WindowClient(instance);
            client.Run("MULTI");
            client.Run(line);
            client.Run("SET last end");
            client.Between = _ => throw new OperationCanceledException();
            var left = Record.Exception(() => client.Run("EXEC"));
            Assert.True(left is OperationCanceledException, $"{line}: {left?.Message ?? "done in one turn"}");
            client.Dispose();
            Eventually.Holds(() => other.Run("GET last") == "$3\r\nend\r\n", () => $"{line} is not done");
            instance.AwaitWhole();
        }

        other.Run("FLUSHALL");
    }

    // The arguments of a long addition are read in steps, and some of them are blocks.
    [Fact]
    public void Large_values_of_a_long_command_are_found_in_its_steps()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        byte[] large = new byte[100_000];
        client.Ok("MULTI");
        client.Command(["RPUSH"u8.ToArray(), "list"u8.ToArray(), large, .. Enumerable.Range(0, 6000)
            .Select(i => System.Text.Encoding.ASCII.GetBytes("word:" + i)), large]);
        client.Ok("LINDEX list -1");
        var replies = client.Ok("EXEC").Items!;
        Assert.Equal(6002, replies[0].Integer);
        Assert.Equal(100_000, replies[1].String!.Length);
        server.Server.Store.CheckIntegrity();
    }

    // What one such command has answered is taken piece by piece; that is bounded with all the others'.
    [Fact]
    public void A_reply_of_such_commands_that_is_too_large_is_one_error_and_all_of_it_is_done()
    {
        using var instance = KvInstance.Start("--max-reply-bytes", "1mb");
        using var client = new WindowClient(instance);
        Fill(client, "set");
        client.Run("SET small 1");
        client.Run("MULTI");
        for (int i = 0; i < 10; i++) client.Run("SMEMBERS set");
        client.Run("INCR small");
        Assert.Equal("-ERR reply is larger than max-reply-bytes\r\n", client.Run("EXEC"));
        Assert.Equal("$1\r\n2\r\n", client.Run("GET small"));
    }

    // 500,000 keys may be looked at in all, and all of them sixteen times however many they are.
    [Theory]
    [InlineData(16, 40_000, true)]
    [InlineData(17, 29_000, true)]
    [InlineData(17, 30_000, false)]
    public void Who_looks_at_all_keys_very_often_while_all_others_stand_still_is_refused(
        int commands, int keys, bool isRun)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        for (int from = 0; from < keys; from += 1000)
            client.Run($"MSET {Join(Enumerable.Range(from, 1000), i => $"k{i} v")}");
        client.Run("MULTI");
        client.Run("SET k0 new");
        for (int i = 0; i < commands; i++) client.Run(i % 2 == 0 ? "KEYS nothing*" : "SCAN 0 MATCH nothing* COUNT 100");
        string answer = client.Run("EXEC");
        if (isRun)
            Assert.StartsWith($"*{commands + 1}\r\n+OK\r\n*0\r\n", answer, StringComparison.Ordinal);
        else
            Assert.StartsWith("-EXECABORT Transaction discarded because of: more than 16 commands", answer,
                StringComparison.Ordinal);
        Assert.Equal(isRun ? "$3\r\nnew\r\n" : "$1\r\nv\r\n", client.Run("GET k0"));
        Assert.Equal("-ERR EXEC without MULTI\r\n", client.Run("EXEC"));
    }

    [Fact]
    public void Commands_without_keys_leave_turns_to_others_too()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        client.Run("MULTI");
        client.Run("PFSELFTEST");
        client.Run("PING");
        Assert.Equal("*2\r\n+OK\r\n+PONG\r\n", client.Run("EXEC"));
        Assert.True(client.Steps >= 2, $"{client.Steps} turns");
    }

    private static readonly string[] Keys =
        ["text", "set", "half", "list", "hash", "scores", "places", "stream", "bits", "shared", "made", "small"];

    // The order of members is another one in each store.
    private static string Sorted(string reply, string line)
    {
        if (line == "DUMP hash") return reply.Length.ToString(CultureInfo.InvariantCulture);
        return line.Contains("set", StringComparison.Ordinal) || line.Contains("hash", StringComparison.Ordinal)
            ? string.Join(' ', reply.Split("\r\n").Order(StringComparer.Ordinal)) : reply;
    }

    private static string Digest(WindowClient client, string key)
    {
        string type = client.Run($"TYPE {key}");
        return type + type switch
        {
            "+set\r\n" => Sorted(client.Run($"SMEMBERS {key}"), "set"),
            "+hash\r\n" => Sorted(client.Run($"HKEYS {key}"), "hash"),
            _ => client.Run($"DUMP {key}"),
        };
    }

    /// <summary>Makes the keys that a line names.</summary>
    private static void Fill(WindowClient client, string line)
    {
        client.Run($"SET text {new string('t', 1999)}x{new string('u', 1000)}");
        client.Run("SETRANGE bits 4999999 x");
        client.Run("COPY bits shared");
        for (int from = 0; from < Many; from += 2000)
        {
            var numbers = Enumerable.Range(from, 2000);
            Fill(client, line, "SADD set", numbers, i => $"m{i}");
            Fill(client, line, "SADD half", numbers, i => $"m{i / 2 * 2}");
            Fill(client, line, "RPUSH list", numbers, i => $"{1_000_000_000_000 + (i * 7919L % 20011)}");
            Fill(client, line, "HSET hash", numbers, i => $"field:{i} {new string('v', 60)}{i}");
            Fill(client, line, "ZADD scores", numbers, i => $"{i % 1000} m{i}");
            Fill(client, line, "GEOADD places", numbers, i => $"{i % 360 - 179.5:F1} {i % 170 - 84.5:F1} p{i}");
            if (!line.Contains("stream", StringComparison.Ordinal)) continue;
            client.Run([.. numbers.SelectMany(i => RespText.Encode($"XADD stream {i + 1}-1 f v"))]);
        }

        if (!line.Contains("stream", StringComparison.Ordinal)) return;
        client.Run("XGROUP CREATE stream g 0");
        client.Run("XGROUP CREATE stream had 0");
        client.Run("XREADGROUP GROUP had c COUNT 20000 STREAMS stream >");
    }

    private static void Fill(WindowClient client, string line, string command, IEnumerable<int> numbers,
        Func<int, FormattableString> format)
    {
        if (!line.Contains(command.Split(' ')[1], StringComparison.Ordinal)) return;
        client.Run($"{command} {Join(numbers, format)}");
    }

    private static string Join(IEnumerable<int> numbers, Func<int, FormattableString> format) =>
        string.Join(' ', numbers.Select(i => format(i).ToString(CultureInfo.InvariantCulture)));
}
