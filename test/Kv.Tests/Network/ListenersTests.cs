using System.Net;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>CONFIG SET port, bind and tcp-backlog move the listeners as Redis 7 does, and nobody who is connected
/// notices.</summary>
public sealed class ListenersTests
{
    private const string PortTaken = "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen "
        + "on this port. Check server logs.";
    private const string BindFailed =
        "-ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.";

    /// <summary>Of TEST-NET-1: no machine has it.</summary>
    private const string Elsewhere = "192.0.2.1";

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void The_port_moves_and_who_is_connected_stays(string transport)
    {
        using var kv = StartOnFreePort(transport);
        using var client = kv.Connect();
        int port = MoveToFreePort(client, "CONFIG SET timeout 7 port {0} tcp-keepalive 5");
        Assert.False(Answers(kv, IPAddress.Loopback, kv.Port));
        Assert.True(Answers(kv, IPAddress.Loopback, port));
        Assert.Equal($"{port}", client.Info("tcp_port"));
        Assert.Equal($"[\"port\" \"{port}\" \"timeout\" \"7\"]", client.Command("CONFIG GET port timeout").ToString());
        Assert.Equal(port, ((IPEndPoint)kv.Server.Endpoints.Single()).Port);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_port_that_is_taken_is_an_error_and_nothing_of_that_CONFIG_SET_has_changed(string transport)
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        taken.Listen();
        int other = ((IPEndPoint)taken.LocalEndPoint!).Port;
        using var kv = StartOnFreePort(transport);
        using var client = kv.Connect();
        Assert.Equal(PortTaken, client.Command($"CONFIG SET port {other}").ToString());
        Assert.Equal(PortTaken, client.Command($"CONFIG SET timeout 77 port {other} maxmemory 1gb").ToString());
        // Of two that fail together, Redis names the one that came first.
        Assert.Equal(PortTaken, client.Command($"CONFIG SET port {other} bind 127.0.0.1").ToString());
        Assert.Equal(BindFailed, client.Command($"CONFIG SET bind 127.0.0.1 port {other}").ToString());
        Assert.Equal($"[\"timeout\" \"0\" \"port\" \"{kv.Port}\" \"bind\" \"127.0.0.1\" \"maxmemory\" \"0\"]",
            client.Command("CONFIG GET timeout port bind maxmemory").ToString());
        Assert.Equal(0, kv.Server.Store.MaxMemoryBytes);
        Assert.True(Answers(kv, IPAddress.Loopback, kv.Port));
        Assert.Equal(kv.EndPoint, kv.Server.Endpoints.Single());
    }

