using System.Net;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What a server says to the client that is one too many, from afar, or silent; and where it can be
/// reached.</summary>
public class ClientLimitTests
{
    [Fact]
    public void Past_maxclients_a_client_gets_one_error_and_the_others_go_on()
    {
        using var kv = KvInstance.Start("--maxclients", "20");
        var clients = new List<RespClient>();
        int served = 0, refused = 0;
        try
        {
            for (int i = 0; i < 60; i++)
            {
                var client = new RespClient(kv.EndPoint);
                clients.Add(client);
                // The refusal comes unasked; a served client says nothing before it is asked.
                string? reply = AskOnce(client);
                if (reply == "+PONG") served++;
                else if (reply is null or "-ERR max number of clients reached") refused++;
                else Assert.Fail(reply);
            }

            Assert.Equal((20, 40), (served, refused));
            Assert.Equal("+PONG", clients[0].Command("PING").ToString());
            Assert.NotEqual("0", clients[0].Info("rejected_connections"));
        }
        finally
        {
            clients.ForEach(client => client.Dispose());
        }

        Eventually.Holds(() =>
        {
            using var client = new RespClient(kv.EndPoint);
            return AskOnce(client) == "+PONG";
        }, () => "places do not come back");
    }

    // min(32, maxclients / 10) places behind maxclients: 2 of 20.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Past_maxclients_an_administrator_on_this_machine_still_finds_a_place_and_an_application_does_not(
        string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxclients", "20");
        var clients = new List<RespClient>();
        for (int i = 0; i < 20; i++) Serve(clients, kv);
        using (var application = kv.Connect())
        {
            application.Ok("CLIENT SETNAME app");
            application.Send("GET k");
            application.Send("CLIENT LIST");
            Assert.Equal("-ERR max number of clients reached", application.Read().ToString());
            Assert.True(application.IsClosedByServer());
        }

        Eventually.Holds(() => kv.Server.Clients == 20, () => "the application's place does not come back");
        using var first = kv.Connect();
        first.Ok("CONFIG GET maxclients");
        using var second = kv.Connect();
        second.Ok("CLIENT LIST");
        Assert.Equal("2", second.Info("kv_reserved_clients"));
        Assert.Equal("3", second.Info("kv_reserved_connections"));
        using (var third = kv.Connect())
        {
            Assert.Equal("-ERR max number of clients reached", third.Read().ToString());
            Assert.True(third.IsClosedByServer());
        }

        Assert.Equal("2", second.Info("rejected_connections"));

        // With others gone, who came as administrator is a client like any other.
        for (int i = 0; i < 2; i++)
        {
            clients[^1].Dispose();
            clients.RemoveAt(clients.Count - 1);
        }

        Eventually.Holds(() => kv.Server.Clients == 20, () => "closed clients are still counted");
        second.Ok("SET k v");
        Assert.Equal("1", second.Info("kv_reserved_clients"));
        first.Ok("CONFIG SET maxclients 100");
        first.Ok("GET k");
        clients.ForEach(client => client.Dispose());
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void An_administrators_place_asks_for_the_password_like_any_other(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxclients", "10", "--requirepass", "secret");
        var clients = new List<RespClient>();
        for (int i = 0; i < 10; i++) clients.Add(kv.Connect());
        clients.ForEach(client => client.Ok("AUTH secret"));
        using var administrator = kv.Connect();
        Assert.Equal("-NOAUTH Authentication required.", administrator.Command("CONFIG GET maxclients").ToString());
        administrator.Ok("AUTH secret");
        administrator.Ok("CONFIG GET maxclients");
        Assert.Equal("-ERR max number of clients reached", administrator.Command("PING").ToString());
        clients.ForEach(client => client.Dispose());
    }

    // Other machines have no such place. (This machine's own address is not loopback.)
    [Fact]
    public void Past_maxclients_other_machines_find_no_place()
    {
        var address = Requires.OwnAddress();
        using var kv = KvInstance.Start("--bind", "0.0.0.0", "--protected-mode", "no", "--maxclients", "10");
        var clients = new List<RespClient>();
        for (int i = 0; i < 10; i++) Serve(clients, kv);
        using var other = new RespClient(new IPEndPoint(address, kv.Port));
        Assert.Equal("-ERR max number of clients reached", other.Read().ToString());
        clients.ForEach(client => client.Dispose());
    }

