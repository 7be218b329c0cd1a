using System.Net;
using System.Net.Sockets;
using System.Text;
using Kv.Protocol;
using RespBenchmark.NullServer;
using NullPeer = RespBenchmark.NullServer.NullServer;

namespace RespBenchmark.Tests.NullServer;

public class NullServerTests
{
    [Fact]
    public void Replies_leave_without_waiting_for_the_acknowledgement_of_those_before()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        client.Connect(listener.LocalEndPoint!);
        using Socket accepted = listener.Accept();
        NullPeer.Prepare(accepted);
        Assert.True(accepted.NoDelay);
    }

    [Theory]
    [InlineData("*1\r\n$4\r\nPING\r\n", "+PONG\r\n")]
    [InlineData("PING\r\n", "+PONG\r\n")]
    [InlineData("*2\r\n$3\r\nget\r\n$1\r\nk\r\n", "$8\r\nxxxxxxxx\r\n")]
    [InlineData("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", "+OK\r\n")]
    [InlineData("*3\r\n$4\r\nMGET\r\n$1\r\nk\r\n$1\r\nl\r\n", "*2\r\n$8\r\nxxxxxxxx\r\n$8\r\nxxxxxxxx\r\n")]
    [InlineData("*1\r\n$6\r\nDBSIZE\r\n", ":5\r\n")]
    public void Answers_by_the_name(string request, string reply)
    {
        using var server = NullPeer.Start(new NullServerOptions { Keys = 5 });
        Assert.Equal(reply, Ask(server, Encoding.Latin1.GetBytes(request), reply.Length));
    }

    [Fact]
    public void Commands_of_changing_shapes_are_counted_however_they_are_cut()
    {
        const string wire =
            "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nj\r\n*2\r\n$3\r\nGET\r\n$2\r\n*2\r\n"
            + "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n*1\r\n$4\r\nP\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n"
                + "abc\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nabcd\r\n";
        const string replies = "$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n+OK\r\n+PONG\r\n+OK\r\n+OK\r\n";
        using var server = NullPeer.Start(new NullServerOptions { ValueBytes = 1 });
        byte[] bytes = Encoding.Latin1.GetBytes(wire);
        for (int cut = 0; cut < bytes.Length; cut++)
        {
            using var client = Connect(server);
            client.Send(bytes.AsSpan(0, cut));
            client.Send(bytes.AsSpan(cut));
            Assert.Equal(replies, Read(client, replies.Length));
        }

        Assert.Equal(7 * bytes.Length, server.Answered);
    }

    [Fact]
    public void A_value_of_a_megabyte_is_passed_over()
    {
        using var server = NullPeer.Start(new NullServerOptions());
        byte[] set = [.. "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048576\r\n"u8, .. new byte[1048576], .. "\r\n"u8,
            .. "*1\r\n$4\r\nPING\r\n"u8];
        Assert.Equal("+OK\r\n+PONG\r\n", Ask(server, set, 12));
    }

    [Fact]
    public void Ten_thousand_replies_of_ten_kilobytes_wait_until_they_are_read()
    {
        using var server = NullPeer.Start(new NullServerOptions { ValueBytes = 10_000 });
        using var client = Connect(server);
        byte[] get = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"u8.ToArray();
        client.Send([.. Enumerable.Repeat(get, 10_000).SelectMany(bytes => bytes)]);
        var buffer = new byte[1 << 20];
        long left = 10_000L * 10_010;
        while (left > 0)
        {
            int received = client.Receive(buffer);
            Assert.True(received > 0, $"{left} bytes are missing");
            left -= received;
        }

        Assert.Equal(0, left);
    }

    [Theory]
    [InlineData(nameof(NullFault.Errors),
        "+PONG\r\n-ERR asked for by --bad errors\r\n+PONG\r\n-ERR asked for by --bad errors\r\n")]
    [InlineData(nameof(NullFault.Type), "+PONG\r\n:7\r\n+PONG\r\n:7\r\n")]
    [InlineData(nameof(NullFault.Bytes), "+PONG\r\n!@#no RESP at all\r\n+PONG\r\n!@#no RESP at all\r\n")]
    [InlineData(nameof(NullFault.Short), "+PONG\r\n+PO")]
    [InlineData(nameof(NullFault.Close), "+PONG\r\n")]
    public void Every_second_reply_is_faulty(string fault, string replies)
    {
        using var server = NullPeer.Start(
            new NullServerOptions { Fault = Enum.Parse<NullFault>(fault), FaultEvery = 2 });
        using var client = Connect(server);
        client.Send("PING\r\nPING\r\nPING\r\nPING\r\n"u8);
        Assert.Equal(replies, Read(client, replies.Length));
    }

    [Fact]
    public void Split_replies_are_whole_when_put_together()
    {
        using var server = NullPeer.Start(new NullServerOptions { Split = true });
        byte[] gets = [.. Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"u8.ToArray(), 1000)
            .SelectMany(bytes => bytes)];
        string text = Ask(server, gets, 14_000);
        int position = 0, count = 0;
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        while (ReplyReader.TrySkip(bytes, ref position, out _) == ReplyStatus.Complete) count++;
        Assert.Equal(1000, count);
    }

    private static string Ask(NullPeer server, byte[] request, int replyBytes)
    {
        using var client = Connect(server);
        client.Send(request);
        return Read(client, replyBytes);
    }

    private static Socket Connect(NullPeer server)
    {
        var client = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = 60_000 };
        client.Connect(server.EndPoint);
        return client;
    }

    private static string Read(Socket client, int bytes)
    {
        var buffer = new byte[bytes];
        int have = 0;
        while (have < bytes)
        {
            int received = client.Receive(buffer.AsSpan(have));
            if (received == 0) break;
            have += received;
        }

        return Encoding.Latin1.GetString(buffer, 0, have);
    }
}
