using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>Commands about one long value that work in steps: what they answer and leave is what one turn would,
/// whoever comes between.</summary>
public sealed class LongStepTests
{
    private const int Many = LongValues.Many;

    /// <summary>What kind of value, and a command about it that takes steps.</summary>
    private static readonly (string Kind, string Line)[] Cases =
    [
        ("list", "DUMP k"), ("set", "DUMP k"), ("hash", "DUMP k"), ("scores", "DUMP k"), ("stream", "DUMP k"),
        ("text", "DUMP k"), ("random", "DUMP k"), ("alone", "DUMP k"),
        ("stream", "XRANGE k - +"), ("stream", "XREVRANGE k + - COUNT 9000"), ("stream", "XRANGE k 100 (25000"),
        ("stream", "XREVRANGE k 29000 7"),
        ("stream", "XREAD STREAMS k 0"), ("stream", "XREAD COUNT 6000 STREAMS none k k 0 5 29990"),
        ("stream", "XINFO STREAM k FULL COUNT 0"), ("stream", "XINFO STREAM k FULL COUNT 7000"),
        ("stream", "XTRIM k MAXLEN 100"), ("stream", "XTRIM k MINID 29955"),
        ("stream", "XTRIM k MAXLEN ~ 500 LIMIT 28000"), ("stream", "XADD k MAXLEN 10 30001-5 f v"),
        ("stream", "XREADGROUP GROUP group new STREAMS k >"),
        ("stream", "XREADGROUP GROUP group one COUNT 7000 NOACK STREAMS k >"),
        ("stream", "XREADGROUP GROUP another three STREAMS k k k > 0 >"),
        ("stream", "XREADGROUP GROUP another new COUNT 3000 STREAMS k k k > > 50"),
        ("pending", "XREADGROUP GROUP group two STREAMS k 0"),
        ("pending", "XREADGROUP GROUP group one COUNT 4500 STREAMS k k 100 9000"),
        ("pending", "XPENDING k group - + 100000"), ("pending", "XPENDING k group (900 29000 6000 two"),
        ("pending", "XPENDING k group IDLE 1000000 - + 5000"),
        ("pending", "XPENDING k group IDLE 9000000000000 - + 10"),
        ("pending", "XPENDING k group IDLE 9000000000000 - + 10 two"),
        ("stream", "XDEL k " + Words("{0}")), ("stream", "XDEL k " + Words("{0}-0") + " word"),
        ("pending", "XACK k group " + Words("{0}")), ("pending", "XACK k group " + Words("{0}") + " word 5"),
        ("pending", "XCLAIM k group five 0 " + Words("{0}")),
        ("pending", "XCLAIM k group one 1000000 " + Words("{0}") + " JUSTID RETRYCOUNT 7 TIME 5000"),
        ("pending", "XCLAIM k another five 0 " + Words("{0}") + " FORCE LASTID 29000"),
        ("pending", "XCLAIM k group five 0 " + Words("{0}") + " WORD"),
        ("pending", "XCLAIM k group five much " + Words("{0}")),
        ("pending", "XAUTOCLAIM k group five 0 0 COUNT 100000"),
        ("pending", "XAUTOCLAIM k group one 1000000 5000 COUNT 5000 JUSTID"),
        ("pending", "XAUTOCLAIM k group five 999999999 0 COUNT 3000"),
        ("pending", "XGROUP DESTROY k group"), ("pending", "XGROUP DELCONSUMER k group one"),
        ("pending", "XGROUP DELCONSUMER k group two"),
        ("list", "LREM k 0 same"), ("list", "LREM k 5000 same"), ("list", "LREM k -7000 same"),
        ("list", "LREM k 0 none"), ("alone", "LTRIM k 100 -300"), ("alone", "LTRIM k 5000 5000"),
        ("alone", "LREM k 0 same"),
        ("list", "LPOS k none"), ("list", "LPOS k last"), ("list", "LPOS k same COUNT 0"),
        ("list", "LPOS k same RANK -3 COUNT 4000 MAXLEN 25000"), ("list", "LPOS k same RANK 9000"),
        ("list", "LINSERT k BEFORE last new"), ("list", "LINSERT k AFTER last new"),
        ("list", "LINSERT k AFTER none new"),
        // From the ends: some, all but one, all, more than there are.
        ("list", "LPOP k 20000"), ("list", "RPOP k 30000"), ("list", "RPOP k 30001"), ("alone", "LPOP k 5000"),
        ("alone", "RPOP k 100000"),
        ("list", "LMPOP 2 none k LEFT COUNT 9000"), ("list", "LMPOP 1 k RIGHT COUNT 90000"),
        ("list", "BLMPOP 0 2 none k RIGHT COUNT 29999"), ("list", "BLMPOP 0 1 k LEFT COUNT 5000"),
        ("scores", "ZPOPMIN k 20000"), ("scores", "ZPOPMAX k 29999"), ("scores", "ZPOPMAX k 30000"),
        ("scores", "ZPOPMIN k 90000"),
        ("scores", "ZMPOP 2 none k MAX COUNT 9000"), ("scores", "ZMPOP 1 k MIN COUNT 90000"),
        ("scores", "BZMPOP 0 2 none k MIN COUNT 5000"), ("scores", "BZMPOP 0 1 k MAX COUNT 30000"),
        ("scores", "ZRANDMEMBER k 30000"), ("scores", "ZRANDMEMBER k 90000 WITHSCORES"), ("alone", "LRANGE k 3 -3"),
        ("scores", "ZRANGESTORE k k 100 25000"), ("scores", "ZRANGESTORE k k 700 3 BYSCORE REV LIMIT 10 20000"),
        ("scores", "ZRANGESTORE k k 0 -1 REV"),
        ("places", "GEOSEARCH k FROMLONLAT 3 4 BYRADIUS 30000 km"),
        ("places", "GEOSEARCH k FROMMEMBER m7 BYRADIUS 30000 km ASC WITHDIST WITHCOORD WITHHASH"),
        ("places", "GEOSEARCH k FROMLONLAT 0 0 BYBOX 30000 15000 km DESC COUNT 9000 WITHDIST"),
        ("places", "GEOSEARCH k FROMLONLAT 0 0 BYRADIUS 30000 km COUNT 3"),
        ("places", "GEOSEARCH k FROMLONLAT 0 0 BYRADIUS 30000 km COUNT 20000 ANY"),
        ("places", "GEOSEARCH k FROMLONLAT 0 0 BYRADIUS 30000 km COUNT 20000 ANY ASC"),
        ("places", "GEORADIUS_RO k 100 50 20000 mi WITHHASH"), ("places", "GEORADIUSBYMEMBER k m9 25000 km STORE k"),
        ("places", "GEORADIUS k 10 10 25000 km STOREDIST k"),
        ("places", "GEOSEARCHSTORE k k FROMLONLAT 0 0 BYRADIUS 30000 km STOREDIST"),
        ("places", "GEOSEARCHSTORE k k FROMLONLAT 0 0 BYBOX 20000 10000 km COUNT 12000"),
        // Of very many arguments: a part of them there, a part not.
        ("set", "SADD k " + Words("member:{0}")), ("set", "SREM k " + Words("member:{0}")),
        ("set", "SMISMEMBER k " + Words("member:{0}")),
        ("hash", "HSET k " + Words("f{0} new:{0}")), ("hash", "HDEL k " + Words("f{0}")),
        ("hash", "HMGET k " + Words("f{0}")),
        ("scores", "ZREM k " + Words("m{0}")), ("scores", "ZMSCORE k " + Words("m{0}")),
        ("hash", "HMSET k " + Words("f{0} new:{0}")),
        ("set", "SADD k " + Words("member:{0}").Replace("member:3", "member:1", StringComparison.Ordinal)),
        ("scores", "ZADD k " + Words("{0} m{0}")), ("scores", "ZADD k NX CH " + Words("-{0} m{0}")),
        ("scores", "ZADD k XX CH " + Words("-{0}.5 m{0}")),
        ("scores", "ZADD k GT CH " + Words("{1} m{0}")), ("scores", "ZADD k XX LT CH " + Words("{1} m{0}")),
        ("scores", "GEOADD k " + Words("1{1} -{1}.25 m{0}")),
        ("scores", "GEOADD k XX CH " + Words("1{1} -{1}.25 m{0}")),
        ("list", "LPUSH k " + Words("e{0}")), ("list", "RPUSH k " + Words("element:{0}")),
        ("list", "LPUSHX k " + Words("e{0}")), ("list", "RPUSHX k " + Words("e{0}")),
        ("alone", "LPUSH k " + Words("e{0}")), ("alone", "RPUSH k " + Words("e{0}")),
        ("none", "RPUSH k " + Words("{0}")), ("none", "LPUSH k " + Words("{0}")),
        ("none", "ZADD k " + Words("{1} m{0}")), ("none", "GEOADD k " + Words("{1} {1}.5 m{0}")),
        ("none", "SADD k " + Words("member:{0}")), ("none", "HSET k " + Words("f{0} new:{0}")),
    ];