    // On Linux all of 127.0.0.0/8 is this machine.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Addresses_come_and_go(string transport)
    {
        Requires.Linux("addresses of the loopback");
        var second = IPAddress.Parse("127.0.0.2");
        using var kv = StartOnFreePort(transport, "--protected-mode", "no");
        using var client = kv.Connect();
        Assert.Equal((true, false), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        client.Ok("CONFIG SET bind \"127.0.0.1 127.0.0.2\"");
        Assert.Equal((true, true), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        Assert.Equal([$"127.0.0.1:{kv.Port}", $"127.0.0.2:{kv.Port}"],
            kv.Server.Endpoints.Select(endPoint => endPoint.ToString()));
        client.Ok("CONFIG SET bind 127.0.0.2");
        Assert.Equal((false, true), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        // All addresses and one of them on the same port exclude each other: the old socket has to go first.
        client.Ok("CONFIG SET bind 0.0.0.0");
        Assert.Equal((true, true), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        client.Ok("CONFIG SET bind 127.0.0.1");
        Assert.Equal((true, false), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        client.Ok($"CONFIG SET bind \"127.0.0.2 -{Elsewhere}\"");
        Assert.Equal((false, true), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        client.Ok("CONFIG SET bind \"\"");
        Assert.Equal((false, false), (Answers(kv, IPAddress.Loopback, kv.Port), Answers(kv, second, kv.Port)));
        Assert.Equal("0", client.Info("tcp_port"));
        client.Ok("CONFIG SET bind 127.0.0.1");
        Assert.True(Answers(kv, IPAddress.Loopback, kv.Port));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void An_address_that_the_machine_does_not_have_is_an_error_and_the_old_ones_stay(string transport)
    {
        using var kv = StartOnFreePort(transport);
        using var client = kv.Connect();
        // No label of a name is so long: it is unknown without asking anybody on the network.
        foreach (string bind in (string[])[Elsewhere, $"127.0.0.1 {Elsewhere}", $"0.0.0.0 {Elsewhere}",
            new string('x', 64)])
        {
            Assert.Equal(BindFailed, client.Command($"CONFIG SET bind \"{bind}\"").ToString());
            Assert.Equal("[\"bind\" \"127.0.0.1\"]", client.Command("CONFIG GET bind").ToString());
            Assert.True(Answers(kv, IPAddress.Loopback, kv.Port), bind);
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Port_0_is_the_port_that_the_system_chose_at_start(string transport)
    {
        // The system may give the port that was left to somebody else: then another server shows it.
        for (int attempt = 1; ; attempt++)
        {
            using var kv = KvInstance.Start("--transport", transport);
            using var client = kv.Connect();
            int port = MoveToFreePort(client, "CONFIG SET port {0}");
            Assert.False(Answers(kv, IPAddress.Loopback, kv.Port));
            string reply = client.Command("CONFIG SET port 0").ToString();
            if (reply == PortTaken && attempt < 10) continue;
            Assert.Equal("+OK", reply);
            Assert.True(Answers(kv, IPAddress.Loopback, kv.Port));
            Assert.False(Answers(kv, IPAddress.Loopback, port));
            return;
        }
    }

    // Of a server that was given its port.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Port_0_ends_TCP_but_not_the_unix_socket_nor_who_is_connected(string transport)
    {
        Requires.Linux("unix sockets");
        string directory = Directory.CreateTempSubdirectory("kv-").FullName;
        try
        {
            string path = Path.Combine(directory, "s");
            using var given = StartOnFreePort(transport, "--unixsocket", path);
            using var local = new RespClient(new UnixDomainSocketEndPoint(path));
            using var connected = given.Connect();
            connected.Ok("CONFIG SET port 0");
            Assert.False(Answers(given, IPAddress.Loopback, given.Port));
            Assert.Equal("0", local.Info("tcp_port"));
            connected.Ok("PING");
            using var another = new RespClient(new UnixDomainSocketEndPoint(path));
            MoveToFreePort(another, "CONFIG SET port {0}");
            Assert.Equal(
                "-ERR CONFIG SET failed (possibly related to argument 'unixsocket') - can't set immutable config",
                another.Command("CONFIG SET unixsocket x").ToString());
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Tcp_backlog_is_the_length_of_the_listening_queue(string transport)
    {
        Requires.Linux("TCP_INFO of a listening socket");
        using var kv = StartOnFreePort(transport, "--tcp-backlog", "17");
        using var client = kv.Connect();
        Assert.Equal([17], QueueLengths(kv.Port));
        client.Ok("CONFIG SET tcp-backlog 29");
        Assert.Equal([29], QueueLengths(kv.Port));
        Assert.True(Answers(kv, IPAddress.Loopback, kv.Port));
        int port = MoveToFreePort(client, "CONFIG SET port {0}");
        Assert.Equal([29], QueueLengths(port));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Tcp_keepalive_is_set_on_every_connection_that_comes_later(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var first = kv.Connect();
        Assert.Equal((1, 300, 100, 3), KeepAlive(kv, first));
        first.Ok("CONFIG SET tcp-keepalive 91");
        using var second = kv.Connect();
        Assert.Equal((1, 91, 30, 3), KeepAlive(kv, second));
        second.Ok("CONFIG SET tcp-keepalive 2");
        using var third = kv.Connect();
        Assert.Equal((1, 2, 1, 3), KeepAlive(kv, third));
        third.Ok("CONFIG SET tcp-keepalive 0");
        using var fourth = kv.Connect();
        Assert.Equal(0, KeepAlive(kv, fourth).On);
        Assert.Equal((1, 300, 100, 3), KeepAlive(kv, first));
    }

    /// <summary>What the server's own socket of a client has: this is the server's process.</summary>
    private static (int On, int Idle, int Interval, int Probes) KeepAlive(KvInstance kv, RespClient client)
    {
        long id = client.Ok("CLIENT ID").Integer;
        Assert.True(kv.Server.Connections.TryGet(id, out var session));
        using var socket = new Socket(new SafeSocketHandle(session!.Descriptor, ownsHandle: false));
        return (Get(SocketOptionLevel.Socket, SocketOptionName.KeepAlive),
            Get(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime),
            Get(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval),
            Get(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount));

        int Get(SocketOptionLevel level, SocketOptionName name) => (int)socket.GetSocketOption(level, name)!;
    }

    /// <summary>The queue lengths of the sockets of this process that listen on a port.</summary>
    private static List<int> QueueLengths(int port)
    {
        // struct tcp_info of Linux; of a listener "sacked" is its queue's length
        const int TcpInfo = 11, StateListen = 10, QueueLengthOffset = 28;
        var lengths = new List<int>();
        byte[] info = new byte[104];
        foreach (string path in Directory.EnumerateFileSystemEntries("/proc/self/fd"))
        {
            if (new FileInfo(path).LinkTarget is not { } target
                || !target.StartsWith("socket:", StringComparison.Ordinal)) continue;
            try
            {
                using var socket =
                    new Socket(new SafeSocketHandle(int.Parse(Path.GetFileName(path)), ownsHandle: false));
                if (socket.LocalEndPoint is not IPEndPoint endPoint || endPoint.Port != port) continue;
                socket.GetRawSocketOption((int)SocketOptionLevel.Tcp, TcpInfo, info);
                if (info[0] == StateListen) lengths.Add(BitConverter.ToInt32(info, QueueLengthOffset));
            }
            catch (SocketException)
            {
                // Another test's, closed meanwhile.
            }
        }

        return lengths;
    }

    /// <summary>Somebody else may take a port between the question and its use: then another is tried.</summary>
    private static int MoveToFreePort(RespClient client, string command)
    {
        for (int attempt = 1; ; attempt++)
        {
            int port = ServerProgram.FreePort();
            var reply = client.Command(string.Format(null, command, port));
            if (!reply.IsError) return port;
            if (attempt == 10) Assert.Fail(reply.ToString());
        }
    }

    /// <summary>Starts a server on a port that the system gives to nobody while the server has left it.</summary>
    private static KvInstance StartOnFreePort(string transport, params string[] options)
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                return KvInstance.Start(
                    ["--transport", transport, "--port", $"{ServerProgram.FreePort()}", .. options]);
            }
            catch (Kv.Server.Network.ListenException) when (attempt < 10)
            {
                // Ends: after so many attempts.
            }
        }
    }

    /// <summary>Whether it is this server that answers there: another test's may have taken a port that was
    /// left.</summary>
    private static bool Answers(KvInstance kv, IPAddress address, int port)
    {
        try
        {
            using var client = new RespClient(new IPEndPoint(address, port));
            client.Send("INFO server");
            // Who only tries whether the port is free closes it at once.
            return client.TryRead()?.ToString().Contains(kv.Server.RunId, StringComparison.Ordinal) == true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
