using System.Net;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about connections: what one client may cost, and what it may do to others.</summary>
public class ConnectionBugs
{
    // CVE-2021-32675.
    [Fact]
    public void Known_P01_memory_grows_by_what_arrived_not_by_what_was_announced()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start();
        using (var warm = kv.Connect()) warm.Ok("PING");
        long before = kv.ResidentBytes;
        var clients = new List<RespClient>();
        try
        {
            for (int i = 0; i < 1000; i++)
            {
                clients.Add(kv.Connect());
                clients[i].Send(RespText.Bytes(i % 2 == 0 ? "*1048576\r\n" : "*2\r\n$3\r\nGET\r\n$536870912\r\n"));
            }

            using var other = kv.Connect();
            Assert.Equal("+PONG", other.Command("PING").ToString());
            // 64 KB a connection, the head start, would be 64 MB.
            Assert.InRange(kv.ResidentBytes - before, long.MinValue, 100L << 20);
        }
        finally
        {
            clients.ForEach(client => client.Dispose());
        }
    }

    [Theory]
    [InlineData("*11\r\n", "-ERR Protocol error: unauthenticated multibulk length")]
    [InlineData("*2\r\n$4\r\nAUTH\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length")]
    public void Known_P01_who_has_not_given_the_password_may_announce_little(string input, string error)
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        using var client = new RespClient(kv.EndPoint);
        client.Send(RespText.Bytes(input));
        Assert.Equal(error, client.Read().ToString());
        Assert.True(client.IsClosedByServer());
    }

    // CVE-2025-21605.
    [Fact]
    public void Known_P02_who_has_not_given_the_password_may_not_leave_replies_unread()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        using var client = new RespClient(kv.EndPoint);
        byte[] gets = RespText.Bytes(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 100)));
        bool closed = false;
        for (int i = 0; i < 10_000 && !closed; i++)
        {
            try
            {
                client.Send(gets);
                closed = client.Socket.Poll(0, SelectMode.SelectError) || (i > 100 && client.Socket.Poll(1000, SelectMode.SelectRead) && client.Socket.Available == 0);
            }
            catch (SocketException)
            {
                closed = true;
            }
        }

        Assert.True(closed, "a million commands were answered to a stranger who reads nothing");
    }

    [Fact]
    public void Known_P03_running_out_of_file_descriptors_does_not_end_the_listener()
    {
        Requires.Linux("ulimit");
        int port = ServerProgram.FreePort();
        using var kv = new LimitedKv(port);
        Assert.True(kv.WaitUntilReady(), kv.Log);
        var clients = new List<RespClient>();
        for (int i = 0; i < 300; i++)
        {
            try
            {
                clients.Add(new RespClient(kv.EndPoint, 1000));
            }
            catch (SocketException)
            {
                // Refused: what a full server may do.
            }
        }

        clients.ForEach(client => client.Dispose());
        Assert.Equal("+PONG", PingUntilServed(kv).ToString());
    }

    [Fact]
    public void Known_P04_connections_that_are_reset_at_once_leave_nothing_behind()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start();
        using var other = kv.Connect();
        other.Ok("PING");
        int files = kv.OpenFiles;
        for (int i = TimeBudget.Count(2000); i > 0; i--) new RespClient(kv.EndPoint).Reset();
        Assert.Equal("+PONG", other.Command("PING").ToString());
        Eventually.Holds(() => kv.OpenFiles <= files + 2, () => $"{kv.OpenFiles} open files, {files} before");
        Assert.Equal("1", other.Info("connected_clients"));
    }

    [Fact]
    public void Known_P17_and_P18_a_client_that_ends_itself_in_a_pipeline_gets_the_replies_before()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        client.Send(RespText.Bytes("PING\r\nCLIENT ID\r\nCLIENT KILL TYPE normal SKIPME no\r\nSET after 1\r\n"));
        Assert.Equal("+PONG", client.Read().ToString());
        Assert.Equal(':', client.Read().Type);
        Assert.Equal(':', client.Read().Type);
        Assert.True(client.IsClosedByServer());
        using var other = borrowed.Server.Connect();
        Assert.Equal(":0", other.Command("EXISTS after").ToString());
    }

    // CVE-2023-45145.
    [Fact]
    public void Known_P19_the_unix_socket_is_created_with_its_permissions()
    {
        if (OperatingSystem.IsWindows()) return;
        string path = Path.Combine(Path.GetTempPath(), $"kv-{Guid.NewGuid():N}.sock");
        using (var kv = KvInstance.Start("--unixsocket", path, "--unixsocketperm", "700"))
        {
            var mode = File.GetUnixFileMode(path);
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, mode);
            using var client = new RespClient(new UnixDomainSocketEndPoint(path));
            Assert.Equal("+PONG", client.Command("PING").ToString());
        }

        Assert.False(File.Exists(path), "the socket's file is left behind");
    }

    [Theory]
    [InlineData("HUP")]
    [InlineData("PIPE")]
    public void Known_P20_signals_of_a_lost_terminal_do_not_end_the_server(string signal)
    {
        Requires.Linux("signals");
        using var kv = KvProcess.Start();
        using var client = kv.Connect();
        kv.Signal(signal);
        kv.Signal(signal);
        Assert.Equal("+PONG", client.Command("PING").ToString());
        using var fresh = kv.Connect();
        Assert.Equal("+PONG", fresh.Command("PING").ToString());
    }

    [Fact]
    public void Known_P20_a_reply_to_a_client_that_is_gone_harms_nobody()
    {
        using var borrowed = SharedServers.Kv();
        using var other = borrowed.Server.Connect();
        other.Command("SET"u8.ToArray(), "big"u8.ToArray(), new byte[500_000]);
        for (int i = 0; i < 50; i++)
        {
            var client = borrowed.Server.Connect();
            for (int k = 0; k < 20; k++) client.Send("GET big");
            client.Reset();
        }

        Assert.Equal("+PONG", other.Command("PING").ToString());
    }

    [Fact]
    public void Known_P23_a_name_of_a_million_bytes_is_cut_in_the_error()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        var name = new byte[1_000_000];
        Array.Fill(name, (byte)'n');
        Assert.Equal($"-ERR unknown command '{new string('n', 128)}', with args beginning with: ", client.Command(name).ToString());
        Assert.Equal("+PONG", client.Command("PING").ToString());
    }

    [Fact]
    public void Known_P24_client_list_stays_one_line_a_client()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string line in (string[])["CLIENT SETNAME \"a\\nid=1\"", "CLIENT SETNAME \"a b\"", "CLIENT SETINFO lib-name \"a\\nb\"", "CLIENT SETINFO lib-ver \"a b\""])
            Assert.True(client.Command(line).IsError, line);
        string list = client.Ok("CLIENT LIST").String;
        Assert.All(list.TrimEnd('\n').Split('\n'), line => Assert.StartsWith("id=", line, StringComparison.Ordinal));
    }

    private static Reply PingUntilServed(TestServer server)
    {
        // Ends: the descriptors of the closed clients come back, and at the latest after ten seconds we give up.
        Reply? reply = null;
        Eventually.Holds(() =>
        {
            try
            {
                using var client = new RespClient(server.EndPoint, 2000);
                reply = client.Command("PING");
                return reply.ToString() == "+PONG";
            }
            catch (Exception e) when (e is SocketException or IOException or TimeoutException)
            {
                return false;
            }
        }, () => "no connection is served after the flood");
        return reply!;
    }

    /// <summary>kv-server that may open few files.</summary>
    private sealed class LimitedKv(int port) : ServerProgram("/bin/bash",
        ["-c", $"ulimit -n 160; exec \"{KvProcess.Program}\" --port {port}"], new IPEndPoint(IPAddress.Loopback, port))
    {
        public override string Name => "kv-server with 160 files";
    }
}