    [Fact]
    public void Protected_mode_refuses_other_machines_with_the_reason()
    {
        var address = Requires.OwnAddress();
        using var kv = KvInstance.Start("--bind", "0.0.0.0", "--protected-mode", "yes");
        using var client = new RespClient(new IPEndPoint(address, kv.Port));
        Assert.StartsWith("-DENIED Redis is running in protected mode", client.Read().ToString(),
            StringComparison.Ordinal);
        Assert.True(client.IsClosedByServer());
        Assert.Equal(1, kv.Server.Connections.Rejected);
        using var local = new RespClient(new IPEndPoint(IPAddress.Loopback, kv.Port));
        Assert.Equal("+PONG", local.Command("PING").ToString());

        local.Ok("CONFIG SET protected-mode no");
        using var allowed = new RespClient(new IPEndPoint(address, kv.Port));
        Assert.Equal("+PONG", allowed.Command("PING").ToString());
    }

    [Fact]
    public void A_silent_client_is_closed_after_timeout_and_a_subscriber_is_not()
    {
        using var kv = KvInstance.Start();
        using RespClient silent = kv.Connect(), subscriber = kv.Connect(resp: 3);
        silent.Ok("PING");
        subscriber.Ok("SUBSCRIBE ch");
        // Said by the subscriber: any other client might be closed itself before it has said all.
        subscriber.Ok("CONFIG SET timeout 1");
        Assert.True(silent.IsClosedByServer());
        Assert.Equal(":1", subscriber.Command("PUBLISH ch m").ToString());
        Assert.Equal(">[\"message\" \"ch\" \"m\"]", subscriber.Read().ToString());
    }

    // Of these seconds the milliseconds are more than 32 bits hold: 704 ms, and a negative number. The clients' clocks
    // are put back.
    [Theory]
    [InlineData(4_294_968)]
    [InlineData(2_147_484)]
    [InlineData(int.MaxValue)]
    public void A_timeout_of_many_days_is_that_long(int seconds)
    {
        using var kv = KvInstance.Start("--transport", "epoll", "--worker-threads", "1", "--timeout", $"{seconds}");
        using RespClient silent = new(kv.EndPoint), gone = new(kv.EndPoint);
        Rewind(silent, 10_000);
        Rewind(gone, seconds * 1000L);
        Assert.True(gone.IsClosedByServer());       // and all others were looked at in the same moment
        silent.Ok("PING");

        void Rewind(RespClient client, long ms)
        {
            long id = client.Ok("CLIENT ID").Integer;
            kv.Server.Connections.Snapshot().Single(session => session.Id == id).LastActiveTickMs -= ms;
        }
    }

    [Fact]
    public void IPv6_is_served()
    {
        if (!Socket.OSSupportsIPv6) Assert.Skip("no IPv6 on this machine");
        using var kv = KvInstance.Start("--bind", "::1");
        using var client = new RespClient(kv.EndPoint);
        Assert.Equal("+PONG", client.Command("PING").ToString());
        Assert.Contains("addr=[::1]:", client.Ok("CLIENT INFO").String, StringComparison.Ordinal);
    }

    [Fact]
    public void A_password_is_asked_for_before_anything_else()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        using var client = new RespClient(kv.EndPoint);
        Assert.Equal("-NOAUTH Authentication required.", client.Command("GET k").ToString());
        Assert.Equal(
            "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> "
            + "<pass> option can be used "
            + "to authenticate the client and select the RESP protocol version at the same time",
            client.Command("HELLO 3").ToString());
        Assert.Equal("-WRONGPASS invalid username-password pair or user is disabled.",
            client.Command("AUTH wrong").ToString());
        Assert.Equal("-WRONGPASS invalid username-password pair or user is disabled.",
            client.Command("HELLO 3 AUTH default wrong SETNAME x").ToString());
        Assert.Equal("-NOAUTH Authentication required.", client.Command("PING").ToString());
        Assert.Equal("+OK", client.Command("AUTH secret").ToString());
        Assert.Equal("$-1", client.Command("GET k").ToString());
        using var other = new RespClient(kv.EndPoint);
        Assert.Equal('%', other.Command("HELLO 3 AUTH default secret").Type);
        Assert.Equal("_", other.Command("GET k").ToString());
    }

    private static void Serve(List<RespClient> clients, KvInstance kv)
    {
        clients.Add(new RespClient(kv.EndPoint));
        clients[^1].Ok("PING");
    }

    private static string? AskOnce(RespClient client)
    {
        try
        {
            client.Send("PING");
            return client.TryRead()?.ToString();
        }
        catch (SocketException)
        {
            return null;
        }
    }
}
