using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands about one long value that work in steps: what they answer and leave is what one turn would, whoever comes between.</summary>
public sealed class LongStepTests
{
    private const int Many = 30_000;

    /// <summary>What kind of value, and a command about it that takes steps.</summary>
    private static readonly (string Kind, string Line)[] Cases =
    [
        ("list", "DUMP k"), ("set", "DUMP k"), ("hash", "DUMP k"), ("scores", "DUMP k"), ("stream", "DUMP k"), ("text", "DUMP k"), ("random", "DUMP k"), ("alone", "DUMP k"),
        ("stream", "XRANGE k - +"), ("stream", "XREVRANGE k + - COUNT 9000"), ("stream", "XRANGE k 100 (25000"), ("stream", "XREVRANGE k 29000 7"),
        ("stream", "XREAD STREAMS k 0"), ("stream", "XREAD COUNT 6000 STREAMS none k k 0 5 29990"), ("stream", "XINFO STREAM k FULL COUNT 0"), ("stream", "XINFO STREAM k FULL COUNT 7000"),
        ("stream", "XTRIM k MAXLEN 100"), ("stream", "XTRIM k MINID 29955"), ("stream", "XTRIM k MAXLEN ~ 500 LIMIT 28000"), ("stream", "XADD k MAXLEN 10 30001-5 f v"),
        ("pending", "XGROUP DESTROY k group"), ("pending", "XGROUP DELCONSUMER k group one"), ("pending", "XGROUP DELCONSUMER k group two"),
        ("list", "LREM k 0 same"), ("list", "LREM k 5000 same"), ("list", "LREM k -7000 same"), ("list", "LREM k 0 none"), ("alone", "LTRIM k 100 -300"), ("alone", "LTRIM k 5000 5000"), ("alone", "LREM k 0 same"),
        ("list", "LPOS k none"), ("list", "LPOS k last"), ("list", "LPOS k same COUNT 0"), ("list", "LPOS k same RANK -3 COUNT 4000 MAXLEN 25000"), ("list", "LPOS k same RANK 9000"),
        ("list", "LINSERT k BEFORE last new"), ("list", "LINSERT k AFTER last new"), ("list", "LINSERT k AFTER none new"),
        // Of very many arguments: a part of them there, a part not.
        ("set", "SADD k " + Words("member:{0}")), ("set", "SREM k " + Words("member:{0}")), ("set", "SMISMEMBER k " + Words("member:{0}")),
        ("hash", "HSET k " + Words("f{0} new:{0}")), ("hash", "HDEL k " + Words("f{0}")), ("hash", "HMGET k " + Words("f{0}")),
        ("scores", "ZREM k " + Words("m{0}")), ("scores", "ZMSCORE k " + Words("m{0}")),
        ("hash", "HMSET k " + Words("f{0} new:{0}")), ("set", "SADD k " + Words("member:{0}").Replace("member:3", "member:1", StringComparison.Ordinal)),
        ("none", "SADD k " + Words("member:{0}")), ("none", "HSET k " + Words("f{0} new:{0}")),
    ];

    private static string Words(string form) =>
        string.Join(' ', Enumerable.Range(Many - 3000, 9000).Select(i => string.Format(CultureInfo.InvariantCulture, form, i)));

    /// <summary>Whether a command reads all of its arguments before it holds the key.</summary>
    private static bool ReadsFirst(string line) => line.Split(' ', 2)[0] is "SADD" or "HSET" or "HMSET";

    public static TheoryData<int> Kinds => [2, 3];

