using System.Net;
using System.Net.Sockets;
using Kv.Server;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>While the start loads, clients are told so.</summary>
[Collection(Alone.Name)]
public sealed class LoadingTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-loading-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public async Task Where_there_is_nothing_to_load_the_first_client_is_served()
    {
        int port = ServerProgram.FreePort();
        bool? listens = null;
        using var log = new CapturedLog
        {
            AtLine = line =>
            {
                if (line.Contains("nothing to load", StringComparison.Ordinal)) listens = Listens(port);
            },
        };
        var options = KvInstance.OptionsOf(["--port", $"{port}", "--bind", "127.0.0.1", "--dir", _directory]);
        options.LoadsAtStart = true;
        await using var server = await KvServer.StartAsync(options, log);
        Assert.False(listens);      // before it is known, nobody can ask
        Assert.True(Listens(port));
    }

    private static bool Listens(int port)
    {
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Connect(IPAddress.Loopback, port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public async Task Clients_are_answered_as_by_redis_while_it_loads(string transport)
    {
        string[] options = ["--appendonly", "yes", "--transport", transport];
        using (var kv = KvInstance.StartOnDisk(_directory, options))
        using (var client = kv.Connect())
        {
            client.Ok("SET k v");
            client.Ok("WAITAOF 1 0 0");
        }

        using var mayLoad = new SemaphoreSlim(0);
        using var loads = new SemaphoreSlim(0);
        Fault.AtEveryPoint = name =>
        {
            if (name != "aof.load") return;
            loads.Release();
            mayLoad.Wait();
        };
        int port = ServerProgram.FreePort();
        var parsed = KvInstance.OptionsOf(
            ["--port", $"{port}", "--bind", "127.0.0.1", "--dir", _directory, .. options]);
        parsed.LoadsAtStart = true;
        var starting = KvServer.StartAsync(parsed);
        try
        {
            await loads.WaitAsync();
            using var client = new RespClient(new IPEndPoint(IPAddress.Loopback, port));
            const string refusal = "LOADING Redis is loading the dataset in memory";
            Assert.Equal(refusal, client.Command("GET k").String);
            Assert.Equal(refusal, client.Command("SET k w").String);
            Assert.Equal(refusal, client.Command("PING").String);
            Assert.Equal("1", client.Info("loading"));
            Assert.NotEqual("0", client.Info("loading_total_bytes"));
            client.Ok("HELLO 3");
            client.Ok("CONFIG GET appendonly");
            Assert.Equal(refusal, client.Command("FLUSHALL").String);
            Fault.AtEveryPoint = null;
            mayLoad.Release(10);
            await using var server = await starting;
            Assert.Equal("0", client.Info("loading"));
            Assert.Equal("v", client.Ok("GET k").String);
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayLoad.Release(100);
        }
    }
}
