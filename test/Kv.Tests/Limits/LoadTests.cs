using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>Clients that die, do not read, or move much at once: what they cost, and what the others notice.</summary>
public class LoadTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Known_M13_clients_killed_at_random_under_load_leave_no_file_and_no_memory()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start();
        using var steady = kv.Connect();
        steady.Ok("SET steady 0");
        Batter(kv, TimeBudget.OfSeconds(1), stream: 100, out _);
        kv.AwaitClients(1);
        (int files, long bytes) = (kv.OpenFiles, kv.ResidentBytes);

        long increments = 0;
        var time = TimeBudget.OfSeconds(4);
        var load = Task.Run(() =>
        {
            Batter(kv, time, stream: 200, out int killed);
            return killed;
        });
        while (!load.IsCompleted) Assert.Equal(++increments, steady.Ok("INCR steady").Integer);
        output.WriteLine($"{await load} clients killed, {increments} increments meanwhile; {Seed.Hint}");

        kv.AwaitClients(1);
        Eventually.Holds(() => kv.OpenFiles <= files, () => $"{kv.OpenFiles} open files, {files} before");
        Eventually.Holds(() => kv.ResidentBytes - bytes <= 64L << 20,
            () => $"{(kv.ResidentBytes - bytes) >> 20} MB more than before");
        Assert.DoesNotContain("xception", kv.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void Known_P21_a_million_GETs_sent_before_the_first_reply_is_read_are_all_answered()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Command("SET"u8.ToArray(), "k"u8.ToArray(), new byte[100]);
        byte[] get = RespText.Encode("GET k");
        var wire = new byte[get.Length * 10_000];
        for (int i = 0; i < 10_000; i++) get.CopyTo(wire, i * get.Length);
        for (int i = 0; i < 100; i++) client.Send(wire);
        client.Send("ECHO end");
        client.Skip(1_000_000L * (6 + 100 + 2));
        Assert.Equal("\"end\"", client.Read().ToString());
    }

    [Fact]
    public void Known_P21_replies_nobody_reads_are_bounded_and_all_there_when_read()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--client-output-pause", "16mb");
        using var other = kv.Connect();
        var value = new byte[1 << 20];
        other.Command("SET"u8.ToArray(), "big"u8.ToArray(), value);
        long before = kv.ResidentBytes;
        using var slow = kv.Connect();
        byte[] gets = RespText.Bytes(string.Concat(Enumerable.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n", 500)));
        slow.Send(gets);
        for (int i = 0; i < 1000; i++) other.Ok("PING");
        // 16 MB of output, what the kernel holds, and what one turn may add.
        Assert.InRange(kv.ResidentBytes - before, long.MinValue, 128L << 20);
        for (int i = 0; i < 500; i++) Assert.Equal(value.Length, slow.Read().Text!.Length);
        Assert.Equal("+PONG", slow.Command("PING").ToString());
    }

    [Fact]
    public void A_reader_that_is_too_slow_is_closed_where_the_limit_says_so()
    {
        using var kv = KvInstance.Start("--client-output-buffer-limit", "pubsub 1mb 0 0");
        using RespClient subscriber = kv.Connect(), publisher = kv.Connect();
        var session = kv.SessionOf(subscriber);
        subscriber.Ok("SUBSCRIBE ch");
        byte[] message = RespText.Encode(["PUBLISH"u8.ToArray(), "ch"u8.ToArray(), new byte[100_000]]);
        // Ends: what the kernel holds of a socket is bounded, so some thousand messages fill it and the limit.
        int left = 5000;
        do
        {
            KvInstance.AwaitTaken(session);
            publisher.Send(message);
        }
        while (publisher.Read().Integer == 1 && --left > 0);

        Assert.True(left > 0, "500 MB were taken for a subscriber that reads nothing");
        Assert.Equal("+PONG", publisher.Command("PING").ToString());
    }

    [Fact]
    public void A_huge_value_goes_in_and_out_while_others_are_served()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        // 512 MB with KV_MINUTES; a part of it in every run.
        int size = TimeBudget.Scale > 1 ? 512 << 20 : 96 << 20;
        var value = new byte[size];
        Seed.NewRandom().NextBytes(value.AsSpan(0, 1 << 20));
        using RespClient client = kv.Connect(timeoutMs: 120_000), other = kv.Connect();
        client.Send(RespText.Bytes($"*3\r\n$3\r\nSET\r\n$4\r\nhuge\r\n${size}\r\n"));
        for (int part = size / 16, at = 0; at < size; at += part)
        {
            client.Send(value.AsSpan(at, part));
            other.Ok("SET small value");
        }

        client.Send("\r\n"u8);
        Assert.Equal("+OK", client.Read().ToString());
        Assert.Equal(size, client.Ok("STRLEN huge").Integer);
        client.Send("GET huge");
        Eventually.Holds(() => client.HasInput, () => "no reply has begun");
        for (int i = 0; i < 16; i++) other.Ok("SET small value");
        Assert.True(client.Read().Text.AsSpan().SequenceEqual(value));
        Assert.Equal(":1", client.Command("DEL huge").ToString());
    }

    [Fact]
    public async Task SIGTERM_under_load_ends_the_program_with_exit_code_0()
    {
        Requires.Linux("signals");
        using var kv = KvProcess.Start();
        var load = Task.Run(() => Batter(kv, TimeBudget.OfSeconds(1), stream: 300, out _));
        using (var client = kv.Connect()) client.Ok("SET k v");
        kv.Signal("TERM");
        Assert.Equal(0, kv.WaitForExit());
        await load;
    }

    /// <summary>Four threads of clients that send pipelines and go: in order, by reset, or in the middle of a
    /// command.</summary>
    private static void Batter(KvProcess kv, TimeBudget time, int stream, out int killed)
    {
        int count = 0;
        var threads = Enumerable.Range(0, 4).Select(i => new Thread(() =>
        {
            var random = Seed.NewRandom(stream + i);
            byte[] pipeline = RespText.Bytes(string.Concat(Enumerable.Range(0, 50)
                .Select(k =>
                    $"SET load:{k} {new string('v', k * 7)}\r\nGET load:{k}\r\n"
                    + $"SUBSCRIBE c{k % 3}\r\nUNSUBSCRIBE\r\n")));
            while (time.Continues)
            {
                try
                {
                    using var client = new RespClient(kv.EndPoint, 2000);
                    for (int rounds = random.Next(5); rounds >= 0; rounds--)
                    {
                        client.Send(pipeline.AsSpan(0, random.Next(pipeline.Length)));
                        if (random.Next(3) == 0) client.TryRead();
                    }

                    if (random.Next(2) == 0) client.Reset();
                    Interlocked.Increment(ref count);
                }
                catch (Exception e) when (e is SocketException or IOException or TimeoutException or FormatException)
                {
                    // A client cut in the middle may send half a command next: what comes back is its own affair.
                }
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        killed = count;
    }
}
