using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>What transcripts cannot say of CLIENT: ids, addresses and the order of fields.</summary>
public class ClientCommandTests
{
    private const string Fields =
        "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem rbs rbp "
        + "obl oll omem " +
        "tot-mem events cmd user redir resp lib-name lib-ver";

    [Fact]
    public void A_line_of_CLIENT_LIST_has_every_field_in_its_order()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Ok("CLIENT SETNAME me");
        string line = client.Ok("CLIENT LIST").String.TrimEnd('\n');
        Assert.Equal(Fields, string.Join(' ', line.Split(' ').Select(field => field[..field.IndexOf('=')])));
        Assert.Equal("me", Field(line, "name"));
        Assert.Equal("client|list", Field(line, "cmd"));
        Assert.Equal(client.Socket.LocalEndPoint!.ToString(), Field(line, "addr"));
        Assert.Equal(client.Socket.RemoteEndPoint!.ToString(), Field(line, "laddr"));
        Assert.Equal(client.Ok("CLIENT ID").Integer, long.Parse(Field(line, "id"), CultureInfo.InvariantCulture));
    }

    // redis-server says 26 for qbuf, too: the command itself is still in the buffer.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_line_tells_what_a_client_has_waiting(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--client-output-pause", "64kb");
        using RespClient one = server.Connect(), other = server.Connect();
        long id = other.Ok("CLIENT ID").Integer;
        Eventually.Holds(() => Number("qbuf") == 0, () => Line());     // its own turn may not have ended yet
        long idle = Number("tot-mem");
        string own = one.Ok("CLIENT LIST").String.Split('\n')[0];
        Assert.Equal(("26", "0", "0", "0"),
            (Field(own, "qbuf"), Field(own, "omem"), Field(own, "oll"), Field(own, "argv-mem")));
        Assert.Equal((0L, 0L, 0L, 0L), (Number("qbuf"), Number("argv-mem"), Number("oll"), Number("omem")));

        // The first half of a command of many words, and of a long one: in memory of the client's own.
        other.Send(Bytes($"*3\r\n$3\r\nSET\r\n$20000\r\n{new string('k', 10_000)}"));
        Eventually.Holds(() => Number("qbuf") == 10_021, () => Line());
        Assert.InRange(Number("tot-mem"), idle + 10_021, idle + 200_000);
        other.Send(Bytes($"{new string('k', 10_000)}\r\n$1000000\r\n{new string('v', 300_000)}"));
        Eventually.Holds(() => Number("argv-mem") >= 1_000_000, () => Line());
        Assert.InRange(Number("tot-mem"), idle + 1_000_000, idle + 2_000_000);
        other.Send(Bytes($"{new string('v', 700_000)}\r\n"));
        Assert.Equal("+OK", other.Read().ToString());
        Eventually.Holds(() => Number("qbuf") == 0 && Number("argv-mem") == 0
            && Number("tot-mem") == idle, () => Line());

        // Replies that nobody reads.
        one.Ok($"SET big {new string('b', 1_000_000)}");
        for (int i = 0; i < 40; i++) other.Send(Bytes("GET big\r\n"));
        Eventually.Holds(() => Number("oll") > 0 && Number("omem") > 64_000, () => Line());
        // Both from one line: replies are still being added.
        Eventually.Holds(() => Line() is var line && Of(line, "tot-mem") >= idle + Of(line, "omem"), () => Line());
        for (int i = 0; i < 40; i++) Assert.Equal(1_000_000, other.Read().String.Length);
        Eventually.Holds(() => Number("oll") == 0 && Number("omem") == 0, () => Line());

        string Line() => one.Ok($"CLIENT LIST ID {id}").String.TrimEnd('\n');
        static byte[] Bytes(string text) => System.Text.Encoding.ASCII.GetBytes(text);
        long Number(string name) => Of(Line(), name);
        static long Of(string line, string name) => long.Parse(Field(line, name), CultureInfo.InvariantCulture);
    }

    // As redis-server 7.0.15 counts and marks them.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_waits_for_the_end_of_a_pause_is_a_blocked_client(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var one = server.Connect();
        one.Ok("CLIENT PAUSE 100000 WRITE");
        using (RespClient waits = server.Connect(), leaves = server.Connect())
        {
            long id = waits.Ok("CLIENT ID").Integer, leaving = leaves.Ok("CLIENT ID").Integer;
            foreach (var client in (RespClient[])[waits, leaves]) client.Send("SET k v");
            Eventually.Holds(() => one.Info("blocked_clients") == "2", () => one.Info("blocked_clients") + " wait");
            Assert.Equal("b", Field(one.Ok($"CLIENT LIST ID {id}").String, "flags"));
            Assert.True(long.Parse(Field(one.Ok($"CLIENT LIST ID {id}").String, "argv-mem"),
                CultureInfo.InvariantCulture) >= 5);
            one.Ok($"CLIENT KILL ID {leaving}");
            Eventually.Holds(() => one.Info("blocked_clients") == "1", () => one.Info("blocked_clients") + " wait");
            one.Ok("CLIENT UNPAUSE");
            Assert.Equal("+OK", waits.Read().ToString());
            Assert.Equal("N", Field(one.Ok($"CLIENT LIST ID {id}").String, "flags"));
        }

        Eventually.Holds(() => one.Info("blocked_clients") == "0", () => one.Info("blocked_clients") + " wait");
    }

    // The data do not change while a pause is on, as with redis-server: whoever moves clients elsewhere counts on that.
    [Fact]
    public void Nothing_expires_actively_during_a_pause()
    {
        using var server = KvInstance.Start();
        using var one = server.Connect();
        var isHeld = server.Server.Store.ExpiryGate!;
        Assert.False(isHeld());
        foreach (string kind in (string[])["WRITE", "ALL"])
        {
            one.Ok($"CLIENT PAUSE 100000 {kind}");
            Assert.True(isHeld());
            one.Ok("CLIENT UNPAUSE");
            Assert.False(isHeld());
        }

        one.Ok("CLIENT PAUSE 1 WRITE");
        Eventually.Holds(() => !isHeld(), () => "a pause of a millisecond does not end");
    }

    [Fact]
    public void Nor_is_what_a_read_finds_expired_removed_during_a_pause()
    {
        var clock = new Storage.TestClock();
        using var server = KvInstance.Start(clock);
        using var one = server.Connect();
        one.Say("SET k v PX 100\nHSET h f v\nPEXPIRE h 100\nRPUSH l a\nPEXPIRE l 100\nCLIENT PAUSE 100000000 WRITE");
        clock.Advance(1000);
        // The worker's turn has its own look at the clock: the next turn has the new one.
        Eventually.Holds(() => one.Ok("GET k").IsNull, () => "k is still there");
        Assert.Equal("[]", one.Ok("HGETALL h").ToString());
        Assert.Equal("[]", one.Ok("LRANGE l 0 -1").ToString());
        Assert.Equal(":0", one.Ok("EXISTS k h l").ToString());
        Assert.Equal("$-1", one.Ok("DUMP h").ToString());
        Assert.Equal(":-2", one.Ok("TTL l").ToString());
        Assert.Equal("[$-1]", one.Ok("MGET k").ToString());
        Assert.Equal(("0", ":3"), (one.Info("expired_keys"), one.Ok("DBSIZE").ToString()));
        one.Ok("CLIENT UNPAUSE");
        Eventually.Holds(() => one.Ok("EXISTS k h l").Integer == 0
            && one.Info("expired_keys") == "3", () => one.Info("expired_keys") + " have expired");
    }

    [Fact]
    public void INFO_counts_the_keys_that_somebody_waits_for()
    {
        using var server = KvInstance.Start();
        using var one = server.Connect();
        one.Ok("XGROUP CREATE s g $ MKSTREAM");
        Assert.Equal(("0", "0"), Waits());
        using (RespClient list = server.Connect(), set = server.Connect(), group = server.Connect(),
            other = server.Connect(), plain = server.Connect())
        {
            server.Block(list, "BLPOP a b a 0");
            server.Block(set, "BZPOPMIN b c 0");
            server.Block(group, "XREADGROUP GROUP g x BLOCK 0 STREAMS s >");
            server.Block(other, "XREADGROUP GROUP g y BLOCK 0 STREAMS s >");
            server.Block(plain, "XREAD BLOCK 0 STREAMS s t $ $");
            Assert.Equal(("5", "1"), Waits());
            one.Ok("RPUSH b v");
            Assert.Equal("[\"b\" \"v\"]", list.Read().ToString());
            Assert.Equal(("4", "1"), Waits());
            one.Ok("DEL s");
            Assert.True(group.Read().IsError && other.Read().IsError);
            Assert.Equal(("4", "0"), Waits());
        }

        Eventually.Holds(() => Waits() == ("0", "0"), () => $"{Waits()} are waited for");
        (string All, string EndingWaits) Waits() =>
            (one.Info("total_blocking_keys"), one.Info("total_blocking_keys_on_nokey"));
    }

    [Fact]
    public void CLIENT_LIST_ID_shows_those_that_are_there_in_the_order_of_asking()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), two = server.Connect();
        long first = one.Ok("CLIENT ID").Integer, second = two.Ok("CLIENT ID").Integer;
        string text = one.Ok($"CLIENT LIST ID {second} 999999 {first}").String;
        Assert.Equal([$"{second}", $"{first}"],
            text.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(line => Field(line, "id")));
    }

    [Fact]
    public void Subscriptions_show_in_the_flags_and_counts_of_a_line()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), other = server.Connect();
        other.Send("SUBSCRIBE a b");
        other.Send("PSUBSCRIBE c*");
        for (int i = 0; i < 3; i++) other.Read();
        string line = one.Ok("CLIENT LIST TYPE pubsub").String.TrimEnd('\n');
        Assert.Equal(("P", "2", "1", "0"),
            (Field(line, "flags"), Field(line, "sub"), Field(line, "psub"), Field(line, "ssub")));
        Assert.Equal("1", one.Info("pubsub_clients"));
    }

    [Fact]
    public void CLIENT_KILL_closes_the_one_connection_that_fits_all_conditions()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), victim = server.Connect(), bystander = server.Connect();
        long id = victim.Ok("CLIENT ID").Integer;
        var address = victim.Socket.LocalEndPoint;
        bystander.Ok("PING");
        Assert.Equal(0, one.Ok($"CLIENT KILL ID {id} ADDR 1.2.3.4:5").Integer);
        Assert.Equal(0, one.Ok($"CLIENT KILL ID {id} MAXAGE 3600").Integer);
        Assert.Equal(1, one.Ok(
            $"CLIENT KILL ID {id} ADDR {address} LADDR {server.Host}:{server.Port} USER default TYPE normal").Integer);
        Assert.True(victim.IsClosedByServer());
        bystander.Ok("PING");
    }

    [Fact]
    public void CLIENT_KILL_with_an_address_alone_closes_that_connection()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), victim = server.Connect();
        victim.Ok("PING");
        Assert.Equal("+OK", one.Command($"CLIENT KILL {victim.Socket.LocalEndPoint}").ToString());
        Assert.True(victim.IsClosedByServer());
    }

    // P18: replies before it arrive, and nothing behind it is run.
    [Fact]
    public void CLIENT_KILL_of_oneself_in_a_pipeline_answers_what_came_before_and_runs_nothing_behind()
    {
        using var server = KvInstance.Start();
        using RespClient one = server.Connect(), other = server.Connect();
        one.Send(RespText.Encode("SET before 1").Concat(RespText.Encode($"CLIENT KILL {one.Socket.LocalEndPoint}"))
            .Concat(RespText.Encode("SET behind 1")).ToArray());
        Assert.Equal("+OK", one.Read().ToString());
        Assert.Equal("+OK", one.Read().ToString());
        Assert.True(one.IsClosedByServer());
        Assert.Equal(1, other.Ok("EXISTS before behind").Integer);
    }

    [Theory]
    [InlineData("MAXAGE x", "-ERR maxage is not an integer or out of range")]
    [InlineData("MAXAGE 0", "-ERR maxage should be greater than 0")]
    [InlineData("MAXAGE", "-ERR No such client")]
    [InlineData("ID 1 MAXAGE", "-ERR syntax error")]
    public void CLIENT_KILL_refuses_a_wrong_age(string arguments, string expected)
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        Assert.Equal(expected, client.Command($"CLIENT KILL {arguments}").ToString());
    }

    // A writer that had just learned that it is to wait when the pause ended was woken before it waited, and by nobody
    // after.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_pause_that_ends_while_a_command_begins_to_wait_for_it_leaves_nobody_waiting(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        // Connections go to the workers by turns: pauser and writer are on different ones.
        using RespClient pauser = server.Connect(), writer = server.Connect();
        for (int round = 1; round <= 3000; round++)
        {
            pauser.Ok("CLIENT PAUSE 1000000 WRITE");
            writer.Send("INCR n");
            // By turns sooner and later, so that the end meets the beginning of the wait.
            Thread.SpinWait(round % 200 * 10);
            pauser.Ok("CLIENT UNPAUSE");
            Assert.Equal(round, writer.Read().Integer);
        }
    }

    private static string Field(string line, string name) =>
        line.Split(' ').Single(field => field.StartsWith(name + "=", StringComparison.Ordinal))[(name.Length + 1)..];
}
