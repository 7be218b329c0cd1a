using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>Clients that leave while they wait: nothing is done or taken for them, whatever they have sent
/// before.</summary>
public class LeavingClientTests
{
    // What stands before the end of input: nothing; what one read takes; more than one, than the kernel's buffers, than
    // a megabyte.
    private static readonly int[] _behind = [0, 1, 1000, 65_535, 70_000, 200_000, 3_000_000];

    public static TheoryData<string, int> Cases
    {
        get
        {
            var cases = new TheoryData<string, int>();
            foreach (string transport in OperatingSystem.IsLinux() ? new[] { "epoll", "pipelines" } : ["pipelines"])
                foreach (int behind in _behind)
                    cases.Add(transport, behind);
            return cases;
        }
    }

    [Theory, MemberData(nameof(Cases))]
    public void Nothing_is_taken_for_a_client_that_has_left_its_blocking_command(string transport, int behind)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var other = kv.Connect();
        for (int i = 0; i < 8; i++)
        {
            var client = kv.Connect();
            kv.Block(client, "BLPOP q 0");
            SendBehind(client, behind);
            client.Dispose();
            kv.AwaitBlocked(0);
        }

        kv.AwaitClients(1);
        for (int i = 1; i <= 5; i++) Assert.Equal(i, other.Command($"RPUSH q v{i}").Integer);
        Assert.Equal(5, other.Command("LLEN q").Integer);
    }

    [Theory, MemberData(nameof(Cases))]
    public void Nothing_is_done_for_a_client_that_has_left_in_a_pause(string transport, int behind)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var other = kv.Connect();
        other.Ok("CLIENT PAUSE 1000000 WRITE");
        for (int i = 0; i < 8; i++)
        {
            var client = kv.Connect();
            client.Ok("PING");      // a client that the server has taken on
            client.Send($"SET k{i} v");
            SendBehind(client, behind);
            client.Dispose();
        }

        kv.AwaitClients(1);
        other.Ok("CLIENT UNPAUSE");
        Assert.Equal(0, other.Command("DBSIZE").Integer);
    }

    // As Redis 7.0.15: its reader meets the end of input while the command waits, and frees the client.
    [Theory]
    [InlineData("epoll", "BLPOP q 0")]
    [InlineData("pipelines", "BLPOP q 0")]
    [InlineData("epoll", "SET k v")]
    [InlineData("pipelines", "SET k v")]
    public void Who_ends_its_input_while_it_waits_has_left(string transport, string command)
    {
        if (transport == "epoll" && !OperatingSystem.IsLinux()) return;
        using var kv = KvInstance.Start("--transport", transport);
        using RespClient other = kv.Connect(), client = kv.Connect();
        other.Ok("CLIENT PAUSE 1000000 WRITE");
        Assert.True(client.Command("GET k").IsNull);
        client.Send(command);
        client.Socket.Shutdown(SocketShutdown.Send);
        Assert.True(client.IsClosedByServer());
        other.Ok("CLIENT UNPAUSE");
        Assert.Equal(0, other.Command("EXISTS k").Integer);
        Assert.Equal(1, other.Command("RPUSH q v").Integer);
        Assert.Equal(1, other.Command("LLEN q").Integer);
    }

    [Theory, MemberData(nameof(Cases))]
    public void What_a_waiting_client_has_sent_ahead_is_run_when_it_goes_on(string transport, int behind)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using RespClient other = kv.Connect(), client = kv.Connect();
        byte[] text = new byte[behind];
        Array.Fill(text, (byte)'y');
        byte[] echo = [.. "*2\r\n$4\r\nECHO\r\n$"u8, .. System.Text.Encoding.ASCII.GetBytes($"{behind}\r\n"), .. text,
            .. "\r\n"u8];
        kv.Block(client, "BLPOP q 0");
        // One whole, one of which half is there when the wait ends.
        client.Send(echo);
        client.Send(echo.AsSpan(0, echo.Length / 2));
        Assert.Equal(1, other.Command("RPUSH q v").Integer);
        Assert.Equal("[\"q\" \"v\"]", client.Read().ToString());
        client.Send(echo.AsSpan(echo.Length / 2));
        for (int i = 0; i < 2; i++) Assert.Equal(text, client.Read().Text);

        other.Ok("CLIENT PAUSE 1000000 ALL");
        client.Send("GET k");
        client.Send(echo);
        client.Send(echo.AsSpan(0, echo.Length / 2));
        other.Ok("CLIENT UNPAUSE");
        client.Send(echo.AsSpan(echo.Length / 2));
        Assert.True(client.Read().IsNull);
        for (int i = 0; i < 2; i++) Assert.Equal(text, client.Read().Text);
    }

    // The first reply fills the turn's share of output while half of a big argument stands behind its command.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_turn_that_ends_early_loses_nothing_of_the_big_argument_behind_it(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        for (int half = 60_000; half <= 240_000; half += 20_000)
        {
            byte[] text = new byte[300_000];
            for (int i = 0; i < text.Length; i++) text[i] = (byte)('a' + (i % 26));
            byte[] echo = [.. "*2\r\n$4\r\nECHO\r\n$300000\r\n"u8, .. text, .. "\r\n"u8];
            client.Ok("SETRANGE k 1500000 x");
            client.Send([.. "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"u8, .. echo.AsSpan(0, half)]);
            Assert.Equal(1_500_001, client.Read().Text!.Length);
            client.Send(echo.AsSpan(half));
            Assert.Equal(text, client.Read().Text);
        }
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_sends_more_than_the_limit_while_it_waits_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-query-buffer-limit", "1048576");
        using RespClient other = kv.Connect(), most = kv.Connect(), more = kv.Connect();
        kv.Block(most, "BLPOP q 0");
        SendBehind(most, 1_048_576 - 100);
        kv.Block(more, "BLPOP r 0");
        SendBehind(more, 1_048_576 + 100);
        Assert.True(more.IsClosedByServer());
        kv.AwaitBlocked(1);
        Assert.Equal(1, other.Command("RPUSH q v").Integer);
        Assert.Equal("[\"q\" \"v\"]", most.Read().ToString());
        Assert.Equal(1_048_576 - 100, most.Read().Text!.Length);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_pause_that_is_over_lets_all_go_on_and_one_made_longer_does_not(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var other = kv.Connect();
        var clients = new List<RespClient>();
        for (int i = 0; i < 20; i++) clients.Add(kv.Connect());
        other.Ok("CLIENT PAUSE 50 ALL");
        foreach (var client in clients) client.Send("INCR n");
        foreach (var client in clients) Assert.InRange(client.Read().Integer, 1, 20);

        other.Ok("CLIENT PAUSE 1 WRITE");
        other.Ok("CLIENT PAUSE 1000000 WRITE");
        foreach (var client in clients) client.Send("INCR n");
        foreach (var client in clients) client.Send("GET n");
        using (var reader = kv.Connect()) Assert.Equal("\"20\"", reader.Command("GET n").ToString());
        other.Ok("CLIENT UNPAUSE");
        foreach (var client in clients)
        {
            Assert.InRange(client.Read().Integer, 21, 40);
            client.Read();
            client.Dispose();
        }
    }

    private static void SendBehind(RespClient client, int bytes)
    {
        if (bytes > 0) client.Send($"ECHO {new string('y', bytes)}");
    }
}
