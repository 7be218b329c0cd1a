using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>With <c>appendfsync always</c> the reply to a write waits for the disk, and nobody else does.</summary>
[Collection(Alone.Name)]
public sealed class HeldReplyTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-held-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void The_reply_waits_and_the_worker_goes_on_with_others(string transport)
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "always",
            "--transport", transport, "--worker-threads", "1");
        using RespClient writer = kv.Connect(), pipelined = kv.Connect(), reader = kv.Connect(), idle = kv.Connect();
        writer.Ok("SET k 0");
        reader.Ok("PING");
        using var mayPass = new SemaphoreSlim(0);
        using var isThere = new SemaphoreSlim(0);
        Fault.AtEveryPoint = name =>
        {
            if (name != "aof.sync") return;
            isThere.Release();
            mayPass.Wait();
        };
        try
        {
            writer.Send("SET k 1");
            isThere.Wait();
            pipelined.Send([.. RespText.Encode("SET l 1"), .. RespText.Encode("GET l"), .. RespText.Encode("INCR l"),
                .. RespText.Encode("PING")]);
            Assert.Equal("1", reader.Ok("GET k").String);
            Eventually.Holds(() => reader.Ok("GET l").String == "2", () => "the commands do not run");
            Assert.Equal("PONG", idle.Ok("PING").String);
            Assert.False(writer.HasInput || pipelined.HasInput, "a reply has left before the disk has it");
            mayPass.Release();
            Assert.Equal("OK", writer.Read().String);
            isThere.Wait();
            Assert.False(pipelined.HasInput, "the second group is not on the disk");
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayPass.Release(100);
        }

        Assert.Equal(["OK", "1", "2", "PONG"], Enumerable.Range(0, 4).Select(_ => Text(pipelined.Read())));
    }

    // A kill would cost all that was answered since.
    [Theory]
    [InlineData("epoll", "everysec")]
    [InlineData("pipelines", "no")]
    public void While_the_system_takes_nothing_replies_wait_before_long(string transport, string policy)
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", policy,
            "--transport", transport, "--worker-threads", "1");
        using RespClient writer = kv.Connect(), reader = kv.Connect();
        writer.Ok("SET k 0");
        using var mayPass = new ManualResetEventSlim();
        Fault.AtEveryPoint = name =>
        {
            if (name == "aof.write") mayPass.Wait();
        };
        int sent = 0, answered = 0;
        try
        {
            Eventually.Holds(() =>
            {
                writer.Send($"SET k {++sent}");
                // It has run when others see it; then its reply has left, or is held.
                Eventually.Holds(() => reader.Ok("GET k").String == $"{sent}", () => "it does not run");
                for (; writer.HasInput; answered++) writer.Read();
                return sent > answered + 1;
            }, () => $"{answered} of {sent} replies have left");
            Assert.True(answered > 0, "replies wait for no other thread while it keeps up");
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayPass.Set();
        }

        for (; answered < sent; answered++) Assert.Equal("OK", writer.Read().String);
    }

    // What the server keeps of it is memory of clients, which evicts keys from a tenth of maxmemory on.
    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void While_the_file_is_behind_a_long_pipeline_stays_with_the_system(string transport)
    {
        const int writes = 8000, bytes = 1000;
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--feed-buffer-limit", "1mb",
            "--aof-buffer-limit", "1mb", "--auto-aof-rewrite-percentage", "0", "--transport", transport,
            "--worker-threads", "1");
        using RespClient writer = kv.Connect(), watcher = kv.Connect();
        writer.Ok("CLIENT SETNAME writer");
        byte[] command = RespText.Encode($"SET k {new string('v', bytes)}");
        var sender = new Thread(() =>
        {
            for (int i = 0; i < writes; i++) writer.Send(command);
        });
        using var mayPass = new ManualResetEventSlim();
        Fault.AtEveryPoint = name =>
        {
            if (name == "aof.write") mayPass.Wait();
        };
        try
        {
            sender.Start();
            Eventually.Holds(() => kv.Server.Feed.IsFull, () => "the feed does not get behind");
            // Each is a turn of the one worker, which would receive 64 KB in it.
            for (int i = 0; i < 2 * writes * bytes / (64 * 1024); i++)
                Assert.InRange(InputOfWriter(), 0, 256 * 1024);
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayPass.Set();
        }

        for (int i = 0; i < writes; i++) Assert.Equal("OK", writer.Read().String);
        sender.Join();

        long InputOfWriter()
        {
            string line = watcher.Command("CLIENT LIST").String.Split('\n').Single(one => one.Contains("name=writer"));
            return long.Parse(line.Split(' ').Single(one => one.StartsWith("qbuf=", StringComparison.Ordinal))[5..]);
        }
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void One_sync_is_for_all_that_wait(string transport)
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "always",
            "--transport", transport);
        int syncs = 0;
        Fault.AtEveryPoint = name => syncs += name == "aof.sync" ? 1 : 0;
        const int clients = 20, writes = 50;
        try
        {
            var threads = Enumerable.Range(0, clients).Select(number => new Thread(() =>
            {
                using var client = kv.Connect();
                for (int i = 0; i < writes; i++) client.Ok($"SET k{number} {i}");
            })).ToArray();
            foreach (var thread in threads) thread.Start();
            foreach (var thread in threads) thread.Join();
        }
        finally
        {
            Fault.AtEveryPoint = null;
        }

        Assert.InRange(syncs, writes, clients * writes / 2);
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void A_client_that_says_goodbye_gets_its_last_replies(string transport)
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "always",
            "--transport", transport);
        for (int i = 0; i < 20; i++)
        {
            using var client = kv.Connect();
            client.Send([.. RespText.Encode("SET k v"), .. RespText.Encode("QUIT")]);
            Assert.Equal(["OK", "OK"], [client.Read().String, client.Read().String]);
            Assert.True(client.IsClosedByServer());
            using var half = kv.Connect();
            half.Send("SET k v");
            half.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
            Assert.Equal("OK", half.Read().String);
            Assert.True(half.IsClosedByServer());
        }
    }

    private static string Text(Reply reply) => reply.Type == ':' ? $"{reply.Integer}" : reply.String;
}
