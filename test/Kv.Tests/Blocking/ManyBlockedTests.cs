using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Blocking;

/// <summary>What very many clients that wait cost, as sessions inside of the process.</summary>
public sealed class ManyBlockedTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Very_many_sessions_wait_without_a_thread_and_each_is_served_once()
    {
        if (OwnProcess.Ran()) return;
        // 100,000 with KV_MINUTES; a part of them in every run.
        int sessions = TimeBudget.Scale > 1 ? 100_000 : 20_000;
        using var server = KvInstance.Start("--maxclients", "200000");
        using var other = server.Connect(timeoutMs: 120_000);
        other.Ok("RPUSH warm up");
        var streams = new Stream[sessions];
        await Wait(server, streams, 0, 100);
        int threads = System.Diagnostics.Process.GetCurrentProcess().Threads.Count;
        long before = GC.GetTotalMemory(forceFullCollection: true) + server.Server.Store.UsedBytes;
        await Wait(server, streams, 100, sessions);
        long bytes = (GC.GetTotalMemory(forceFullCollection: true) + server.Server.Store.UsedBytes - before) / (
            sessions - 100);
        output.WriteLine($"{bytes} bytes a session");
        Assert.InRange(bytes, 0, 8_000);
        Assert.InRange(System.Diagnostics.Process.GetCurrentProcess().Threads.Count, 0, threads + 16);

        byte[] reply = new byte[64];
        for (int from = 0; from < sessions; from += 1000)
        {
            for (int i = from; i < from + 1000; i++) other.Send($"RPUSH q{i} {i}");
            for (int i = from; i < from + 1000; i++)
            {
                Assert.Equal(":1", other.Read().ToString());
                string expected = $"*2\r\n${$"q{i}".Length}\r\nq{i}\r\n${$"{i}".Length}\r\n{i}\r\n";
                await streams[i].ReadExactlyAsync(reply.AsMemory(0, expected.Length));
                Assert.Equal(expected, Encoding.ASCII.GetString(reply, 0, expected.Length));
            }
        }

        Assert.Equal(0, server.Server.Blocked.Count);
        foreach (var stream in streams) stream.Dispose();
    }

    private static async Task Wait(KvInstance server, Stream[] streams, int from, int to)
    {
        for (int i = from; i < to; i++)
        {
            streams[i] = server.Server.Connect();
            await streams[i].WriteAsync(Encoding.ASCII.GetBytes($"BLPOP q{i} {(i % 2 == 0 ? "0" : "100000")}\r\n"));
        }

        server.AwaitBlocked(to, 120_000);
    }
}
