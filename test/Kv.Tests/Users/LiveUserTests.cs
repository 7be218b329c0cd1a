using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Clients of users, and what a change of their rules does to them, at once.</summary>
public sealed partial class LiveUserTests
{
    public static TheoryData<string> Transports => ["epoll", "pipelines"];

    [Theory, MemberData(nameof(Transports))]
    public void A_change_is_seen_by_the_next_command_of_clients_that_are_connected(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var admin = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass ~* +@all");
        using var client = kv.Connect();
        client.Ok("AUTH u x");
        client.Ok("SET a 1");
        for (int i = 0; i < 50; i++)
        {
            admin.Ok("ACL SETUSER u -set");
            Assert.Equal("-NOPERM User u has no permissions to run the 'set' command",
                client.Command("SET a 2").ToString());
            admin.Ok("ACL SETUSER u +set resetkeys ~b*");
            Assert.Equal("-NOPERM No permissions to access a key", client.Command("SET a 2").ToString());
            Assert.Equal("+OK", client.Command("SET b 2").ToString());
            admin.Ok("ACL SETUSER u allkeys");
            Assert.Equal("+OK", client.Command("SET a 3").ToString());
        }
    }

    [Theory, MemberData(nameof(Transports))]
    public void Who_changes_their_own_rules_is_checked_by_them_from_the_next_command_on(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Send([.. RespText.Encode("SET a 1"), .. RespText.Encode("ACL SETUSER default -get"),
            .. RespText.Encode("GET a"), .. RespText.Encode("GET a"), .. RespText.Encode("SET a 2"),
            .. RespText.Encode("ACL SETUSER default +get"), .. RespText.Encode("GET a")]);
        string denied = "-NOPERM User default has no permissions to run the 'get' command";
        Assert.Equal(["+OK", "+OK", denied, denied, "+OK", "+OK", "\"2\""],
            Enumerable.Range(0, 7).Select(_ => client.Read().ToString()));
    }

    [Theory, MemberData(nameof(Transports))]
    public void In_a_long_pipeline_each_command_is_judged_by_itself(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u on nopass ~a* +@all");
        client.Ok("AUTH u x");
        var random = Seed.NewRandom(1711);
        string[] keys = [.. Enumerable.Range(0, 4096).Select(_ => random.Next(3) == 0 ? "b1" : "a1")];
        client.Send([.. keys.SelectMany(key => RespText.Encode($"SET {key} v"))]);
        foreach (string key in keys)
            Assert.Equal(key == "a1" ? "+OK" : "-NOPERM No permissions to access a key", client.Read().ToString());
        client.Send([.. keys.SelectMany(key => RespText.Encode(key == "a1" ? "GET a1" : "GET"))]);
        foreach (string key in keys)
            Assert.Equal(key == "a1" ? "\"v\"" : "-ERR wrong number of arguments for 'get' command",
                client.Read().ToString());
    }

    [Theory, MemberData(nameof(Transports))]
    public void Known_G07_clients_of_a_deleted_user_are_closed_wherever_they_are(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var admin = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass ~* &* +@all");
        using RespClient idle = As(kv, "u"), blocked = As(kv, "u"), inMulti = As(kv, "u"), subscribed = As(kv, "u"),
            other = kv.Connect();
        inMulti.Ok("MULTI");
        inMulti.Ok("SET a 1");
        subscribed.Send("SUBSCRIBE c");
        subscribed.Read();
        kv.Block(blocked, "BLPOP list 0");
        Assert.Equal(1, admin.Ok("ACL DELUSER u nobody").Integer);
        foreach (var client in new[] { idle, blocked, inMulti, subscribed }) Assert.True(client.IsClosedByServer());
        kv.AwaitClients(2);
        other.Ok("RPUSH list v");
        Assert.Equal(1, other.Ok("LLEN list").Integer);
        Assert.True(kv.Connect().Command("AUTH u x").IsError);
    }

