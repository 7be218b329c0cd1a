using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What a server says to the client that is one too many, from afar, or silent; and where it can be reached.</summary>
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

            // min(32, maxclients / 10) places more are kept for administrators on the same machine.
            Assert.InRange(served, 20, 22);
            Assert.Equal(60, served + refused);
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

    [Fact]
    public void Protected_mode_refuses_other_machines_with_the_reason()
    {
        var address = NetworkInterface.GetAllNetworkInterfaces()
            .SelectMany(card => card.GetIPProperties().UnicastAddresses).Select(unicast => unicast.Address)
            .FirstOrDefault(ip => ip.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(ip));
        if (address is null) Assert.Skip("this machine has no address but loopback");
        using var kv = KvInstance.Start("--bind", "0.0.0.0", "--protected-mode", "yes");
        using var client = new RespClient(new IPEndPoint(address, kv.Port));
        Assert.StartsWith("-DENIED Redis is running in protected mode", client.Read().ToString(), StringComparison.Ordinal);
        Assert.True(client.IsClosedByServer());
        using var local = new RespClient(new IPEndPoint(IPAddress.Loopback, kv.Port));
        Assert.Equal("+PONG", local.Command("PING").ToString());

        local.Ok("CONFIG SET protected-mode no");
        using var allowed = new RespClient(new IPEndPoint(address, kv.Port));
        Assert.Equal("+PONG", allowed.Command("PING").ToString());
    }

    [Fact]
    public void A_silent_client_is_closed_after_timeout_and_a_subscriber_is_not()
    {
        using var kv = KvInstance.Start("--timeout", "1");
        using var silent = new RespClient(kv.EndPoint);
        using var subscriber = new RespClient(kv.EndPoint);
        subscriber.Ok("SUBSCRIBE ch");
        silent.Ok("PING");
        Assert.True(silent.IsClosedByServer());
        using var publisher = new RespClient(kv.EndPoint);
        Assert.Equal(":1", publisher.Command("PUBLISH ch m").ToString());
        Assert.Equal("[\"message\" \"ch\" \"m\"]", subscriber.Read().ToString());
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
        Assert.Equal("-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used "
            + "to authenticate the client and select the RESP protocol version at the same time", client.Command("HELLO 3").ToString());
        Assert.Equal("-WRONGPASS invalid username-password pair or user is disabled.", client.Command("AUTH wrong").ToString());
        Assert.Equal("-WRONGPASS invalid username-password pair or user is disabled.", client.Command("HELLO 3 AUTH default wrong SETNAME x").ToString());
        Assert.Equal("-NOAUTH Authentication required.", client.Command("PING").ToString());
        Assert.Equal("+OK", client.Command("AUTH secret").ToString());
        Assert.Equal("$-1", client.Command("GET k").ToString());
        using var other = new RespClient(kv.EndPoint);
        Assert.Equal('%', other.Command("HELLO 3 AUTH default secret").Type);
        Assert.Equal("_", other.Command("GET k").ToString());
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
