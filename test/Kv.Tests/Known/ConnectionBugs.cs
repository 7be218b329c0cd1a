using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about connections: what one client may cost, and what it may do to
/// others.</summary>
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
                closed = client.Socket.Poll(0, SelectMode.SelectError)
                    || (i > 100 && client.Socket.Poll(1000, SelectMode.SelectRead) && client.Socket.Available == 0);
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
        using var kv = LimitedKv.Start("ulimit -n 160");
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
        kv.AwaitClients(1);
        Eventually.Holds(() => kv.OpenFiles <= files + 2, () => $"{kv.OpenFiles} open files, {files} before");
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
        Assert.Equal($"-ERR unknown command '{new string('n', 128)}', with args beginning with: ",
            client.Command(name).ToString());
        Assert.Equal("+PONG", client.Command("PING").ToString());
    }

    [Fact]
    public void Known_P24_client_list_stays_one_line_a_client()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string line in (string[])["CLIENT SETNAME \"a\\nid=1\"", "CLIENT SETNAME \"a b\"",
            "CLIENT SETINFO lib-name \"a\\nb\"", "CLIENT SETINFO lib-ver \"a b\""])
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

    // Handlers that refuse in the middle of their arguments: none answers twice, or not at all.
    [Theory]
    [InlineData("epoll", 2)]
    [InlineData("epoll", 3)]
    [InlineData("pipelines", 2)]
    [InlineData("pipelines", 3)]
    public void Known_P16_whatever_is_wrong_with_a_command_its_reply_is_one(string transport, int resp)
    {
        using var kv = KvInstance.Start("--transport", transport, "--requirepass", "secret");
        using var client = new RespClient(kv.EndPoint);
        Assert.Equal("OK", client.Command("AUTH secret").String);
        if (resp == 3) client.Ok("HELLO 3");
        client.Ok("SET k v");
        client.Ok("SET n 1 EX 1000");
        string[] commands =
        [
            "EXPIRE k 1 NX XX", "EXPIRE k 1 GT LT", "EXPIRE k 1 NX GT", "EXPIRE k 9223372036854775807",
            "EXPIRE k x NX XX", "PEXPIREAT k 1 FOO XX",
            "SET k v NX XX", "SET k v EX 1 PX 1", "SET k v EX 0", "SET k v KEEPTTL EX 5", "SET k v EX",
            "SET k v NX GET XX",
            "GETEX k EX 1 PERSIST", "GETEX k EX", "GETEX n EX x", "GETDEL", "LPOP l 0", "LPOP l -1",
            "ZRANDMEMBER k 1073741824",
            "SETRANGE k -1 x", "SETRANGE k 9223372036854775807 x", "GETRANGE k 0 x", "INCRBY k x",
            "INCRBY k 9223372036854775808", "INCRBYFLOAT k nan",
            "MSETNX a 1 b", "MSET a", "COPY k k", "COPY k l DB 99999", "COPY k l DB x REPLACE", "RENAME missing k",
            "MOVE k 99", "LCS k n LEN IDX", "LCS k n MINMATCHLEN x",
            "SCAN x", "SCAN 0 COUNT 0", "SCAN 0 MATCH", "SELECT 99", "SELECT x", "SWAPDB 0 99", "OBJECT FREQ k",
            "OBJECT ENCODING missing", "OBJECT NOPE k",
            "HELLO 9", "HELLO 9 AUTH default secret", "HELLO x", $"HELLO {resp} AUTH default wrong",
            $"HELLO {resp} AUTH", $"HELLO {resp} AUTH nobody secret",
            $"HELLO {resp} SETNAME \"a b\"", $"HELLO {resp} AUTH default wrong SETNAME x", $"HELLO {resp} FOO", "AUTH",
            "AUTH a b c",
            "CLIENT KILL ID 0", "CLIENT KILL TYPE none", "CLIENT NOPE", "CLIENT REPLY maybe", "CLIENT SETNAME \"a b\"",
            "CLIENT PAUSE -1", "CLIENT UNBLOCK x",
            "CONFIG SET maxmemory x", "CONFIG SET nope 1", "CONFIG GET", "COMMAND GETKEYS SET", "COMMAND INFO nope",
            "PUBLISH a", "PUBSUB NOPE", "DEBUG NOPE", "NOPE",
        ];

        // One by one, and all in one write.
        foreach (string command in commands)
        {
            client.Send([.. RespText.Encode(command), .. RespText.Encode("ECHO behind")]);
            client.Read();
            AssertBehind(command);
        }

        // The failed AUTHs above are answered late now, one by one: leave them out of the pipeline.
        string[] quick = [.. commands.Where(command => !command.Contains("AUTH default wrong", StringComparison.Ordinal)
            && !command.Contains("nobody", StringComparison.Ordinal))];
        client.Send([.. quick.SelectMany(command => RespText.Encode(command).Concat(RespText.Encode("ECHO behind")))]);
        foreach (string command in quick)
        {
            client.Read();
            AssertBehind(command);
        }

        Assert.False(client.HasInput);

        void AssertBehind(string command)
        {
            var reply = client.Read();
            Assert.True(!reply.IsError && reply.Type == '$'
                && reply.String == "behind", $"{command} had another reply than one: {reply} came behind it");
        }
    }
}
