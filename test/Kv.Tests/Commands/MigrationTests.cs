using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>MIGRATE: what arrives, what stays, and what the client is told, whatever the target does.</summary>
public sealed class MigrationTests
{
    private const string Reading = "-IOERR error or timeout reading to target instance";

    private static readonly string[] Values =
    [
        "SET {0} 12345", "SET {0} \"\"", "SETRANGE {0} 40000 x", "SETRANGE {0} 300000 x", "RPUSH {0} a b 3 \"\"",
        "SADD {0} 1 2 3", "SADD {0} a b c", "HSET {0} f v g w", "ZADD {0} 1 a -inf b 1.5 c",
        "XADD {0} 5-1 f v g w", "PFADD {0} a b c", "GEOADD {0} 13.3 38.1 Palermo",
    ];

    [Theory]
    [InlineData("kv", "redis")]
    [InlineData("redis", "kv")]
    [InlineData("kv", "kv")]
    public void Values_of_every_type_arrive_with_their_time_to_live(string from, string to)
    {
        using TestServer source = Start(from), target = Start(to, "--requirepass", "secret");
        using RespClient a = source.Connect(), b = target.Connect();
        b.Ok("AUTH secret");
        for (int i = 0; i < Values.Length; i++)
            a.Ok(string.Format(System.Globalization.CultureInfo.InvariantCulture, Values[i], $"k{i}"));
        AddLong(a);
        string[] keys = [.. Enumerable.Range(0, Values.Length).Select(i => $"k{i}"), "long-list", "long-set",
            "long-zset", "long-hash"];
        foreach (string key in keys) a.Ok($"PEXPIREAT {key} 9999999999999");
        string digests = a.Ok($"DEBUG DIGEST-VALUE {string.Join(' ', keys)}").ToString();
        Assert.Equal("+OK",
            a.Ok($"MIGRATE {target.Host} {target.Port} \"\" 3 5000 AUTH secret KEYS {string.Join(' ', keys)}")
            .ToString());
        Assert.Equal(":0", a.Ok("DBSIZE").ToString());
        b.Ok("SELECT 3");
        Assert.Equal(digests, b.Ok($"DEBUG DIGEST-VALUE {string.Join(' ', keys)}").ToString());
        // The time that is left is sent, as in Redis; so the instant is the same but for the way.
        foreach (string key in keys)
            Assert.InRange(b.Ok($"PEXPIRETIME {key}").Integer, 9_999_999_999_000, 10_000_000_600_000);
        CheckIntegrity(source, target);
    }

    [Fact]
    public void Fields_that_expire_arrive_at_a_server_that_knows_such()
    {
        using KvInstance source = KvInstance.Start(), target = KvInstance.Start();
        using RespClient a = source.Connect(), b = target.Connect();
        a.Say("HSET h f v g w\nHPEXPIREAT h 9999999999999 FIELDS 1 f");
        Assert.Equal("+OK", a.Ok($"MIGRATE {target.Host} {target.Port} h 0 5000").ToString());
        Assert.Equal("[:9999999999999 :-1]", b.Ok("HPEXPIRETIME h FIELDS 2 f g").ToString());
    }

    [Fact]
    public void More_keys_than_are_sent_or_deleted_at_once_go_all()
    {
        using KvInstance source = KvInstance.Start(), target = KvInstance.Start();
        using RespClient a = source.Connect(), b = target.Connect();
        const int count = 2500;
        for (int i = 0; i < count; i += 500)
            a.Ok("MSET " + string.Join(' ', Enumerable.Range(i, 500).Select(n => $"k{n} v{n}")));
        a.Ok("SET other v");
        string keys = string.Join(' ', Enumerable.Range(0, count).Select(n => $"k{n}"));
        Assert.Equal("+OK", a.Ok($"MIGRATE {target.Host} {target.Port} \"\" 0 5000 KEYS {keys} absent").ToString());
        Assert.Equal(":1", a.Ok("DBSIZE").ToString());
        Assert.Equal($":{count}", b.Ok("DBSIZE").ToString());
        Assert.Equal("\"v2499\"", b.Ok("GET k2499").ToString());
        CheckIntegrity(source, target);
    }

