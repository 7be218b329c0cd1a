using System.Diagnostics;
using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>Commands that hold more keys than a turn should lock: they hold them in steps, as EXEC does, and answer as
/// in one turn.</summary>
public sealed class ManyHeldKeysTests
{
    private const int Keys = 5000, KeysPerStep = 1024;

    private static readonly string[] Lines =
    [
        "SUNION {0} none s7", "SUNION {0} text", "SUNIONSTORE made {0}", "SUNIONSTORE s3 {0}", "SINTER {0} s7",
        "SINTER {0} none", "SINTERSTORE made {0}", "SINTERCARD {1} {0}", "SINTERCARD {1} {0} LIMIT 1",
        "SDIFF large {0}", "SDIFF {0}", "SDIFFSTORE made large {0}", "SDIFFSTORE made large {0} text",
        "ZUNION {1} {0} WITHSCORES", "ZUNION {1} {0} AGGREGATE MAX WITHSCORES", "ZUNION {1} {0} NONSENSE",
        "ZUNIONSTORE made {1} {0}", "ZINTER {1} {0} WITHSCORES", "ZINTERSTORE z3 {1} {0}", "ZINTERCARD {1} {0}",
        "ZDIFF {1} {0} WITHSCORES", "ZDIFFSTORE made {1} {0}", "PFMERGE made {0}", "PFMERGE made {0} h3 none",
        "PFMERGE h1 {0} text", "PFMERGE h1 {0} s1",
    ];

    public static TheoryData<string> All() => [.. Lines];

