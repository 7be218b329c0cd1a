using System.Net.Sockets;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Commands on keys that exist allocate nothing, from the socket and back.</summary>
public sealed class AllocationTests
{
    private const int CommandsABatch = 3_000;
    private const int Batches = 200;

    // Compiling in tiers, timers and the like allocate a little now and then whatever we do, and the portable transport
    // some objects a batch. One object for each command would be at least 24 bytes.
    [Theory]
    [InlineData("epoll", 0.01)]
    [InlineData("pipelines", 0.1)]
    public void GET_SET_and_INCR_allocate_nothing_in_the_long_run(string transport, double bytesACommandMax)
    {
        if (OwnProcess.Ran()) return;
        if (transport == "epoll" && !OperatingSystem.IsLinux()) Assert.Skip("epoll is Linux");
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var client = server.Connect();
        byte[] round = [.. RespText.Encode("SET key value-of-k"), .. RespText.Encode("GET key"),
            .. RespText.Encode("INCR n")];
        byte[] batch = [.. Enumerable.Repeat(round, CommandsABatch / 3).SelectMany(bytes => bytes)];
        client.Ok("SET n 1000000000");
        byte[] replies = new byte[64 * 1024];
        const int ReplyBytes = CommandsABatch / 3 * (5 + 16 + 13);

        for (int i = 0; i < Batches; i++) Run(client.Socket, batch, replies, ReplyBytes);
        double least = double.MaxValue;
        for (int attempt = 0; attempt < 5 && least > bytesACommandMax; attempt++)
        {
            long before = GC.GetTotalAllocatedBytes(precise: true);
            for (int i = 0; i < Batches; i++) Run(client.Socket, batch, replies, ReplyBytes);
            least = Math.Min(least, (GC.GetTotalAllocatedBytes(precise: true) - before) / (double)(
                Batches * CommandsABatch));
        }

        Assert.True(least <= bytesACommandMax, $"{least} bytes a command");
    }

    // 64 KB each, from the first byte until there is a thread for it: 50 MB when 800 strangers send something at once.
    [Fact]
    public void Clients_that_wait_for_their_turn_on_the_portable_transport_have_no_buffers()
    {
        if (OwnProcess.Ran()) return;
        const int Clients = 300, BytesAClientMax = 32 * 1024;
        using var server = KvInstance.Start("--transport", "pipelines", "--worker-threads", "1");
        var clients = Enumerable.Range(0, Clients).Select(_ => server.Connect()).ToList();
        using var busy = server.Connect();
        clients.ForEach(client => client.Ok("PING"));
        busy.Ok("PING");

        using ManualResetEventSlim isBusy = new(), mayGoOn = new();
        int passes = 0;
        Fault.AtEveryPoint = point =>
        {
            if (point != "reply.send" || Interlocked.Increment(ref passes) != 1) return;
            isBusy.Set();
            mayGoOn.Wait();
        };
        try
        {
            busy.Send(RespText.Encode("PING"));
            isBusy.Wait(TestContext.Current.CancellationToken);
            long before = GC.GetTotalAllocatedBytes(precise: true);
            clients.ForEach(client => client.Send(RespText.Encode("PING")));
            Eventually.Holds(() => ThreadPool.PendingWorkItemCount == 0, () => "the pool has not seen them");
            mayGoOn.Set();
            clients.ForEach(client => Assert.Equal("PONG", client.Read().String));
            Assert.InRange(GC.GetTotalAllocatedBytes(precise: true) - before, 0, Clients * BytesAClientMax);
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayGoOn.Set();
        }

        clients.ForEach(client => client.Dispose());
    }

    private static void Run(Socket socket, byte[] batch, byte[] replies, int replyBytes)
    {
        socket.Send(batch);
        for (int got = 0; got < replyBytes;)
        {
            int count = socket.Receive(replies);
            if (count == 0) throw new EndOfStreamException();      // an assertion would allocate
            got += count;
        }
    }
}
