using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Metrics;
using Kv.Tests.Harness;
using LineQueue = Kv.Host.LineQueue;

namespace Kv.Tests.Limits;

/// <summary>Whoever reads the log, or does not, the server goes on; and strangers cannot fill it.</summary>
public sealed class LogTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_log_that_nobody_reads_holds_up_nobody(string transport)
    {
        int port = ServerProgram.FreePort();
        using var process = new Process
        {
            StartInfo = new ProcessStartInfo(KvProcess.Program,
                ["--port", $"{port}", "--transport", transport, "--worker-threads", "1"])
            {
                RedirectStandardOutput = true,
            },
        };
        process.Start();
        try
        {
            var endPoint = new IPEndPoint(IPAddress.Loopback, port);
            RespClient? client = null;
            Eventually.Holds(() => (client = TryConnect(endPoint)) != null, () => "not ready");
            // Each fails without a config file, and is a line: more than a pipe and the queue hold together.
            for (int i = 0; i < 20_000; i++) client!.Send("CONFIG REWRITE");
            Assert.Equal(20_000, Enumerable.Range(0, 20_000).Count(_ => client!.Read().IsError));
            Assert.NotEqual("0", client!.Info("kv_log_lines_dropped"));
            using var other = new RespClient(endPoint);
            other.Ok("PING");
            // Its end waits for the log a second at most.
            other.Send("SHUTDOWN NOSAVE");
            Assert.True(process.WaitForExit(60_000), "the server does not end");
            client.Dispose();
        }
        finally
        {
            if (!process.HasExited) process.Kill();
        }
    }

    [Theory]
    [InlineData("protected mode, loopback only")]
    [InlineData("protected mode, loopback only", "--user", "other on >p +@all")]
    [InlineData("open to all that reach it", "--requirepass", "p")]
    [InlineData("open to all that reach it", "--protected-mode", "no")]
    [InlineData("open to all that reach it", "--user", "default on >p ~* &* +@all")]
    public void The_start_says_whether_other_machines_get_in(string line, params string[] options)
    {
        using var server = KvProcess.Start(options);
        Assert.Contains($"; {line}", server.Log, StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task Strangers_cause_one_line_a_second_of_each_kind(string transport)
    {
        var log = new CapturedLog();
        var time = Stopwatch.StartNew();
        await using var kv = await KvServer.StartAsync(
            KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport]), log);
        for (int i = 0; i < 300; i++)
        {
            foreach (byte[] hello in (byte[][])["POST / HTTP/1.1\r\n"u8.ToArray(), [0x16, 0x03, 0x01],
                "*1\r\n:\r\n"u8.ToArray()])
            {
                using var stranger = new RespClient(kv.Endpoints[0]);
                stranger.Send(hello);
                while (stranger.TryRead() != null)
                {
                    // Ends: with the goodbye.
                }
            }
        }

        using var client = new RespClient(kv.Endpoints[0]);
        long suppressed = 0, lines = 0;
        Eventually.Holds(() =>
        {
            suppressed = long.Parse(client.Info("kv_log_lines_suppressed"));
            lines = log.Lines.Count(line => line.Contains("HTTP", StringComparison.Ordinal)
                || line.Contains("TLS", StringComparison.Ordinal)
                || line.Contains("Protocol error", StringComparison.Ordinal));
            return suppressed + lines == 900;
        }, () => $"{suppressed} suppressed and {lines} written are not 900");
        Assert.InRange(lines, 3, 3 * (2 + (long)time.Elapsed.TotalSeconds));
    }

    [Fact]
    public void A_brake_lets_one_line_through_a_second_and_tells_of_the_others()
    {
        var brake = new LogBrake();
        Assert.True(brake.TryTake(0, out string more));
        Assert.Equal("", more);
        Assert.False(brake.TryTake(1, out _));
        Assert.False(brake.TryTake(999, out _));
        Assert.True(brake.TryTake(1000, out more));
        Assert.Equal(" (2 more such lines were left out)", more);
        Assert.True(brake.TryTake(2000, out more));
        Assert.Equal("", more);
        Assert.Equal(2, brake.Suppressed);
    }

    [Fact]
    public void A_queue_that_is_full_drops_lines_and_says_so_in_their_place()
    {
        using var stuck = new StuckStream();
        var queue = new LineQueue(stuck);
        queue.Add("first\n"u8.ToArray(), Missing);
        stuck.Entered.WaitOne();
        for (int i = 0; i < 4096; i++) queue.Add("queued\n"u8.ToArray(), Missing);
        Assert.Equal(0, queue.Dropped);
        for (int i = 0; i < 5; i++) queue.Add("dropped\n"u8.ToArray(), Missing);
        Assert.Equal(5, queue.Dropped);
        stuck.Release.Set();
        Eventually.Holds(() => stuck.Text.Contains("queued", StringComparison.Ordinal), () => "nothing is written");
        queue.Add("last\n"u8.ToArray(), Missing);
        queue.Dispose();
        Assert.Equal("first\n" + string.Concat(Enumerable.Repeat("queued\n", 4096)) + "5 missing\nlast\n", stuck.Text);
    }

    [Fact]
    public void A_line_longer_than_the_queue_is_dropped_and_one_as_long_is_not()
    {
        using var stuck = new StuckStream();
        stuck.Release.Set();
        var queue = new LineQueue(stuck);
        queue.Add(new byte[1 << 20], Missing);
        Eventually.Holds(() => stuck.Text.Length == 1 << 20, () => "nothing is written");
        queue.Add(new byte[(1 << 20) + 1], Missing);
        Assert.Equal(1, queue.Dropped);
        queue.Dispose();
    }

    [Fact]
    public void A_queue_whose_stream_does_not_move_ends_all_the_same()
    {
        using var stuck = new StuckStream();
        var queue = new LineQueue(stuck);
        queue.Add("first\n"u8.ToArray(), Missing);
        stuck.Entered.WaitOne();
        queue.Dispose();
        stuck.Release.Set();
    }

    private static byte[] Missing(long count) => RespText.Bytes($"{count} missing\n");

    private static RespClient? TryConnect(EndPoint endPoint)
    {
        try
        {
            return new RespClient(endPoint);
        }
        catch (SocketException)
        {
            return null;
        }
    }

    /// <summary>Takes nothing until it is released.</summary>
    private sealed class StuckStream : MemoryStream
    {
        public ManualResetEvent Entered { get; } = new(false);

        public ManualResetEvent Release { get; } = new(false);

        public string Text
        {
            get { lock (this) return System.Text.Encoding.Latin1.GetString(ToArray()); }
        }

        // What is written as a span comes by here, too: a MemoryStream's own way is for itself alone.
        public override void Write(byte[] buffer, int offset, int count)
        {
            Entered.Set();
            Release.WaitOne();
            lock (this) base.Write(buffer, offset, count);
        }

        protected override void Dispose(bool disposing)
        {
            // Read after the queue has disposed it.
        }
    }
}
