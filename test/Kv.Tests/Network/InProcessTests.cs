using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Connections inside of the process: what a socket's client gets, without the socket.</summary>
public sealed class InProcessTests
{
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task A_raw_dialogue_is_answered_as_on_a_socket(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        await using var stream = server.Server.Connect();
        await Say(stream, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\n", "+OK\r\n");
        await Say(stream, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\nGET none\r\n", "$5\r\nhello\r\n$-1\r\n");
        await Say(stream, "*2\r\n$3\r\nGET", "");
        await Say(stream, "\r\n$1\r\nk\r\n", "$5\r\nhello\r\n");
        using var other = server.Connect();
        Assert.Equal("hello", other.Ok("GET k").String);
        Assert.Contains("addr=in-process:0 laddr=in-process:0 fd=-1", other.Ok("CLIENT LIST").String,
            StringComparison.Ordinal);
        await Say(stream, "QUIT\r\n", "+OK\r\n");
        Assert.Equal(0, await stream.ReadAsync(new byte[1]));
    }

    // More than fits between the two ends, written before anything is read.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task A_large_pipeline_written_before_any_reply_is_read_is_answered_whole(string transport)
    {
        const int count = 200_000, large = 5 << 20;
        using var server = KvInstance.Start("--transport", transport);
        await using var stream = server.Server.Connect();
        string value = new('v', large);
        await Write(stream, $"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n${large}\r\n{value}\r\n");
        await Write(stream, string.Concat(Enumerable.Repeat("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n", count)));
        await Write(stream, "*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n");
        var expected = new StringBuilder("+OK\r\n");
        for (int i = 1; i <= count; i++) expected.Append($":{i}\r\n");
        expected.Append($"${large}\r\n").Append(value).Append("\r\n");
        Assert.Equal(expected.ToString(), await Read(stream, expected.Length));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Disposing_the_stream_runs_what_was_written_and_ends_the_client(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        var stream = server.Server.Connect();
        await Say(stream, "PING\r\n", "+PONG\r\n");
        Assert.Equal(1, server.Server.Clients);
        await Write(stream, "SET last 1\r\n");
        stream.Dispose();
        stream.Dispose();
        Eventually.Holds(() => server.Server.Clients == 0, () => "the client is still there");
        await Assert.ThrowsAsync<ObjectDisposedException>(() => stream.ReadExactlyAsync(new byte[1]).AsTask());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => Write(stream, "PING\r\n"));
        using var other = server.Connect();
        Assert.Equal("1", other.Ok("GET last").String);
    }

    [Fact]
    public async Task Disposing_the_stream_ends_a_read_that_waits()
    {
        using var server = KvInstance.Start();
        var stream = server.Server.Connect();
        await Say(stream, "PING\r\n", "+PONG\r\n");
        var read = stream.ReadAsync(new byte[1]).AsTask();
        Assert.False(read.IsCompleted);
        await stream.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => read);
        Eventually.Holds(() => server.Server.Clients == 0, () => "the client is still there");
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Disposing_the_server_answers_what_was_received_and_ends_the_stream(string transport)
    {
        var server = KvInstance.Start("--transport", transport);
        var streams = Enumerable.Range(0, 20).Select(_ => server.Server.Connect()).ToList();
        foreach (var stream in streams) await Write(stream, "PING\r\n");
        var kv = server.Server;
        server.Dispose();
        foreach (var stream in streams)
        {
            Assert.Equal("+PONG\r\n", await Read(stream, 7));
            Assert.Equal(0, await stream.ReadAsync(new byte[1]));
            await Assert.ThrowsAsync<IOException>(() => Write(stream, "PING\r\n"));
            await stream.DisposeAsync();
        }

        Assert.Equal(0, kv.Clients);
        Assert.Equal(0, kv.Store.UsedBytes);
        Assert.Throws<InvalidOperationException>(kv.Connect);
    }

    [Fact]
    public async Task CLIENT_KILL_ends_the_stream()
    {
        using var server = KvInstance.Start();
        await using var stream = server.Server.Connect();
        await Say(stream, "CLIENT ID\r\n", ":1\r\n");
        var read = stream.ReadAsync(new byte[1]).AsTask();
        using var other = server.Connect();
        Assert.Equal(1, other.Ok("CLIENT KILL ID 1").Integer);
        Assert.Equal(0, await read);
    }

    [Fact]
    public async Task One_client_too_many_is_told_so()
    {
        using var server = KvInstance.Start("--maxclients", "1");
        await using var first = server.Server.Connect();
        await Say(first, "PING\r\n", "+PONG\r\n");
        await using var second = server.Server.Connect();
        const string refusal = "-ERR max number of clients reached\r\n";
        Assert.Equal(refusal, await Read(second, refusal.Length));
        Assert.Equal(0, await second.ReadAsync(new byte[1]));
    }

    [Fact]
    public void The_stream_can_be_used_synchronously()
    {
        using var server = KvInstance.Start();
        using var stream = server.Server.Connect();
        stream.Write("ECHO sync\r\n"u8);
        byte[] reply = new byte[10];
        stream.ReadExactly(reply);
        Assert.Equal("$4\r\nsync\r\n", Encoding.Latin1.GetString(reply));
    }

    [Fact]
    public async Task A_thousand_connections_leave_nothing_behind()
    {
        using var server = KvInstance.Start();
        for (int round = 0; round < 10; round++)
        {
            var streams = Enumerable.Range(0, 100).Select(_ => server.Server.Connect()).ToList();
            foreach (var stream in streams)
                await Say(stream, "SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
            foreach (var stream in streams) stream.Dispose();
            Eventually.Holds(() => server.Server.Clients == 0,
                () => $"{server.Server.Clients} clients are still there");
        }

        using var other = server.Connect();
        // What a client was subscribed to ends after it is no longer counted.
        Eventually.Holds(() => other.Ok("PUBSUB NUMSUB c").Items![1].Integer == 0, () => "subscriptions are left");
    }

    private static async Task Say(Stream stream, string request, string reply)
    {
        await Write(stream, request);
        Assert.Equal(reply, await Read(stream, reply.Length));
    }

    private static Task Write(Stream stream, string text) => stream.WriteAsync(Encoding.Latin1.GetBytes(text)).AsTask();

    private static async Task<string> Read(Stream stream, int length)
    {
        using var patience = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        byte[] bytes = new byte[length];
        await stream.ReadExactlyAsync(bytes, patience.Token);
        return Encoding.Latin1.GetString(bytes);
    }
}