    [Theory, MemberData(nameof(Kinds))]
    public void What_comes_of_steps_is_what_comes_of_one_turn(int version)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run($"HELLO {version}");
        foreach (var (kind, line) in Cases)
        {
            Fill(client, kind);
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run("MULTI");
            client.Run(line);
            string expected = client.Run("EXEC");
            string left = Left(client, "k");
            client.Run("SELECT 0");
            client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
            string answer = client.Run(line);
            client.Between = null;
            Assert.True(client.Steps >= 2, $"{line[..Math.Min(60, line.Length)]} of {kind}: {client.Steps} steps");
            Assert.True(expected == "*1\r\n" + answer, $"{line[..Math.Min(60, line.Length)]} of {kind}");
            Assert.True(left == Left(client, "k"), $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Theory]
    [InlineData("DEL k")]
    [InlineData("FLUSHALL")]
    [InlineData("RENAME k moved")]
    [InlineData("SET k v")]
    [InlineData("PEXPIREAT k 1")]
    [InlineData("SWAPDB 0 5")]
    public void What_others_do_with_the_key_comes_behind_the_last_step(string interference)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        foreach (var (kind, line) in Cases)
        {
            Fill(client, kind);
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            string expected = client.Run(line);
            int at = ReadsFirst(line) ? client.Steps - 2 : 1;
            string left = Left(client, "k");
            client.Run("SELECT 0");
            client.Between = step =>
            {
                if (step == at) other.Run(interference);
            };
            Assert.True(expected == client.Run(line), $"{line[..Math.Min(60, line.Length)]} of {kind}");
            client.Between = null;
            if (interference.StartsWith("RENAME", StringComparison.Ordinal)) Assert.True(left == Left(client, "moved"), $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            else if (interference.StartsWith("SWAPDB", StringComparison.Ordinal)) client.Run(interference);
            else Assert.True(client.Run("EXISTS k") == (interference.StartsWith("SET", StringComparison.Ordinal) ? ":1\r\n" : ":0\r\n"), $"{line[..Math.Min(60, line.Length)]} of {kind}");
            if (interference.StartsWith("SWAPDB", StringComparison.Ordinal)) Assert.True(left == Left(client, "k"), $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void What_others_do_while_very_many_arguments_are_read_comes_before()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        foreach (var (kind, line) in Cases)
        {
            if (!ReadsFirst(line)) continue;
            Fill(client, "none");
            string expected = client.Run(line), left = Left(client, "k");
            Fill(client, kind);
            client.Between = step =>
            {
                if (step == 3) other.Run("DEL k");
            };
            Assert.True(expected == client.Run(line), $"{line[..Math.Min(60, line.Length)]} of {kind}");
            client.Between = null;
            Assert.True(left == Left(client, "k"), $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            client.Between = step =>
            {
                if (step == 3) other.Run("SET k text");
            };
            Assert.StartsWith("-WRONGTYPE", client.Run(line), StringComparison.Ordinal);
            client.Between = null;
            Assert.Equal("$4\r\ntext\r\n", client.Run("GET k"));
        }
    }

    [Fact]
    public void A_client_that_leaves_leaves_all_of_it_or_nothing()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        foreach (var (kind, line) in Cases)
        {
            Fill(client, kind);
            string before = Left(client, "k");
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run(line);
            int late = client.Steps - 2;
            string after = Left(client, "k");
            client.Run("SELECT 0");
            foreach (int at in ReadsFirst(line) ? [1, 2, late] : new[] { 1, 2 })
            {
                using var leaver = new WindowClient(instance);
                leaver.Between = step =>
                {
                    if (step == at) throw new OperationCanceledException();
                };
                bool hasLeft = false;
                try
                {
                    leaver.Run(line);
                }
                catch (OperationCanceledException)
                {
                    hasLeft = true;
                }

                Assert.True(hasLeft, $"{line[..Math.Min(60, line.Length)]} of {kind}: {leaver.Steps} steps");
                leaver.Dispose();
                string left = Left(client, "k");
                Assert.True(left == before || left == after, $"{line[..Math.Min(60, line.Length)]} of {kind} left a part");
                if (left == after) break;
            }

            instance.Server.Store.CheckIntegrity();
        }

        client.Run("FLUSHALL");
        var store = instance.Server.Store;
        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.Stats.BlockBytes == 0;
            },
            () => $"{store.Stats.BlockBytes} bytes are left");
    }

    [Theory]
    [InlineData("list", "DUMP k")]
    [InlineData("stream", "DUMP k")]
    [InlineData("random", "DUMP k")]
    [InlineData("list", "LINSERT k BEFORE last ")]
    public void Refused_memory_is_an_error_and_changes_nothing(string kind, string line)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        if (line.StartsWith("LINSERT", StringComparison.Ordinal)) line += new string('n', 1_000_000);       // so much room there is in no list
        Fill(client, kind);
        string before = Left(client, "k");
        var store = instance.Server.Store;
        bool isRefused = false;
        for (int refused = 1; refused < 20; refused++)
        {
            int asked = 0;
            store.Budget.Refuse = () => ++asked == refused;
            string answer = client.Run(line);
            store.Budget.Refuse = null;
            if (asked < refused) break;
            isRefused |= answer.StartsWith("-OOM", StringComparison.Ordinal);
            if (answer[0] == '-') Assert.StartsWith("-OOM", answer, StringComparison.Ordinal);
            if (answer[0] == '-') Assert.True(before == Left(client, "k"), "something has changed");
            Fill(client, kind);
            before = Left(client, "k");
        }

        Assert.True(isRefused);
        store.CheckIntegrity();
    }

    // Nothing else is known of a list or stream than what DUMP shows; of the others its digest is as good as their content.
    private static string Left(WindowClient client, string key) => client.Run($"DUMP {key}");

    private static void Fill(WindowClient client, string kind)
    {
        client.Run("FLUSHALL");
        if (kind == "none") return;
        string filler = new('x', 1500);
        if (kind == "text") client.Run("SET k " + string.Join(',', Enumerable.Range(0, 300_000)));
        else if (kind == "random") client.Run($"SETRANGE k 20000000 {new string('r', 500_000)}");
        else if (kind == "alone")
        {
            for (int i = 0; i < 6000; i += 100) client.Run("RPUSH k " + string.Join(' ', Enumerable.Range(i, 100).Select(n => n % 3 == 0 ? "same" : filler + n)));
        }
        else if (kind is "stream" or "pending")
        {
            for (int i = 1; i <= Many; i++) client.Run($"XADD k {i} field value:{i}");
            client.Run("XDEL k 5 100 101 102 7000 29999");
            client.Run("XGROUP CREATE k group 0");
            client.Run("XGROUP CREATE k another 0");
            client.Run("XREADGROUP GROUP group one COUNT 9000 STREAMS k >");
            client.Run($"XREADGROUP GROUP group two {(kind == "pending" ? "" : "COUNT 9000")} STREAMS k >");
            client.Run("XREADGROUP GROUP another three COUNT 100 STREAMS k >");
            if (kind == "pending") for (int i = 0; i < 4; i++) client.Run($"XAUTOCLAIM k group four 0 {i * 3000} COUNT 1000 JUSTID");
        }
        else
        {
            for (int i = 0; i < Many; i += 1000)
            {
                int[] range = [.. Enumerable.Range(i, 1000)];
                if (kind == "list") client.Run("RPUSH k " + string.Join(' ', range.Select(n => n % 3 == 0 ? "same" : $"element:{n}")));
                else if (kind == "set") client.Run("SADD k " + string.Join(' ', range.Select(n => $"member:{n}")));
                else if (kind == "hash") client.Run("HSET k " + string.Join(' ', range.Select(n => $"f{n} value:{n}")));
                else client.Run("ZADD k " + string.Join(' ', range.Select(n => $"{n % 777} m{n}")));
            }

            if (kind == "list") client.Run("RPUSH k last");
        }
    }
}