    [Fact]
    public void Its_own_server_may_be_the_target()
    {
        using var server = KvInstance.Start("--worker-threads", "1");
        using var client = server.Connect();
        client.Say("SET k v\nSET j w PX 100000");
        Assert.Equal("+OK", client.Ok($"MIGRATE {server.Host} {server.Port} \"\" 5 5000 KEYS k j").ToString());
        Assert.Equal("[$-1 $-1]", client.Ok("MGET k j").ToString());
        client.Ok("SELECT 5");
        Assert.Equal("[\"v\" \"w\"]", client.Ok("MGET k j").ToString());
        // It is there already, and is overwritten while it is on its way.
        Assert.Equal("-ERR Target instance replied with error: BUSYKEY Target key name already exists.",
            client.Command($"MIGRATE {server.Host} {server.Port} k 5 5000").ToString());
        Assert.StartsWith("-ERR 1 of the keys have changed",
            client.Command($"MIGRATE {server.Host} {server.Port} k 5 5000 REPLACE").ToString());
        Assert.Equal("\"v\"", client.Ok("GET k").ToString());
        CheckIntegrity(server);
    }

    [Theory]
    [InlineData("kv")]
    [InlineData("redis")]
    public void What_the_target_refuses_stays_and_the_others_go(string kind)
    {
        using TestServer source = KvInstance.Start(), target = Start(kind, "--requirepass", "secret");
        using RespClient a = source.Connect(), b = target.Connect();
        b.Say("AUTH secret\nSET two there");
        a.Say("SET one 1\nSET two 2\nSET three 3");
        string to = $"MIGRATE {target.Host} {target.Port} \"\"";
        Assert.Equal("-ERR Target instance replied with error: NOAUTH Authentication required.",
            a.Command($"{to} 0 5000 KEYS one two three").ToString());
        Assert.StartsWith("-ERR Target instance replied with error: WRONGPASS",
            a.Command($"{to} 0 5000 AUTH wrong KEYS one two three").ToString());
        Assert.StartsWith("-ERR Target instance replied with error: WRONGPASS",
            a.Command($"{to} 0 5000 AUTH2 nobody secret KEYS one two three").ToString());
        Assert.Equal("-ERR Target instance replied with error: ERR DB index is out of range",
            a.Command($"{to} 99 5000 AUTH secret KEYS one two three").ToString());
        Assert.Equal("[\"1\" \"2\" \"3\"]", a.Ok("MGET one two three").ToString());
        Assert.Equal(":1", b.Ok("DBSIZE").ToString());
        Assert.Equal("-ERR Target instance replied with error: BUSYKEY Target key name already exists.",
            a.Command($"{to} 0 5000 AUTH2 default secret KEYS one two three").ToString());
        Assert.Equal("[$-1 \"2\" $-1]", a.Ok("MGET one two three").ToString());
        Assert.Equal("[\"1\" \"there\" \"3\"]", b.Ok("MGET one two three").ToString());
        Assert.Equal("+OK", a.Ok($"MIGRATE {target.Host} {target.Port} two 0 5000 COPY REPLACE AUTH secret")
            .ToString());
        Assert.Equal("\"2\"", a.Ok("GET two").ToString());
        Assert.Equal("\"2\"", b.Ok("GET two").ToString());
        Assert.Equal("+OK", a.Ok($"MIGRATE {target.Host} {target.Port} two 0 5000 REPLACE AUTH secret").ToString());
        Assert.Equal("+NOKEY", a.Ok($"MIGRATE {target.Host} {target.Port} two 0 5000 AUTH secret").ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Others_are_served_while_a_target_does_not_answer_and_its_time_ends_it(string transport)
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--worker-threads", "1", "--transport", transport);
        using RespClient client = server.Connect(), other = server.Connect();
        using var target = new FakeTarget();
        other.Ok("SET k v");
        server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} k 0 700");
        target.Await("SELECT");
        Assert.Equal("\"v\"", other.Ok("GET k").ToString());
        Assert.Equal("1", other.Info("blocked_clients"));
        target.Answer("+OK\r\n");
        target.Await("RESTORE");
        // Its time begins when it begins to wait, which nobody outside sees: so the clock goes on until it ends.
        Eventually.Holds(() =>
        {
            clock.Advance(100);
            return client.HasInput;
        }, () => "its time does not end");
        Assert.Equal(Reading, client.Read().ToString());
        Assert.Equal("\"v\"", other.Ok("GET k").ToString());
        Assert.Equal("0", other.Info("blocked_clients"));
        Assert.Equal("count=1", other.Info("errorstat_IOERR"));
    }