    [Theory, MemberData(nameof(Transports))]
    public void Who_deletes_their_own_user_gets_the_reply_and_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u on nopass +@all");
        client.Ok("AUTH u x");
        Assert.Equal(1, client.Ok("ACL DELUSER u").Integer);
        Assert.True(client.IsClosedByServer());
    }

    [Theory, MemberData(nameof(Transports))]
    public void A_subscriber_whose_channel_is_no_longer_allowed_is_closed_and_others_stay(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var redis = SharedServers.Redis();
        foreach (TestServer server in new[] { redis.Server, kv })
        {
            using var admin = server.Connect();
            admin.Ok("ACL SETUSER u on nopass &a* &b* +@all");
            using RespClient onA = Subscriber(server, "SUBSCRIBE a1"), onB = Subscriber(server, "SUBSCRIBE b1"),
                onPattern = Subscriber(server, "PSUBSCRIBE b*"), onShard = Subscriber(server, "SSUBSCRIBE b2"),
                onNone = As(server, "u");
            admin.Ok("ACL SETUSER u resetchannels &a* &c");
            foreach (var client in new[] { onB, onPattern, onShard }) Assert.True(client.IsClosedByServer());
            Assert.Equal("+PONG", onNone.Command("PING").ToString());
            Eventually.Holds(() => admin.Ok("PUBLISH a1 m").Integer == 1, () => "nobody is on a1");
            Assert.Equal("[\"message\" \"a1\" \"m\"]", onA.Read().ToString());
            admin.Ok("ACL DELUSER u");
            Assert.True(onA.IsClosedByServer());
        }
    }

    [Fact]
    public void A_user_that_is_off_cannot_log_in_but_who_is_in_stays()
    {
        using var kv = KvInstance.Start();
        using var admin = kv.Connect();
        admin.Ok("ACL SETUSER u on >p ~* +@all");
        using var client = kv.Connect();
        client.Ok("AUTH u p");
        admin.Ok("ACL SETUSER u off");
        client.Ok("SET a 1");
        using var late = kv.Connect();
        Assert.Equal("-WRONGPASS invalid username-password pair or user is disabled.",
            late.Command("AUTH u p").ToString());
        Assert.Equal("default", late.Ok("ACL WHOAMI").String);
        Assert.Equal("u", client.Ok("ACL WHOAMI").String);
        Assert.Contains(" user=u ", client.Ok("CLIENT INFO").String, StringComparison.Ordinal);
        Assert.Equal(1, admin.Ok("CLIENT KILL USER u").Integer);
        Assert.True(client.IsClosedByServer());
        Assert.Equal("-ERR No such user 'nobody'", admin.Command("CLIENT KILL USER nobody").ToString());
    }

    [Fact]
    public void The_password_of_requirepass_is_the_default_users()
    {
        using var kv = KvInstance.Start("--requirepass", "one");
        using var client = kv.Connect();
        Assert.Equal("-NOAUTH Authentication required.", client.Command("GET a").ToString());
        client.Ok("AUTH one");
        client.Ok("ACL SETUSER default >two");
        kv.Connect().Ok("AUTH two");
        kv.Connect().Ok("AUTH default one");
        client.Ok("CONFIG SET requirepass three");
        Assert.True(kv.Connect().Command("AUTH one").IsError);
        kv.Connect().Ok("HELLO 3 AUTH default three");
        client.Ok("CONFIG SET requirepass \"\"");
        kv.Connect().Ok("GET a");
        Assert.StartsWith("-ERR AUTH <password> called without any password", kv.Connect().Command("AUTH x").ToString(),
            StringComparison.Ordinal);
        client.Ok("RESET");
        Assert.Equal("default", client.Ok("ACL WHOAMI").String);
    }

    [Theory, InlineData(""), InlineData("one")]
    public void A_CONFIG_SET_that_fails_leaves_the_passwords_as_they_were(string requirePass)
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        taken.Listen();
        using var kv = KvInstance.Start("--requirepass", requirePass);
        using var client = kv.Connect();
        if (requirePass.Length > 0) client.Ok($"AUTH {requirePass}");
        client.Ok("ACL SETUSER default >two");
        string before = client.Ok("ACL LIST").ToString();
        string reply = client.Command($"CONFIG SET requirepass three port {((IPEndPoint)taken.LocalEndPoint!).Port}")
            .ToString();
        Assert.Contains("'port') - Unable to listen on this port", reply, StringComparison.Ordinal);
        Assert.Equal(before, client.Ok("ACL LIST").ToString());
        Assert.Equal("-NOAUTH Authentication required.", kv.Connect().Command("GET a").ToString());
        kv.Connect().Ok("AUTH two");
    }

    [Fact]
    public void What_was_queued_is_checked_again_when_it_is_run()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        foreach (TestServer server in new[] { redis.Server, kv })
        {
            using var admin = server.Connect();
            admin.Ok("ACL SETUSER u on nopass ~* &* +@all");
            using var client = As(server, "u");
            foreach (string line in new[] { "MULTI", "SET a 1", "PUBLISH c m", "GET b", "INCR n" }) client.Ok(line);
            admin.Ok("ACL SETUSER u -incr resetkeys ~b resetchannels");
            var replies = client.Ok("EXEC").Items!.Select(item => item.ToString()).ToList();
            const string changed = "-NOPERM ACLs rules changed between the moment the transaction was accumulated and "
                + "the EXEC call. This command is no longer allowed for the following reason: ";
            Assert.Equal([changed + "no permission to touch the specified keys",
                changed + "no permission to access one of the channels used as arguments", "$-1",
                changed + "no permission to execute the command or subcommand"],
                replies);
            client.Ok("MULTI");
            Assert.True(client.Command("SET a 1").IsError);
            Assert.StartsWith("-EXECABORT", client.Command("EXEC").ToString(), StringComparison.Ordinal);
            admin.Ok("ACL DELUSER u");
        }
    }

    [Fact]
    public void The_log_has_what_the_reference_logs()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        string[] expected = LogOf(redis.Server);
        Assert.NotEmpty(expected);
        Assert.Equal(expected, LogOf(kv));
    }

    [Fact]
    public void The_log_is_as_long_as_acllog_max_len_and_a_key_in_it_is_cut()
    {
        using var kv = KvInstance.Start("--acllog-max-len", "3");
        using var admin = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass +@all");
        using var client = As(kv, "u");
        for (int i = 0; i < 20; i++) client.Command($"GET {i}{new string('k', 1000)}");
        var entries = admin.Ok("ACL LOG").Items!;
        Assert.Equal(3, entries.Count);
        Assert.Equal($"19{new string('k', 126)}", entries[0].Items![7].String);
        admin.Ok("CONFIG SET acllog-max-len 0");
        client.Command("GET 1");
        Assert.Empty(admin.Ok("ACL LOG").Items!);
    }

    // Of 7.2. As there CONFIG RESETSTAT leaves them alone.
    [Fact]
    public void INFO_counts_what_was_denied_by_its_reason()
    {
        using var kv = KvInstance.Start("--acllog-max-len", "0");
        using var admin = kv.Connect();
        Assert.Equal("0 0 0 0", Denied(admin));
        LogOf(kv);
        admin.Ok("ACL SETUSER u on nopass ~* resetchannels +@all");
        using var client = As(kv, "u");
        client.Command("SUBSCRIBE a");
        client.Command("ACL DRYRUN u PUBLISH a m");
        admin.Ok("CONFIG RESETSTAT");
        Assert.Equal("3 2 6 2", Denied(admin));
    }

    private static string Denied(RespClient client) => string.Join(' ',
        new[] { "auth", "cmd", "key", "channel" }.Select(name => client.Info($"acl_access_denied_{name}")));

    private static string[] LogOf(TestServer server)
    {
        using var admin = server.Connect();
        admin.Ok("ACL LOG RESET");
        admin.Ok("ACL SETUSER u on >p ~a* &c* +@all -set -config|get");
        using var client = server.Connect();
        foreach (string line in new[] { "AUTH u bad", "auth nobody bad", "AUTH u p", "GET b", "get b", "SET a 1",
            "CONFIG GET x", "PUBLISH x y", "MULTI", "GET zz", "DISCARD", "EVAL \"return redis.pcall('get', 'in')\" 0",
            "MGET a1 b1 b2", "HELLO 2 AUTH u wrong", "GET b" }) client.Command(line);
        var entries = admin.Ok("ACL LOG").Items!;
        admin.Ok("ACL LOG RESET");
        admin.Ok("ACL DELUSER u");
        return [.. entries.Select(entry => string.Join(' ', entry.Items!.Take(10).Select(item => item.ToString()))
            + CommandOf().Match(entry.Items![13].String).Value)];
    }

    [GeneratedRegex(" cmd=[^ ]*")]
    private static partial Regex CommandOf();

    private static RespClient As(TestServer server, string user)
    {
        var client = server.Connect();
        client.Ok($"AUTH {user} x");
        return client;
    }

    private static RespClient Subscriber(TestServer server, string line)
    {
        var client = As(server, "u");
        client.Send(line);
        client.Read();
        return client;
    }
}
