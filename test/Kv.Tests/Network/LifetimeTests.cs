using System.Net;
using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Network;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Servers begin and end without a trace.</summary>
public sealed class LifetimeTests
{
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_M14_a_hundred_starts_and_stops_leave_no_thread_and_no_descriptor(string transport)
    {
        if (OwnProcess.Ran()) return;
        RunOnce(transport);
        int before = Descriptors();
        var others = Threads().Keys.ToHashSet();
        for (int i = 0; i < 100; i++) RunOnce(transport);
        Eventually.Holds(() => Descriptors() <= before, () => $"{Descriptors()} descriptors, {before} before");
        Eventually.Holds(() => !Left().Any(), () => string.Join(' ', Left()));

        IEnumerable<string> Left() =>
            Threads().Where(thread => !others.Contains(thread.Key)).Select(thread => thread.Value);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_server_that_was_disposed_accounts_for_no_native_byte(string transport)
    {
        var server = KvInstance.Start("--transport", transport);
        using (var client = server.Connect())
        {
            for (int i = 1; i <= 1000; i++) client.Ok($"SET key:{i} {new string('v', i)}");
            client.Ok("SETRANGE big 1000000 x");
            client.Ok("SUBSCRIBE channel");
        }

        var store = server.Server.Store;
        Assert.NotEqual(0, store.UsedBytes);
        server.Dispose();
        Assert.Equal(0, store.UsedBytes);
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Several_servers_in_one_process_know_nothing_of_each_other(string transport)
    {
        var servers = new List<KvInstance>();
        for (int i = 0; i < 5; i++) servers.Add(KvInstance.Start("--transport", transport, "--worker-threads", "1"));
        Assert.Equal(5, servers.Select(server => server.Port).Distinct().Count());
        foreach (var server in servers)
        {
            using var client = server.Connect();
            Assert.Equal("+OK", client.Command($"SET port {server.Port} NX").ToString());
        }

        servers[0].Dispose();
        foreach (var server in servers.Skip(1))
        {
            using var client = server.Connect();
            Assert.Equal(server.Port, long.Parse(client.Ok("GET port").String));
            Eventually.Holds(() => client.Info("connected_clients") == "1",
                () => "clients of another server are counted");
            await server.Server.DisposeAsync();
            await server.Server.DisposeAsync();     // a second time does nothing
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Stopping_answers_what_was_received_and_closes(string transport)
    {
        await using var server = await KvServer.StartAsync(
            KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport]));
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
        Assert.Equal($"Could not create server TCP listening socket 127.0.0.1:{port}: bind: Address already in use",
            exception.Message);
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

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public async Task Two_servers_cannot_listen_on_one_port(string transport)
    {
        using var first = KvInstance.Start("--transport", transport);
        var options = KvInstance.OptionsOf(
            ["--port", $"{first.Port}", "--bind", "127.0.0.1", "--transport", transport]);
        var exception = await Assert.ThrowsAsync<ListenException>(() => KvServer.StartAsync(options));
        Assert.True(exception.AddressInUse);
        using var client = first.Connect();
        client.Ok("PING");
    }

    private static void RunOnce(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var client = server.Connect();
        client.Ok("SET k v");
    }

    /// <summary>Sockets, epolls, bells and pipes; not files, since the runtime opens assemblies and libraries whenever
    /// it first needs them.</summary>
    private static int Descriptors() => OperatingSystem.IsLinux()
        ? Directory.GetFileSystemEntries("/proc/self/fd")
            .Count(path => new FileInfo(path).LinkTarget?.StartsWith('/') == false)
        : 0;

    /// <summary>The process' threads that bear a name of ours, by their ids.</summary>
    private static Dictionary<string, string> Threads()
    {
        var threads = new Dictionary<string, string>();
        if (!OperatingSystem.IsLinux()) return threads;
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

            if (name.StartsWith("kv-", StringComparison.Ordinal)) threads.Add(task, name);
        }

        return threads;
    }
}