    // SUNION of 300,000 keys, and all its kin, made everybody else of the worker wait for 0.3 to 0.9 s.
    [Theory, MemberData(nameof(All))]
    public void They_answer_as_in_one_turn_and_leave_turns_to_others(string form)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var model = new WindowClient(plain);
        using var other = new WindowClient(instance);
        string line = Line(form);
        Fill(client, form);
        Fill(model, form);
        model.Run("MULTI");
        model.Run(line);
        model.Run("CLIENT NO-TOUCH OFF");
        string expected = model.Run("EXEC")["*2\r\n".Length..^"+OK\r\n".Length];
        client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
        string answer = client.Run(line);
        Assert.True(client.Steps > 2 * Keys / KeysPerStep, $"{client.Steps} turns");
        Assert.Equal(Sorted(expected), Sorted(answer));
        string counts = other.Run("INFO commandstats");
        Assert.Contains($"cmdstat_{form.Split(' ')[0].ToLowerInvariant()}:calls=1,", counts, StringComparison.Ordinal);
        foreach (string key in (string[])["made", "s3", "z3", "h1", "s4999"])
            Assert.Equal(model.Run($"DEBUG DIGEST-VALUE {key}"), client.Run($"DEBUG DIGEST-VALUE {key}"));
        instance.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(All))]
    public void In_EXEC_too(string form)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var plain = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var model = new WindowClient(plain);
        using var other = new WindowClient(instance);
        Fill(client, form);
        Fill(model, form);
        foreach (var each in (WindowClient[])[client, model])
        {
            each.Run("MULTI");
            each.Run("SADD s5 more");
            each.Run(Line(form));
            each.Run("SCARD made");
        }

        model.Run("CLIENT NO-TOUCH OFF");       // in one turn
        string row = form.Split(' ')[0].ToLowerInvariant();
        int turns = 0;
        client.Between = _ =>
        {
            string counts = other.Run("INFO commandstats");
            if (counts.Contains($"cmdstat_{row}:calls=1,", StringComparison.Ordinal)
                && !counts.Contains("cmdstat_scard", StringComparison.Ordinal)) turns++;
        };
        string answer = client.Run("EXEC");
        string expected = model.Run("EXEC").Replace("*4\r\n", "*3\r\n", StringComparison.Ordinal)[..^"+OK\r\n".Length];
        Assert.Equal(Sorted(expected), Sorted(answer));
        Assert.True(turns >= Keys / KeysPerStep, $"{turns} turns of others");
        foreach (string key in (string[])["made", "s3", "z3", "h1"])
            Assert.Equal(model.Run($"DEBUG DIGEST-VALUE {key}"), client.Run($"DEBUG DIGEST-VALUE {key}"));
        instance.Server.Store.CheckIntegrity();
    }

    // Each look of another client takes a key of it, so it finds all of it done or none of it.
    [Fact]
    public void Who_needs_one_of_the_keys_meets_all_of_it_or_nothing()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        int turns = 1;
        // Ends: each round comes some turns later; in the first one nobody comes.
        for (int at = 0; at <= turns; at += 3)
        {
            client.Run("FLUSHALL");
            Fill(client, "S");
            string? seen = null;
            client.Between = turn =>
            {
                if (turn != at) return;
                other.Run("MULTI");
                foreach (string line in (string[])["SADD s0 first", "SADD s4999 last", "SCARD made"]) other.Run(line);
                seen = other.Run("EXEC");
            };
            string stored = client.Run(Line("SUNIONSTORE made {0}"));
            if (at == 0) turns = client.Steps;
            client.Between = null;
            Assert.Equal(stored, client.Run("SCARD made"));
            // Before the first lock, or behind the last.
            const string Before = "*3\r\n:1\r\n:1\r\n:0\r\n", Behind = "*3\r\n:1\r\n:1\r\n:5001\r\n";
            if (seen == Before) Assert.Equal("*2\r\n:1\r\n:1\r\n", client.Run("SMISMEMBER made first last"));
            else if (seen != null) Assert.Equal((Behind, "*2\r\n:0\r\n:0\r\n"),
                (seen, client.Run("SMISMEMBER made first last")));
            instance.Server.Store.CheckIntegrity();
        }

        Assert.True(turns > 15, $"{turns} turns");
    }

    [Fact]
    public void A_client_that_leaves_in_the_middle_leaves_all_of_it_done()
    {
        using var instance = KvInstance.Start();
        using var other = new WindowClient(instance);
        for (int at = 1; at < 25; at += 4)
        {
            other.Run("FLUSHALL");
            Fill(other, "S");
            using var client = new WindowClient(instance);
            client.LeaveAfter(at);
            Record.Exception(() => client.Run(Line("SUNIONSTORE made {0}")));
            client.Dispose();
            Eventually.Holds(() => other.Run("SCARD made") == ":5001\r\n", () => $"it is not done, turn {at}");
            instance.AwaitWhole();
        }
    }

    [Fact]
    public void What_its_client_watches_is_watched_still()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        Fill(client, "S");
        foreach (bool isChanged in (bool[])[false, true])
        {
            client.Run("WATCH s1");
            Assert.Equal(":5001\r\n", client.Run(Line("SUNIONSTORE made {0}")));
            if (isChanged) other.Run("SADD s1 more");
            client.Run("MULTI");
            client.Run("PING");
            Assert.Equal(isChanged ? "*-1\r\n" : "*1\r\n+PONG\r\n", client.Run("EXEC"));
        }
    }

    [Fact]
    public void What_it_takes_is_charged_and_given_back()
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        Fill(client, "S");
        string line = Line("SINTERCARD {1} {0}");
        client.Run(line);
        var store = instance.Server.Store;
        long before = store.UsedBytes, most = 0;
        client.Between = _ => most = Math.Max(most, store.UsedBytes);
        client.Run(line);
        // For each key what is held of it, and where.
        Assert.True(most - before > Keys * (64 + 4), $"{most - before} bytes");
        Assert.Equal(before, store.UsedBytes);
    }

    // What ran inside of its steps was counted, and the steps around that once more.
    [Fact]
    public void Each_microsecond_of_it_is_counted_once()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        Fill(client, "S");
        // Most of the time goes to what runs once the keys are held.
        string line = Line("SUNIONSTORE made {0}") + string.Concat(Enumerable.Repeat(" large", 50));
        var command = instance.Server.Commands.All.Single(row => row.FullName == "sunionstore");
        client.Between = _ => Assert.Equal(1, instance.Server.Counters.SumOf(command).Calls);
        long begin = Stopwatch.GetTimestamp();
        Assert.Equal(":10001\r\n", client.Run(line));
        double took = Stopwatch.GetElapsedTime(begin).TotalMicroseconds;
        var counts = instance.Server.Counters.SumOf(command);
        Assert.Equal(1, counts.Calls);
        Assert.InRange(counts.Microseconds, 1, took);
    }

    // 4,000 members that are looked for in 400 sets: 1,600,000 looks, and they were one turn.
    [Theory]
    [InlineData("SINTER {0}")]
    [InlineData("SINTERCARD {1} {0}")]
    [InlineData("SDIFF large {0}")]
    [InlineData("ZINTER {1} {0}")]
    [InlineData("ZDIFF {1} large {0}")]
    public void A_turn_is_measured_by_what_is_looked_for(string form)
    {
        const int Sets = 400;
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        client.Run($"SADD set {string.Join(' ', Enumerable.Range(0, 4000).Select(i => $"m{i}"))}");
        client.Run($"SADD large {string.Join(' ', Enumerable.Range(0, 3999).Select(i => $"n{i}"))}");
        client.Run(string.Format(CultureInfo.InvariantCulture, form,
            string.Join(' ', Enumerable.Repeat("set", form.Contains("large", StringComparison.Ordinal) ? Sets - 1
                : Sets)), Sets));
        Assert.True(client.Steps > 3999 * (Sets - 1) / 1024, $"{client.Steps} turns");
    }

    [Theory]
    [InlineData("LMPOP {1} {0} LEFT", 4096, "keys to take from")]
    [InlineData("ZMPOP {1} {0} MIN", 4096, "keys to take from")]
    [InlineData("XREAD STREAMS {0} {0}", 4096, "streams to read")]
    [InlineData("XREADGROUP GROUP g c STREAMS {0} {0}", 4096, "streams to read")]
    [InlineData("BITOP OR made {0}", 4096, "source keys for BITOP")]
    [InlineData("EVAL x {1} {0}", 16384, "keys for a script")]
    [InlineData("EVAL_RO x {1} {0}", 16384, "keys for a script")]
    [InlineData("EVAL x 0 {0}", 65536, "arguments for a script")]
    public void Others_take_so_many_and_no_more(string form, int most, string what)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        string Of(int count) => string.Format(CultureInfo.InvariantCulture, form,
            string.Join(' ', Enumerable.Repeat("k", count)), count);
        Assert.Equal($"-ERR too many {what}, at most {most} are taken at once\r\n", client.Run(Of(most + 1)));
        Assert.DoesNotContain("too many", client.Run(Of(most)), StringComparison.Ordinal);
    }

    private static void Fill(WindowClient client, string form)
    {
        for (int i = 0; i < Keys; i++)
        {
            if (form[0] == 'S') client.Run($"SADD s{i} m{i} all");
            else if (form[0] == 'Z') client.Run($"ZADD z{i} {i} m{i} 1 all");
            else client.Run($"PFADD h{i} m{i}");
        }

        client.Run("SET text t");
        client.Run("SADD s1 m1");
        client.Run($"SADD large all {string.Join(' ', Enumerable.Range(0, 2 * Keys).Select(i => $"m{i}"))}");
    }

    private static string Line(string form)
    {
        string stem = form[0] == 'S' ? "s" : form[0] == 'Z' ? "z" : "h";
        return string.Format(CultureInfo.InvariantCulture, form,
            string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"{stem}{i}")), Keys);
    }

    // Sets come in any order.
    private static string Sorted(string reply) => string.Join('\n', reply.Split("\r\n").Order());
}