    /// <summary>Those of a kind one after the other, as <see cref="LongValues.Fill"/> likes them.</summary>
    private static IEnumerable<(string Kind, string Line)> ByKind =>
        Cases.OrderBy(one => one.Kind, StringComparer.Ordinal);

    private static string Words(string form) =>
        string.Join(' ', Enumerable.Range(Many - 3000, 9000)
            .Select(i => string.Format(CultureInfo.InvariantCulture, form, i, i % 80)));

    /// <summary>When something has been changed: the turn of the handler, those that read 1,024 of 9,000 each, and one
    /// more.</summary>
    private const int FirstChange = 1 + 9 + 1;

    /// <summary>Whether a command reads all of its arguments before it holds the key.</summary>
    private static bool ReadsFirst(string line) => line.Split(' ', 2)[0] is "SADD" or "HSET" or "HMSET" or "ZADD"
        or "GEOADD" or "LPUSH" or "RPUSH" or "LPUSHX" or "RPUSHX";

    // Its reply is sent in pieces, and only the first of them is there when the changes are counted.
    [Fact]
    public void A_claim_of_many_entries_is_answered_and_counted()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        LongValues.Fill(client, "pending");
        long before = instance.Server.Snapshots.Changes;
        string[] reply = client.Run("XAUTOCLAIM k group five 0 0 COUNT 100000").Split("\r\n");
        Assert.Equal(["*3", "$3", "0-0"], reply[..3]);
        long claimed = long.Parse(reply[3].AsSpan(1), CultureInfo.InvariantCulture);
        Assert.InRange(claimed, Many / 2, Many);
        Assert.InRange(instance.Server.Snapshots.Changes - before, claimed, Many);
    }

    public static TheoryData<int> Kinds => [2, 3];

    [Theory, MemberData(nameof(Kinds))]
    public void What_comes_of_steps_is_what_comes_of_one_turn(int version)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run($"HELLO {version}");
        foreach (var (kind, line) in ByKind)
        {
            LongValues.Fill(client, kind);
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run("MULTI");
            client.Run(line);
            string expected = client.Run("EXEC");
            string left = LongValues.Left(client, "k");
            client.Run("SELECT 0");
            client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
            string answer = client.Run(line);
            client.Between = null;
            Assert.True(client.Steps >= 2, $"{line[..Math.Min(60, line.Length)]} of {kind}: {client.Steps} steps");
            Assert.True(expected == "*1\r\n" + answer, $"{line[..Math.Min(60, line.Length)]} of {kind}");
            // It would be the same both times.
            Assert.DoesNotContain("internal error", answer, StringComparison.Ordinal);
            Assert.True(left == LongValues.Left(client, "k"),
                $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void What_others_do_with_the_key_comes_behind_the_last_step()
    {
        string[] interferences = ["DEL k", "RENAME k moved", "SET k v", "PEXPIREAT k 1", "SWAPDB 0 5", "FLUSHALL"];
        var random = Seed.NewRandom();
        int each = Math.Min(TimeBudget.Count(2), interferences.Length);
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        foreach (var (kind, line) in ByKind)
        {
            random.Shuffle(interferences);
            LongValues.Fill(client, kind);
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            string expected = client.Run(line), left = LongValues.Left(client, "k");
            int at = ReadsFirst(line) ? FirstChange : 1;
            foreach (string interference in interferences[..each])
            {
                string what = $"{interference} in {line[..Math.Min(60, line.Length)]} of {kind}, {Seed.Hint}";
                LongValues.Fill(client, kind);
                client.Between = step =>
                {
                    if (step == at) other.Run(interference);
                };
                Assert.True(expected == client.Run(line), what);
                client.Between = null;
                if (interference == "SWAPDB 0 5") client.Run(interference);
                if (interference is "RENAME k moved" or "SWAPDB 0 5")
                    Assert.True(left == LongValues.Left(client, interference[0] == 'R' ? "moved" : "k"),
                        $"{what} left something else");
                else Assert.True(client.Run("EXISTS k") == (interference == "SET k v" ? ":1\r\n" : ":0\r\n"), what);
                instance.Server.Store.CheckIntegrity();
            }
        }
    }

    [Fact]
    public void What_others_do_while_very_many_arguments_are_read_comes_before()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        foreach (var (kind, line) in ByKind)
        {
            if (!ReadsFirst(line)) continue;
            LongValues.Fill(client, "none");
            string expected = client.Run(line), left = LongValues.Left(client, "k");
            LongValues.Fill(client, kind);
            client.Between = step =>
            {
                if (step == 3) other.Run("DEL k");
            };
            Assert.True(expected == client.Run(line), $"{line[..Math.Min(60, line.Length)]} of {kind}");
            client.Between = null;
            Assert.True(left == LongValues.Left(client, "k"),
                $"{line[..Math.Min(60, line.Length)]} of {kind} left something else");
            client.Between = step =>
            {
                if (step == 3) other.Run("SET k text");
            };
            Assert.StartsWith("-WRONGTYPE", client.Run(line), StringComparison.Ordinal);
            client.Between = null;
            Assert.Equal("$4\r\ntext\r\n", client.Run("GET k"));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void PfAdd_of_very_many_elements_makes_the_bytes_that_one_turn_makes(bool areSame)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string line = "PFADD k " + (areSame ? string.Join(' ', Enumerable.Repeat("a b c d e f g h", 700))
            : Words("e{0}"));
        foreach (string before in new[] { "DEL k", "PFADD k", "PFADD k x y z", "PFADD k " + Words("other:{0}"),
            "SET k text", "RPUSH k e" })
        {
            client.Run("FLUSHALL");
            client.Run(before);
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run("MULTI");
            client.Run(line);
            string expected = client.Run("EXEC"), again = client.Run(line), left = LongValues.Left(client, "k");
            client.Run("SELECT 0");
            string answer = client.Run(line);
            Assert.True(client.Steps >= 2, $"{client.Steps} steps");
            Assert.Equal((expected, again, left), ("*1\r\n" + answer, client.Run(line), LongValues.Left(client, "k")));
        }
    }

    [Theory]
    [InlineData("ZADD k {0}", "1 a ", "x b", "-ERR value is not a valid float")]
    [InlineData("ZADD k XX {0}", "1 a ", "nan b", "-ERR value is not a valid float")]
    [InlineData("ZADD k {0}", "1 a ", "2", "-ERR syntax error")]
    [InlineData("ZADD k NX GT {0}", "1 a ", "2 b",
        "-ERR GT, LT, and/or NX options at the same time are not compatible")]
    [InlineData("ZADD k INCR {0}", "1 a ", "2 b", "-ERR INCR option supports a single increment-element pair")]
    [InlineData("GEOADD k {0}", "1 1 a ", "181 1 b", "-ERR invalid longitude,latitude pair 181.000000,1.000000")]
    [InlineData("GEOADD k {0}", "1 1 a ", "1 x b", "-ERR value is not a valid float")]
    [InlineData("GEOADD k {0}", "1 1 a ", "1 1", "-ERR syntax error")]
    [InlineData("HSET k {0}", "f v ", "f", "-ERR wrong number of arguments for 'hset' command")]
    [InlineData("HMSET k {0}", "f v ", "f", "-ERR wrong number of arguments for 'hmset' command")]
    public void One_bad_argument_of_very_many_is_the_answer_whatever_the_key_is_and_nothing_is_changed(
        string form, string good, string bad, string error)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string line = string.Format(CultureInfo.InvariantCulture, form,
            string.Concat(Enumerable.Repeat(good, 6000)) + bad);
        foreach (string before in new[] { "DEL k", "ZADD k 5 a", "SET k text" })
        {
            client.Run("FLUSHALL");
            client.Run(before);
            string left = LongValues.Left(client, "k");
            Assert.StartsWith(error, client.Run(line), StringComparison.Ordinal);
            Assert.Equal(left, LongValues.Left(client, "k"));
        }
    }

    [Fact]
    public void Very_many_members_of_which_none_is_new_are_no_change_to_those_who_watch()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        foreach (string line in new[] { "SADD k " + Words("m{0}"), "ZADD k " + Words("{1} m{0}"),
            "GEOADD k " + Words("{1} {1} m{0}"), "PFADD k " + Words("m{0}") })
        {
            foreach (bool changes in new[] { true, false })
            {
                client.Run("WATCH k");
                other.Run(line);
                client.Run("MULTI");
                Assert.Equal(changes ? "*-1\r\n" : "*0\r\n", client.Run("EXEC"));
            }

            client.Run("DEL k");
        }
    }

    [Fact]
    public void Those_who_wait_are_served_behind_the_last_element_in_the_order_of_their_coming()
    {
        using var instance = KvInstance.Start();
        using var pusher = new WindowClient(instance);
        foreach (var (wait, line, expected) in new[]
        {
            ("BLPOP k 0", "RPUSH k " + Words("{0}"), "k {0}"),
            ("BLPOP k 0", "LPUSH k " + Words("{0}"), "k {1}"),
            ("BRPOP k 0", "LPUSH k " + Words("{0}"), "k {0}"),
            ("BZPOPMIN k 0", "ZADD k " + Words("{0} {0}"), "k {0} {0}"),
        })
        {
            pusher.Run("DEL k");
            var waiting = Enumerable.Range(0, 5).Select(_ => instance.Connect()).ToArray();
            foreach (var client in waiting) instance.Block(client, wait);

            int turns = 0;
            pusher.Between = _ =>
            {
                turns++;
                Assert.Equal(waiting.Length, instance.Server.Blocked.Count);
            };
            pusher.Run(line);
            pusher.Between = null;
            Assert.True(turns > 10, $"{turns} turns");
            // Before anything that comes behind the push.
            string size = pusher.Run(line.StartsWith("ZADD", StringComparison.Ordinal) ? "ZCARD k" : "LLEN k");
            Assert.Equal($":{9000 - waiting.Length}\r\n", size);
            for (int i = 0; i < waiting.Length; i++)
            {
                string reply = string.Format(CultureInfo.InvariantCulture, expected, Many - 3000 + i, Many + 5999 - i);
                Assert.Equal(reply, string.Join(' ', waiting[i].Read().Items!.Select(item => item.String)));
                waiting[i].Dispose();
            }
        }
    }

    [Fact]
    public void A_client_that_leaves_leaves_all_of_it_or_nothing()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        foreach (var (kind, line) in ByKind)
        {
            LongValues.Fill(client, kind);
            string before = LongValues.Left(client, "k");
            client.Run("COPY k k DB 1");
            client.Run("SELECT 1");
            client.Run(line);
            int late = client.Steps - 2;
            string after = LongValues.Left(client, "k");
            client.Run("SELECT 0");
            foreach (int at in new[] { 1, 2, late / 2, late }.Where(at => at > 0).Distinct())
            {
                using var leaver = new WindowClient(instance);
                leaver.LeaveAfter(at);
                bool hasLeft = false;
                try
                {
                    leaver.Run(line);
                }
                catch (OperationCanceledException)
                {
                    hasLeft = true;
                }

                // On another day it may take fewer steps: they end by the clock, too.
                Assert.True(hasLeft || at > 2, $"{line[..Math.Min(60, line.Length)]} of {kind}: {leaver.Steps} steps");
                leaver.Dispose();
                string left = LongValues.Left(client, "k");
                Assert.True(left == before || left == after,
                    $"{line[..Math.Min(60, line.Length)]} of {kind} left a part");
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
    [InlineData("list", "RPUSH k {pairs}")]
    [InlineData("none", "RPUSH k {pairs}")]
    [InlineData("none", "RPUSH k {few}")]
    [InlineData("none", "SADD k {few}")]
    [InlineData("none", "HSET k {few}")]
    [InlineData("none", "ZADD k {few}")]
    [InlineData("set", "SADD k {pairs}")]
    [InlineData("none", "SADD k {pairs}")]
    [InlineData("hash", "HSET k {pairs}")]
    [InlineData("none", "HMSET k {pairs}")]
    [InlineData("scores", "ZADD k {pairs}")]
    [InlineData("none", "ZADD k {pairs}")]
    public void Refused_memory_is_an_error_and_changes_nothing(string kind, string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        // so much room there is in no list
        if (line.StartsWith("LINSERT", StringComparison.Ordinal)) line += new string('n', 1_000_000);
        line = line.Replace("{pairs}", Words("{0} {0}"), StringComparison.Ordinal)
            .Replace("{few}", string.Join(' ', Enumerable.Range(1000, 4000)), StringComparison.Ordinal);
        LongValues.Fill(client, kind);
        string before = LongValues.Left(client, "k");
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
            if (answer[0] == '-') Assert.True(before == LongValues.Left(client, "k"), "something has changed");
            LongValues.Fill(client, kind);
            before = LongValues.Left(client, "k");
        }

        Assert.True(isRefused);
        store.CheckIntegrity();
    }

    // As in one turn: what a consumer is not told of, it must not have.
    [Theory]
    [InlineData("stream", "XREADGROUP GROUP group one STREAMS k >")]
    [InlineData("stream", "XREADGROUP GROUP another three STREAMS k >")]
    [InlineData("pending", "XCLAIM k another three 0 {0} FORCE")]
    [InlineData("pending", "XAUTOCLAIM k group one 1 0 COUNT 9000")]
    public void What_was_given_before_memory_ended_is_pending_and_nothing_else(string kind, string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        var store = instance.Server.Store;
        string group = line.Contains("another", StringComparison.Ordinal) ? "another" : "group",
            consumer = group == "another" ? "three" : "one";
        line = string.Format(CultureInfo.InvariantCulture, line, Words("{0}"));
        int errors = 0, parts = 0, steps = 0;
        for (int refused = 1; refused < 40; refused += refused < 4 ? 1 : 9)
        {
            LongValues.Fill(client, kind);
            string before = LongValues.Left(client, "k");
            var had = Pending(client, group, consumer);
            int asked = 0;
            client.Between = step => steps = Math.Max(steps, step);
            store.Budget.Refuse = () => ++asked >= refused;
            string answer = client.Run(line);
            store.Budget.Refuse = null;
            client.Between = null;
            store.CheckIntegrity();
            if (answer[0] == '-')
            {
                errors++;
                Assert.StartsWith("-OOM", answer, StringComparison.Ordinal);
                Assert.True(before == LongValues.Left(client, "k"), "something has changed");
                continue;
            }

            if (asked >= refused) parts++;
            string[] given = [.. answer.Split("\r\n")
                .Where((word, i) => i > 0 && word.EndsWith("-0", StringComparison.Ordinal) && word != "0-0")];
            var has = Pending(client, group, consumer);
            if (line[1] != 'A') Assert.Equal(given.Except(had).Order(), has.Except(had).Order());
            else Assert.Empty(has.Except(had).Except(given));
        }

        Assert.True(steps >= 2);
        Assert.True(errors + parts > 0 || line[1] == 'A', "memory was never refused");
    }

    private static HashSet<string> Pending(WindowClient client, string group, string consumer) =>
        [.. client.Run($"XPENDING k {group} - + 100000 {consumer}").Split("\r\n")
            .Where(word => word.EndsWith("-0", StringComparison.Ordinal))];
}
