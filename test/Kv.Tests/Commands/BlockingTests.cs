using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>Commands that wait for an element: who is served, with what and in which order, and how else a wait
/// ends.</summary>
public sealed class BlockingTests
{
    private const string ManyElements = "RPUSH l a b c d e f g h i j";

    /// <summary>What can bring an element to a key: what is there before, who waits, the command, and what the one who
    /// waits is answered.</summary>
    public static TheoryData<string, string, string, string> Creators => new()
    {
        { "", "BLPOP k 0", "LPUSH k a", "[\"k\" \"a\"]" },
        { "", "BLPOP k 0", "RPUSH k a b", "[\"k\" \"a\"]" },
        { "", "BRPOP k 0", "RPUSH k a b", "[\"k\" \"b\"]" },
        { "RPUSH l a", "BLPOP k 0", "LMOVE l k LEFT RIGHT", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "RPOPLPUSH l k", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "BLMOVE l k LEFT LEFT 0", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "BRPOPLPUSH l k 0", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "RENAME l k", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "RENAMENX l k", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP k 0", "COPY l k", "[\"k\" \"a\"]" },
        { "RPUSH l a", "BLPOP j k 0", "SET k string\nRENAME l j", "[\"j\" \"a\"]" },
        { "CONFIG SET list-max-listpack-size 4\n" + ManyElements, "BLPOP k 0", "RENAME l k", "[\"k\" \"a\"]" },
        { "CONFIG SET list-max-listpack-size 4\n" + ManyElements, "BLPOP k 0", "COPY l k", "[\"k\" \"a\"]" },
        { "SELECT 1\nRPUSH k a", "BLPOP k 0", "MOVE k 0", "[\"k\" \"a\"]" },
        { "SELECT 1\nRPUSH k a", "BLPOP k 0", "COPY k k DB 0", "[\"k\" \"a\"]" },
        { "SELECT 1\nRPUSH k a", "BLPOP k 0", "SWAPDB 0 1", "[\"k\" \"a\"]" },
        { "SELECT 1\nRPUSH k a\nSELECT 0\nSET other 1", "BLPOP k 0", "SWAPDB 1 0", "[\"k\" \"a\"]" },
        { "", "BLPOP k 0", "MULTI\nRPUSH k a\nEXEC", "[\"k\" \"a\"]" },
        { "", "BLPOP k 0", "MULTI\nRPUSH k a\nRANDOMKEY\nEXEC", "[\"k\" \"a\"]" },
        { "", "BLMPOP 0 2 j k LEFT COUNT 2", "RPUSH k a b c", "[\"k\" [\"a\" \"b\"]]" },
        { "", "BLMOVE k j LEFT LEFT 0", "RPUSH k a", "\"a\"" },
        { "", "BRPOPLPUSH k k 0", "RPUSH k a b", "\"b\"" },
        { "", "BZPOPMIN k 0", "ZADD k 1 a 2 b", "[\"k\" \"a\" ,1]" },
        { "", "BZPOPMAX k 0", "ZADD k 1 a 2 b", "[\"k\" \"b\" ,2]" },
        { "", "BZMPOP 0 1 k MAX COUNT 5", "ZADD k 1 a 2 b", "[\"k\" [[\"b\" ,2] [\"a\" ,1]]]" },
        { "", "BZPOPMIN k 0", "ZADD k INCR 3 a", "[\"k\" \"a\" ,3]" },
        { "", "BZPOPMIN k 0", "ZINCRBY k 3 a", "[\"k\" \"a\" ,3]" },
        { "", "BZPOPMIN k 0", "GEOADD k 0 0 a", "[\"k\" \"a\" <any>]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "ZUNIONSTORE k 1 z", "[\"k\" \"a\" ,1]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "ZINTERSTORE k 1 z", "[\"k\" \"a\" ,1]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "ZDIFFSTORE k 1 z", "[\"k\" \"a\" ,1]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "ZRANGESTORE k z 0 -1", "[\"k\" \"a\" ,1]" },
        { "GEOADD g 0 0 a", "BZPOPMIN k 0", "GEOSEARCHSTORE k g FROMMEMBER a BYRADIUS 1 m", "[\"k\" \"a\" <any>]" },
        { "GEOADD g 0 0 a", "BZPOPMIN k 0", "GEORADIUSBYMEMBER g a 1 m STORE k", "[\"k\" \"a\" <any>]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "RENAME z k", "[\"k\" \"a\" ,1]" },
        { "ZADD z 1 a", "BZPOPMIN k 0", "COPY z k", "[\"k\" \"a\" ,1]" },
        { "CONFIG SET zset-max-listpack-entries 1\nZADD z 1 a 2 b 3 c", "BZPOPMIN k 0", "COPY z k",
            "[\"k\" \"a\" ,1]" },
        { "RPUSH l 2 1", "BLPOP k 0", "SORT l STORE k", "[\"k\" \"1\"]" },
        { "SADD s 2 1", "BRPOP k 0", "MULTI\nSORT s DESC STORE k\nEXEC", "[\"k\" \"1\"]" },
        { "GEOADD g 0 0 a", "BZPOPMIN k 0", "GEORADIUS g 0 0 1 m STOREDIST k", "[\"k\" \"a\" <any>]" },
        { "SADD s a", "BZPOPMAX k 0", "ZUNIONSTORE k 1 s WEIGHTS 2", "[\"k\" \"a\" ,2]" },
        { "SELECT 1\nZADD k 1 a", "BZPOPMIN k 0", "MOVE k 0", "[\"k\" \"a\" ,1]" },
    };

    [Theory, MemberData(nameof(Creators))]
    public void Whatever_brings_an_element_to_a_key_serves_who_waits_there(string before, string wait, string command,
        string reply) => WaitRun.Check(before, wait, command, reply);

    [Theory]
    [InlineData("RPUSH from a b", "BLPOP k 0", "[\"k\" \"a\"]")]
    [InlineData("ZADD from 2 b 1 a", "BZPOPMAX k 0", "[\"k\" \"b\" \"2\"]")]
    [InlineData("XADD from 3-0 a 1", "XREAD BLOCK 0 STREAMS k 2", "[[\"k\" [[\"3-0\" [\"a\" \"1\"]]]]]")]
    public void What_is_restored_serves_who_waits(string before, string wait, string reply)
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using var clients = new Clients(server, 2);
        clients[1].Ok(before);
        byte[] dump = clients[1].Ok("DUMP from").Text!;
        server.Block(clients[0], wait);
        Assert.Equal("+OK", clients[1].Command("RESTORE"u8.ToArray(), "k"u8.ToArray(), "0"u8.ToArray(), dump)
            .ToString());
        Assert.Equal(reply, clients[0].Read().ToString());
        server.Server.Store.CheckIntegrity();
    }

    // These work in steps, and others are served between them; whoever waits sees all of the result or nothing.
    [Theory]
    [InlineData("ZUNIONSTORE k 2 z y", "BZPOPMIN k 0", "[\"k\" \"m0\" \"0\"]", "ZCARD k", 29_999)]
    [InlineData("ZDIFFSTORE k 2 z y", "BZPOPMAX k 0", "[\"k\" \"m9999\" \"9999\"]", "ZCARD k", 9_999)]
    [InlineData("ZRANGESTORE k z 0 -1", "BZMPOP 0 2 j k MAX COUNT 2",
        "[\"k\" [[\"m19999\" \"19999\"] [\"m19998\" \"19998\"]]]", "ZCARD k", 19_998)]
    [InlineData("SORT z BY nosort STORE k", "BLPOP k 0", "[\"k\" \"m0\"]", "LLEN k", 19_999)]
    public void A_large_result_serves_who_waits_once_it_is_complete(string command, string wait, string reply,
        string count, int left)
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using var clients = new Clients(server, 2);
        for (int i = 0; i < 20_000; i += 1000)
        {
            clients[1].Ok("ZADD z " + string.Join(' ', Enumerable.Range(i, 1000).Select(n => $"{n} m{n}")));
            clients[1].Ok("ZADD y " + string.Join(' ', Enumerable.Range(10_000 + i, 1000).Select(n => $"{n} m{n}")));
        }

        server.Block(clients[0], wait);
        clients[1].Ok(command);
        Assert.Equal(reply, clients[0].Read().ToString());
        Assert.Equal($":{left}", clients[1].Ok(count).ToString());
        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void What_the_program_adds_by_the_types_of_the_store_serves_who_waits_at_a_socket()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using var clients = new Clients(server, 3);
        server.Block(clients[0], "BLPOP q 0");
        server.Block(clients[1], "BRPOP moved 0");
        server.Block(clients[2], "BZPOPMAX z 0");
        using (StoreGuard guard = server.Server.Store.Enter())
        {
            StoreSession session = guard.Session;
            Assert.Equal(StoreStatus.Ok, session.Lists.Push("q"u8, ListEnd.Right, "first"u8));
            Assert.Equal(StoreStatus.Ok, session.Lists.Push("source"u8, ListEnd.Right, "element"u8));
            Assert.Equal(StoreStatus.Ok,
                session.Lists.Move("source"u8, ListEnd.Left, "moved"u8, ListEnd.Left, out PooledBytes element));
            element.Dispose();
            Assert.Equal(StoreStatus.Ok, session.SortedSets.Set("z"u8, "member"u8, 1.5));
        }

        Assert.Equal("[\"q\" \"first\"]", clients[0].Read().ToString());
        Assert.Equal("[\"moved\" \"element\"]", clients[1].Read().ToString());
        Assert.Equal("[\"z\" \"member\" \"1.5\"]", clients[2].Read().ToString());
        Assert.Equal(":0", clients[0].Ok("DBSIZE").ToString());
        Assert.Equal(0, server.Server.Blocked.Count);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Who_has_waited_longest_is_served_first(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var clients = new Clients(server, 6);
        for (int i = 0; i < 5; i++) server.Block(clients[i], i % 2 == 0 ? "BLPOP q 0" : "BRPOP other q 0");
        Assert.Equal(":3", clients[5].Ok("RPUSH q a b c").ToString());
        Assert.Equal("[\"q\" \"a\"]", clients[0].Read().ToString());
        Assert.Equal("[\"q\" \"c\"]", clients[1].Read().ToString());
        Assert.Equal("[\"q\" \"b\"]", clients[2].Read().ToString());
        Assert.Equal(2, server.Server.Blocked.Count);
        clients[5].Ok("RPUSH q d e f");
        Assert.Equal("[\"q\" \"f\"]", clients[3].Read().ToString());
        Assert.Equal("[\"q\" \"d\"]", clients[4].Read().ToString());
        Assert.Equal("[\"e\"]", clients[5].Ok("LRANGE q 0 -1").ToString());
    }

    [Fact]
    public void A_key_of_another_type_serves_nobody_and_the_wait_goes_on()
    {
        using var server = KvInstance.Start();
        using var clients = new Clients(server, 3);
        server.Block(clients[0], "BLPOP k 0");
        server.Block(clients[1], "BZPOPMIN k 0");
        foreach (string command in new[] { "SET k v", "DEL k", "SADD k a", "DEL k", "HSET k a b", "RENAME k j",
            "MULTI\nRPUSH k a\nDEL k\nEXEC" }) clients[2].Say(command);
        Assert.Equal(2, server.Server.Blocked.Count);
        clients[2].Ok("ZADD k 1 a");
        Assert.Equal("[\"k\" \"a\" \"1\"]", clients[1].Read().ToString());
        Assert.False(clients[0].HasInput);
        clients[2].Ok("RPUSH k b");
        Assert.Equal("[\"k\" \"b\"]", clients[0].Read().ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Elements_go_on_along_a_chain_of_moves(string transport)
    {
        const int length = 20;
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var clients = new Clients(server, length + 2);
        for (int i = 0; i < length; i++) server.Block(clients[i], $"BLMOVE k{i} k{i + 1} LEFT RIGHT 0");
        server.Block(clients[length], $"BLPOP k{length} 0");
        clients[length + 1].Ok("RPUSH k0 x");
        for (int i = 0; i < length; i++) Assert.Equal("\"x\"", clients[i].Read().ToString());
        Assert.Equal($"[\"k{length}\" \"x\"]", clients[length].Read().ToString());
        Assert.Equal(":0", clients[length + 1].Ok("DBSIZE").ToString());
        Assert.Equal(0, server.Server.Blocked.Count);
    }

    [Fact]
    public void An_element_that_goes_round_between_two_who_wait_comes_to_rest()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using var clients = new Clients(server, 3);
        server.Block(clients[0], "BLMOVE a b LEFT LEFT 0");
        server.Block(clients[1], "BLMOVE b a LEFT LEFT 0");
        clients[2].Ok("RPUSH a x");
        Assert.Equal("\"x\"", clients[0].Read().ToString());
        Assert.Equal("\"x\"", clients[1].Read().ToString());
        Assert.Equal("[\"x\"]", clients[2].Ok("LRANGE a 0 -1").ToString());
    }

    [Fact]
    public void The_same_key_twice_and_several_keys_are_left_all_at_once()
    {
        using var server = KvInstance.Start();
        using var clients = new Clients(server, 2);
        for (int round = 0; round < 3; round++)
        {
            server.Block(clients[0], "BLPOP k k a b k 0");
            clients[1].Say("MULTI\nRPUSH b 1\nRPUSH k 2\nRPUSH a 3\nEXEC");
            Assert.Equal("[\"b\" \"1\"]", clients[0].Read().ToString());
            clients[1].Say("DEL k a");
        }

        Assert.Equal(0, server.Server.Blocked.Count);
        Assert.False(server.Server.Store.Watches.IsAny);
    }

    // What redis-server 7.0.15 does: what was no list then does not count, what is gone again does.
    [Theory]
    [InlineData("MULTI\nSET k 1\nRPUSH j a\nDEL k\nRPUSH k b\nEXEC", "j")]
    [InlineData("MULTI\nRPUSH k a\nDEL k\nRPUSH j a\nRPUSH k b\nEXEC", "k")]
    [InlineData("MULTI\nSADD k 2\nRPUSH j a\nSORT k STORE k\nEXEC", "j")]
    [InlineData("MULTI\nHSET k f 1\nRPUSH j a\nRANDOMKEY\nDEL k\nRPUSH k b\nEXEC", "j")]
    public void After_EXEC_the_key_is_served_that_first_had_something(string commands, string served) =>
        CheckServed(commands.Split('\n'), served);

    [Theory]
    [InlineData("redis.call('SET', 'k', 1) redis.call('RPUSH', 'j', 'a') redis.call('DEL', 'k') "
        + "redis.call('RPUSH', 'k', 'b')", "j")]
    [InlineData("redis.call('RPUSH', 'k', 1) redis.call('DEL', 'k') redis.call('RPUSH', 'j', 'a') "
        + "redis.call('RPUSH', 'k', 'b')", "k")]
    public void After_a_script_the_key_is_served_that_first_had_something(string script, string served) =>
        CheckServed([$"EVAL \"{script}\" 0"], served);

    private static void CheckServed(string[] commands, string served)
    {
        using var server = KvInstance.Start();
        using var clients = new Clients(server, 2);
        server.Block(clients[0], "BLPOP k j 0");
        foreach (string command in commands) clients[1].Say(command);
        Assert.StartsWith($"[\"{served}\"", clients[0].Read().ToString(), StringComparison.Ordinal);
        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void Each_waits_in_its_own_database()
    {
        using var server = KvInstance.Start();
        using var clients = new Clients(server, 4);
        for (int i = 0; i < 3; i++)
        {
            clients[i].Ok($"SELECT {i}");
            server.Block(clients[i], "BLPOP k 0");
        }

        for (int i = 2; i >= 0; i--)
        {
            clients[3].Ok($"SELECT {i}");
            clients[3].Ok($"RPUSH k {i}");
            Assert.Equal($"[\"k\" \"{i}\"]", clients[i].Read().ToString());
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void CLIENT_UNBLOCK_ends_a_wait_as_timed_out_or_with_an_error(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var clients = new Clients(server, 2);
        long id = clients[0].Ok("CLIENT ID").Integer;
        Assert.Equal(":0", clients[1].Ok($"CLIENT UNBLOCK {id}").ToString());
        foreach (string command in new[] { "BLPOP k 0", "BLMOVE k j LEFT LEFT 1000", "BZMPOP 0 2 k j MIN" })
        {
            server.Block(clients[0], command);
            Assert.Contains(" flags=b ", Line(clients[1], id), StringComparison.Ordinal);
            Assert.Equal(":1", clients[1].Ok($"CLIENT UNBLOCK {id}").ToString());
            Assert.Equal("*-1", clients[0].Read().ToString());
            server.Block(clients[0], command);
            Assert.Equal(":1", clients[1].Ok($"CLIENT UNBLOCK {id} TIMEOUT").ToString());
            Assert.Equal("*-1", clients[0].Read().ToString());
            server.Block(clients[0], command);
            Assert.Equal(":1", clients[1].Ok($"CLIENT UNBLOCK {id} ERROR").ToString());
            Assert.Equal("-UNBLOCKED client unblocked via CLIENT UNBLOCK", clients[0].Read().ToString());
            Assert.Equal(":0", clients[1].Ok($"CLIENT UNBLOCK {id} ERROR").ToString());
            Assert.Contains(" flags=N ", Line(clients[1], id), StringComparison.Ordinal);
        }

        clients[1].Ok("RPUSH k a");
        Assert.Equal("[\"a\"]", clients[1].Ok("LRANGE k 0 -1").ToString());
        Assert.False(clients[0].HasInput);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Who_leaves_or_is_killed_while_waiting_gets_nothing(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var clients = new Clients(server, 1);
        for (int way = 0; way < 4; way++)
        {
            using var leaving = server.Connect();
            long id = leaving.Ok("CLIENT ID").Integer;
            // What comes behind is there, unread, when it leaves.
            leaving.Send("BLPOP q 0");
            leaving.Send("SET behind 1");
            server.AwaitBlocked(1);
            if (way == 0) leaving.Dispose();
            else if (way == 1) leaving.Reset();
            else if (way == 2) leaving.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
            else clients[0].Ok($"CLIENT KILL ID {id}");
            server.AwaitBlocked(0);
            clients[0].Ok("RPUSH q a");
            Assert.Equal("\"a\"", clients[0].Ok("LPOP q").ToString());
            Assert.Equal(":0", clients[0].Ok("EXISTS behind").ToString());
        }

        Eventually.Holds(() => server.Server.Clients == 1, () => "somebody is left");
        Assert.False(server.Server.Store.Watches.IsAny);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_pipeline_behind_a_blocking_command_is_answered_in_order(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var clients = new Clients(server, 2);
        for (int round = 0; round < 20; round++)
        {
            // More than fits into what is read ahead.
            string large = new('x', round == 10 ? 300_000 : 10);
            foreach (string command in new[] { "ECHO before", "BLPOP a 0", "ECHO between", "BLPOP b 0", $"ECHO {large}",
                "BLPOP c 0.001", "ECHO end" }) clients[0].Send(command);
            clients[1].Ok("RPUSH b 2");
            clients[1].Ok("RPUSH a 1");
            string[] expected = ["\"before\"", "[\"a\" \"1\"]", "\"between\"", "[\"b\" \"2\"]", $"\"{large}\"",
                "*-1", "\"end\""];
            foreach (string reply in expected) Assert.Equal(reply, clients[0].Read().ToString());
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void The_server_stops_with_clients_that_wait(string transport)
    {
        var server = KvInstance.Start("--transport", transport);
        using var clients = new Clients(server, 20);
        using var inside = server.Server.Connect();
        inside.Write("BLPOP a b 0\r\n"u8);
        for (int i = 0; i < 20; i++) clients[i].Send(i % 2 == 0 ? "BLPOP a b 0" : "BZPOPMIN a 1000");
        server.AwaitBlocked(21);
        server.Dispose();
        for (int i = 0; i < 20; i++) Assert.True(clients[i].IsClosedByServer());
    }

    [Fact]
    public void A_blocked_command_is_counted_once_it_is_done_and_its_error_as_one()
    {
        using var server = KvInstance.Start("--worker-threads", "1");
        using var clients = new Clients(server, 2);
        long before = long.Parse(clients[1].Info("total_commands_processed"));
        server.Block(clients[0], "BLMOVE k s LEFT LEFT 0");
        Assert.Throws<InvalidOperationException>(() => clients[1].Info("cmdstat_blmove"));
        Assert.Equal("1", clients[1].Info("blocked_clients"));
        Assert.Equal("0", clients[1].Info("clients_in_timeout_table"));
        clients[1].Say("SET s v\nRPUSH k a");
        Assert.Equal("-WRONGTYPE Operation against a key holding the wrong kind of value",
            clients[0].Read().ToString());
        Assert.StartsWith("calls=1,", clients[1].Info("cmdstat_blmove"), StringComparison.Ordinal);
        Assert.EndsWith("failed_calls=1", clients[1].Info("cmdstat_blmove"), StringComparison.Ordinal);
        Assert.Equal("count=1", clients[1].Info("errorstat_WRONGTYPE"));
        Assert.Equal("[\"a\"]", clients[1].Ok("LRANGE k 0 -1").ToString());
        // INFO seven times (one tells of those before it), BLMOVE, SET, RPUSH, LRANGE.
        Assert.Equal(before + 11, long.Parse(clients[1].Info("total_commands_processed")));
        server.Block(clients[0], "BLPOP k2 1000");
        Assert.Equal("1", clients[1].Info("clients_in_timeout_table"));
    }

    [Fact]
    public void What_is_taken_for_one_who_waits_is_a_change_for_who_watches()
    {
        using var server = KvInstance.Start();
        using var clients = new Clients(server, 3);
        server.Block(clients[0], "BLPOP k 0");
        clients[1].Ok("WATCH k");
        clients[2].Ok("RPUSH k a");
        Assert.Equal("[\"k\" \"a\"]", clients[0].Read().ToString());
        clients[1].Say("MULTI\nPING");
        Assert.Equal("*-1", clients[1].Ok("EXEC").ToString());
    }

    [Fact]
    public void Messages_arrive_while_a_client_waits()
    {
        using var server = KvInstance.Start();
        using var waiting = server.Connect(resp: 3);
        using var other = server.Connect();
        waiting.Ok("SUBSCRIBE ch");
        server.Block(waiting, "BLPOP k 0");
        other.Ok("PUBLISH ch hello");
        Assert.Equal(">[\"message\" \"ch\" \"hello\"]", waiting.Read().ToString());
        other.Ok("RPUSH k a");
        Assert.Equal("[\"k\" \"a\"]", waiting.Read().ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_pause_holds_up_the_push_but_not_the_end_of_a_wait(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var clients = new Clients(server, 3);
        long id = clients[0].Ok("CLIENT ID").Integer;
        server.Block(clients[0], "BLPOP k 0");
        clients[2].Ok("CLIENT PAUSE 1000000 WRITE");
        clients[1].Send("RPUSH k a");
        clients[2].Ok("PING");
        Assert.Equal(1, server.Server.Blocked.Count);
        Assert.Equal(":1", clients[2].Ok($"CLIENT UNBLOCK {id}").ToString());
        Assert.Equal("*-1", clients[0].Read().ToString());
        clients[0].Send("BLPOP k 0");           // held up itself
        clients[2].Ok("CLIENT UNPAUSE");
        Assert.Equal("[\"k\" \"a\"]", clients[0].Read().ToString());
        Assert.Equal(":1", clients[1].Read().ToString());
    }

    [Fact]
    public void WAIT_ends_with_its_time_by_CLIENT_UNBLOCK_or_with_its_client()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), other = server.Connect();
        long id = one.Ok("CLIENT ID").Integer;
        server.Block(one, "WAIT 1 0");
        Assert.Equal("1", other.Info("blocked_clients"));
        Assert.Equal(1, other.Ok($"CLIENT UNBLOCK {id}").Integer);
        Assert.Equal(0, one.Read().Integer);
        server.Block(one, "WAITAOF 0 1 0");
        Assert.Equal(1, other.Ok($"CLIENT UNBLOCK {id} ERROR").Integer);
        Assert.Equal("-UNBLOCKED client unblocked via CLIENT UNBLOCK", one.Read().ToString());
        Assert.Equal("[:0 :0]", one.Command("WAITAOF 0 1 1").ToString());
        using (var leaves = server.Connect()) server.Block(leaves, "WAIT 1 0");
        server.AwaitBlocked(0);
    }

    [Fact]
    public void WAITAOF_waits_for_the_disks_of_replicas_and_for_the_file_here()
    {
        string directory = Directory.CreateTempSubdirectory("kv-waitaof-").FullName;
        try
        {
            using var server = KvInstance.StartOnDisk(directory, "--appendonly", "yes");
            using RespClient one = server.Connect(), other = server.Connect(), replica = server.Connect();
            // The file here has it, or will soon: nobody else has.
            one.Ok("SET k 1");
            server.Block(one, "WAITAOF 1 1 0");
            replica.Send("PSYNC ? -1");
            replica.ReadSnapshot();
            replica.Send("REPLCONF ACK 100000");     // not on its disk
            string about = "";
            Eventually.Holds(() => (about = other.Ok("INFO replication").String).Contains("offset=100000",
                StringComparison.Ordinal), () => about);
            Assert.Equal("1", other.Info("blocked_clients"));
            replica.Send("REPLCONF ACK 100000 FACK 100000");
            Assert.Equal("[:1 :1]", one.Read().ToString());
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Fact]
    public void A_reply_that_is_too_large_is_the_error_of_who_waits_and_costs_no_element()
    {
        using var server = KvInstance.Start("--max-reply-bytes", "1mb");
        using var clients = new Clients(server, 2);
        server.Block(clients[0], "BLMPOP 0 1 k LEFT COUNT 100");
        string element = new('x', 100_000);
        clients[1].Ok($"RPUSH k {string.Join(' ', Enumerable.Repeat(element, 20))}");
        Assert.Equal("-ERR reply is larger than max-reply-bytes", clients[0].Read().ToString());
        Assert.Equal(":20", clients[1].Ok("LLEN k").ToString());
    }

    private static string Line(RespClient client, long id) =>
        client.Ok($"CLIENT LIST ID {id}").String;

    private sealed class Clients : IDisposable
    {
        private readonly List<RespClient> _all = [];

        public Clients(TestServer server, int count)
        {
            for (int i = 0; i < count; i++) _all.Add(server.Connect());
        }

        public RespClient this[int index] => _all[index];

        public void Dispose() => _all.ForEach(client => client.Dispose());
    }
}
