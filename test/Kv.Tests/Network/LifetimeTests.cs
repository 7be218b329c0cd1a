using System.Net;
using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Network;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Servers begin and end without a trace.</summary>
[Collection(Alone.Name)]
public sealed class LifetimeTests
{
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_hundred_starts_and_stops_leave_no_thread_and_no_descriptor(string transport)
    {
        RunOnce(transport);
        int before = Descriptors(), threads = Threads();     // of servers that other tests share
        for (int i = 0; i < 100; i++) RunOnce(transport);
        Eventually.Holds(() => Descriptors() <= before, () => $"{Descriptors()} descriptors, {before} before");
        Eventually.Holds(() => Threads() <= threads, () => $"{Threads()} threads are named kv-*, {threads} before");
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Stopping_answers_what_was_received_and_closes(string transport)
    {
        await using var server = await KvServer.StartAsync(KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport]));
        using var client = new RespClient(server.Endpoints[0]);
        client.Ok("PING");
        client.Send([.. Enumerable.Repeat(RespText.Encode("INCR n"), 1_000).SelectMany(bytes => bytes)]);
        await server.StopAsync();
        for (int i = 1; i <= 1_000; i++) Assert.Equal(i, client.Read().Integer);
        Assert.True(client.IsClosedByServer());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task An_address_in_use_is_said_and_leaves_nothing_behind(string transport)
    {
        using var taken = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        taken.Listen();
        int port = ((IPEndPoint)taken.LocalEndPoint!).Port;
        var options = KvInstance.OptionsOf(["--port", $"{port}", "--bind", "127.0.0.1", "--transport", transport]);
        var exception = await Assert.ThrowsAsync<ListenException>(() => KvServer.StartAsync(options));
        Assert.True(exception.AddressInUse);
        Assert.Equal($"Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already in use", exception.Message);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Clients_past_maxclients_are_told_so(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--maxclients", "2");
        using var first = server.Connect();
        using var second = server.Connect();
        first.Ok("PING");
        second.Ok("PING");
        using var third = server.Connect();
        Assert.Equal("ERR max number of clients reached", third.Read().String);
        Assert.True(third.IsClosedByServer());
        second.Dispose();
        Eventually.Holds(() => server.Server.Clients == 1, () => "the second client is not gone");
        using var fourth = server.Connect();
        fourth.Ok("PING");
    }

    private static void RunOnce(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var client = server.Connect();
        client.Ok("SET k v");
    }

    private static int Threads() => ThreadNames().Count(name => name.StartsWith("kv-", StringComparison.Ordinal));

    private static int Descriptors() => OperatingSystem.IsLinux() ? Directory.GetFileSystemEntries("/proc/self/fd").Length : 0;

    private static IEnumerable<string> ThreadNames()
    {
        if (!OperatingSystem.IsLinux()) yield break;
        foreach (string task in Directory.GetDirectories("/proc/self/task"))
        {
            string name;
            try
            {
                name = File.ReadAllText(Path.Combine(task, "comm")).Trim();
            }
            catch (IOException)
            {
                continue;       // ended meanwhile
            }

            yield return name;
        }
    }
}