    [Theory]
    [InlineData("")]
    [InlineData("+OK\r\n")]
    [InlineData("+OK\r\n+OK\r\n")]
    [InlineData("+OK\r\n-ERR no\r\n")]
    [InlineData("+OK\r\n+OK\r\n+OK")]
    [InlineData("+OK\r\n+OK\r\n+OK\r\n")]
    [InlineData("HTTP/1.1 400 Bad Request\r\n\r\n+OK\r\n")]
    [InlineData("+OK\r\n+OK\r\nHTTP/1.1 400 Bad Request\r\n\r\n")]
    public void Of_a_target_that_goes_in_the_middle_only_what_it_has_taken_is_deleted(string answers)
    {
        using var server = KvInstance.Start();
        using RespClient client = server.Connect(), other = server.Connect();
        using var target = new FakeTarget();
        other.Say("SET a 1\nSET b 2\nSET c 3");
        server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} \"\" 0 30000 KEYS a b c");
        target.Await("SELECT");
        string[] lines = answers.Split("\r\n");
        target.Answer(lines[0] + (lines.Length > 1 ? "\r\n" : ""));
        if (lines[0] == "+OK") target.Await("$1\r\nc\r\n");
        if (lines.Length > 1) target.Answer(string.Join("\r\n", lines[1..]));
        target.Close();
        string? refused = Array.Find(lines[..^1], line => !line.StartsWith('+'));
        string expected = refused == null ? Reading
            : $"-ERR Target instance replied with error: {refused.TrimStart('-')}";
        Assert.Equal(expected, client.Read().ToString());
        string left = string.Join(' ', Enumerable.Range(1, 3)
            .Select(i => i < lines.Length - 1 && lines[0] == "+OK" && lines[i] == "+OK" ? "$-1" : $"\"{i}\""));
        Assert.Equal($"[{left}]", other.Ok("MGET a b c").ToString());
        CheckIntegrity(server);
    }

    // What is written while a value is on its way must not be deleted with it.
    [Theory]
    [InlineData("APPEND b x", "[$-1 \"2x\" $-1]", true)]
    [InlineData("SET b 2", "[$-1 \"2\" $-1]", true)]
    [InlineData("PEXPIRE b 100000", "[$-1 \"2\" $-1]", true)]
    [InlineData("RENAME other b", "[$-1 \"o\" $-1]", true)]
    [InlineData("MSET a 7 b 8 c 9", "[\"7\" \"8\" \"9\"]", true)]
    [InlineData("DEL b", "[$-1 $-1 $-1]", false)]
    [InlineData("FLUSHALL", "[$-1 $-1 $-1]", false)]
    [InlineData("SWAPDB 0 1", "[$-1 $-1 $-1]", false)]
    [InlineData("GET b", "[$-1 $-1 $-1]", false)]
    public void A_key_that_changes_on_its_way_stays(string change, string left, bool isError)
    {
        using var server = KvInstance.Start();
        using RespClient client = server.Connect(), other = server.Connect();
        using var target = new FakeTarget();
        other.Say("SET a 1\nSET b 2\nSET c 3\nSET other o");
        server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} \"\" 0 30000 KEYS a b c");
        target.Await("SELECT");
        target.Answer("+OK\r\n");
        target.Await("$1\r\nc\r\n");
        other.Ok(change);
        target.Answer("+OK\r\n+OK\r\n+OK\r\n");
        var reply = client.Read();
        if (isError) Assert.Matches("^-ERR [13] of the keys have changed while they were sent", reply.ToString());
        else Assert.Equal("+OK", reply.ToString());
        Assert.Equal(left, other.Ok("MGET a b c").ToString());
        if (change.StartsWith("SWAPDB", StringComparison.Ordinal))
        {
            other.Ok("SELECT 1");
            Assert.Equal("[\"1\" \"2\" \"3\"]", other.Ok("MGET a b c").ToString());
        }

        CheckIntegrity(server);
    }

    // A list is sent again and again while others push onto it: each element arrives once, or is still here.
    [Fact]
    public void No_write_is_lost_and_none_arrives_twice()
    {
        const int lists = 32, pushes = 20_000;
        using KvInstance source = KvInstance.Start("--worker-threads", "2"), target = KvInstance.Start();
        using RespClient mover = source.Connect(), taker = target.Connect();
        var arrived = new List<int>();
        int moves = 0, changes = 0;
        using var threads = new TestThreads();
        int running = 1;
        threads.Start(() =>
        {
            using var writer = source.Connect();
            var random = Seed.NewRandom();
            for (int i = 0; i < pushes; i++) writer.Ok($"RPUSH l{random.Next(lists)} {i}");
            Volatile.Write(ref running, 0);
        });
        for (int list = 0; Volatile.Read(ref running) != 0 && !threads.IsStopping; list = (list + 1) % lists)
        {
            string reply = mover.Command($"MIGRATE {target.Host} {target.Port} l{list} 0 30000").ToString();
            if (reply == "+NOKEY") continue;
            if (reply == "+OK") moves++;
            else Assert.StartsWith("-ERR 1 of the keys have changed", reply);
            if (reply == "+OK") Take(taker, list);
            else changes++;
            taker.Ok($"DEL l{list}");
        }

        threads.Finish(TimeBudget.OfSeconds(0));
        for (int list = 0; list < lists; list++) Take(mover, list);
        Assert.Equal(Enumerable.Range(0, pushes), arrived.Order());
        Assert.True(moves > 0, $"{moves} moves, {changes} of lists that had changed");
        CheckIntegrity(source, target);

        void Take(RespClient client, int list) =>
            arrived.AddRange(client.Ok($"LRANGE l{list} 0 -1").Items!.Select(
                item => int.Parse(item.String, System.Globalization.CultureInfo.InvariantCulture)));
    }

    [Fact]
    public void A_target_that_reads_nothing_ends_it_too()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        using RespClient client = server.Connect(), other = server.Connect();
        using var target = new FakeTarget();
        other.Ok("SETRANGE k 50000000 x");
        other.Ok("CONFIG SET rdbcompression no");
        server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} k 0 700");
        target.Await("SELECT");
        target.Answer("+OK\r\n");
        Eventually.Holds(() =>
        {
            clock.Advance(100);
            return client.HasInput;
        }, () => "its time does not end");
        Assert.Equal("-IOERR error or timeout writing to target instance", client.Read().ToString());
        Assert.Equal(":50000001", other.Ok("STRLEN k").ToString());
    }

    [Fact]
    public void A_key_that_has_moved_to_another_database_and_is_replaced_stays()
    {
        using var server = KvInstance.Start();
        using RespClient client = server.Connect(), other = server.Connect();
        using var target = new FakeTarget();
        other.Say("SELECT 1\nSET k one\nSELECT 0\nSET k zero");
        server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} k 0 30000");
        target.Await("SELECT");
        target.Answer("+OK\r\n");
        target.Await("zero");
        other.Ok("SWAPDB 0 1");
        target.Answer("+OK\r\n");
        Assert.StartsWith("-ERR 1 of the keys have changed", client.Read().ToString());
        Assert.Equal("\"one\"", other.Ok("GET k").ToString());
        other.Ok("SELECT 1");
        Assert.Equal("\"zero\"", other.Ok("GET k").ToString());
    }

    [Fact]
    public void Who_watches_a_key_sees_that_it_has_gone()
    {
        using KvInstance source = KvInstance.Start(), target = KvInstance.Start();
        using RespClient a = source.Connect(), watcher = source.Connect();
        a.Say("SET k v\nSET j v");
        watcher.Say("WATCH k");
        a.Ok($"MIGRATE {target.Host} {target.Port} j 0 5000");
        a.Ok($"MIGRATE {target.Host} {target.Port} k 0 5000 COPY");
        watcher.Say("MULTI\nPING");
        Assert.Equal("[+\"PONG\"]", watcher.Ok("EXEC").ToString());
        watcher.Say("WATCH k");
        a.Ok($"MIGRATE {target.Host} {target.Port} k 0 5000 REPLACE");
        watcher.Say("MULTI\nPING");
        Assert.Equal("*-1", watcher.Ok("EXEC").ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_that_leaves_ends_it_and_nothing_is_deleted(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var other = server.Connect();
        using var target = new FakeTarget();
        other.Ok("SET k v");
        using (var client = server.Connect())
        {
            server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} k 0 0");
            target.Await("SELECT");
            target.Answer("+OK\r\n");
            target.Await("RESTORE");
        }

        server.AwaitBlocked(0);
        target.AwaitEnd();
        Assert.Equal("\"v\"", other.Ok("GET k").ToString());
        CheckIntegrity(server);
    }

    [Fact]
    public void It_ends_when_it_is_unblocked_or_the_server_stops()
    {
        using var server = KvInstance.Start();
        using RespClient client = server.Connect(), other = server.Connect();
        long id = client.Ok("CLIENT ID").Integer;
        other.Ok("SET k v");
        foreach ((string how, string reply) in new[] { ("TIMEOUT", Reading),
            ("ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK") })
        {
            using var target = new FakeTarget();
            server.Block(client, $"MIGRATE 127.0.0.1 {target.Port} k 0 30000");
            target.Await("SELECT");
            Assert.Equal(":1", other.Ok($"CLIENT UNBLOCK {id} {how}").ToString());
            Assert.Equal(reply, client.Read().ToString());
            target.AwaitEnd();
        }

        Assert.Equal("\"v\"", other.Ok("GET k").ToString());
        using var last = new FakeTarget();
        server.Block(client, $"MIGRATE 127.0.0.1 {last.Port} k 0 30000");
        last.Await("SELECT");
        server.Dispose();
        last.AwaitEnd();
    }

    [Fact]
    public void In_a_transaction_it_is_an_error()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Say("SET k v\nMULTI\nMIGRATE 127.0.0.1 1 k 0 100\nPING");
        Assert.Equal("[-\"ERR MIGRATE waits for its target, which EXEC cannot\" +\"PONG\"]",
            client.Ok("EXEC").ToString());
    }

    [Fact]
    public void In_transactions_and_scripts_too_nobody_has_to_listen_where_there_is_no_key()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Say("SET k v\nMULTI\nMIGRATE 127.0.0.1 1 \"\" 0 100 KEYS a b\nDEL k\nMIGRATE 127.0.0.1 1 k 0 100");
        Assert.Equal("[+\"NOKEY\" :1 +\"NOKEY\"]", client.Ok("EXEC").ToString());
        foreach (string keys in (string[])["0", "1 a"])
            Assert.Equal("+NOKEY", client.Ok(
                $"EVAL \"return redis.call('MIGRATE', '127.0.0.1', '1', 'a', '0', '100')\" {keys}").ToString());
    }

    [Fact]
    public void Where_nobody_listens_it_says_so()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Ok("SET k v");
        Assert.Equal("-IOERR error or timeout writing to target instance",
            client.Command("MIGRATE 127.0.0.1 1 k 0 5000").ToString());
        foreach (string port in new[] { "0", "-1", "65536", "x", "\"\"" })
            Assert.Equal("-IOERR error or timeout connecting to the client",
                client.Command($"MIGRATE 127.0.0.1 {port} k 0 5000").ToString());
        Assert.Equal("\"v\"", client.Ok("GET k").ToString());
    }

    private static TestServer Start(string kind, params string[] options) =>
        kind == "kv" ? KvInstance.Start(["--enable-debug-command", "yes", .. options])
        : RedisServer.Start(["--proto-max-bulk-len", "512mb", .. options]);

    // Held for many steps while they are written.
    private static void AddLong(RespClient client)
    {
        for (int i = 0; i < 20_000; i += 1000)
        {
            var numbers = Enumerable.Range(i, 1000).ToArray();
            client.Ok("RPUSH long-list " + string.Join(' ', numbers.Select(n => $"element{n}")));
            client.Ok("SADD long-set " + string.Join(' ', numbers.Select(n => $"member{n}")));
            client.Ok("ZADD long-zset " + string.Join(' ', numbers.Select(n => $"{n} member{n}")));
            client.Ok("HSET long-hash " + string.Join(' ', numbers.Select(n => $"field{n} value{n}")));
        }
    }

    private static void CheckIntegrity(params TestServer[] servers)
    {
        foreach (var server in servers) (server as KvInstance)?.Server.Store.CheckIntegrity();
    }
}
