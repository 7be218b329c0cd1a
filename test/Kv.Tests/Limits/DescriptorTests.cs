using System.Net.Sockets;
using Kv.Server.Network;
using Kv.Server.Sessions;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>Clients get no descriptor that the process itself needs, whatever its limit is.</summary>
public sealed class DescriptorTests(ITestOutputHelper output)
{
    public static TheoryData<string, int> Limits()
    {
        var data = new TheoryData<string, int>();
        foreach (string transport in (string[])["epoll", "pipelines"])
            foreach (int limit in (int[])[160, 161, 200, 256, 512, 1024, 2048, 4096]) data.Add(transport, limit);
        return data;
    }

    // Each for 60 s with KV_MINUTES=60.
    [Theory, MemberData(nameof(Limits))]
    public void Known_P03_strangers_who_open_all_they_can_do_not_end_the_process(string transport, int limit)
    {
        Requires.Linux("ulimit");
        using var kv = LimitedKv.Start($"ulimit -n {limit}", "--transport", transport, "--worker-threads", "2");
        using var steady = kv.Connect();
        int most = 0;
        var strangers = new List<Socket>();
        for (var time = TimeBudget.OfSeconds(1); time.Continues;)
        {
            for (int i = 0; i < limit + 50; i++) strangers.Add(Open(kv, i));
            // New threads and all that INFO reads are wanted now.
            foreach (string line in (string[])["INFO everything", "CLIENT LIST", "CONFIG GET *", "SORT missing ALPHA",
                "DEL missing"]) steady.Ok(line);
            Assert.False(kv.Process.HasExited, kv.Log);
            // Those who have not been accepted yet are in the kernel's queue.
            Eventually.Holds(() => (most = Math.Max(most, kv.OpenFiles)) >= limit / 3, () => $"{most} files are open");
            strangers.ForEach(stranger => stranger.Dispose());
            strangers.Clear();
        }

        output.WriteLine($"{most} of {limit} open at most, maxclients {steady.Info("maxclients")}");
        // As many stay free as DescriptorLimit keeps: half of 48 and of 4 for each worker.
        Assert.InRange(most, limit / 3, limit - 20);
        Eventually.Holds(() => steady.Info("connected_clients") == "1",
            () => steady.Info("connected_clients") + " clients are left");
        Eventually.Holds(() => steady.Info("kv_lingering_connections") == "0",
            () => steady.Info("kv_lingering_connections") + " linger");
        // Strangers that the kernel kept may still be accepted before this one, and be counted until their end is read.
        Eventually.Holds(() =>
        {
            using var late = kv.Connect();
            return late.Command("PING").String == "PONG";
        }, () => "nobody else is served");
        Assert.DoesNotContain("Cannot accept", kv.Log, StringComparison.Ordinal);
        Assert.DoesNotContain("xception", kv.Log, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(48)]
    [InlineData(64)]
    [InlineData(95)]
    [InlineData(96)]
    [InlineData(110)]
    public void Known_P03_with_too_few_files_the_start_says_how_many_it_needs(int limit)
    {
        Requires.Linux("ulimit");
        var run = ChildProcess.Run("/bin/bash", ["-c", $"ulimit -n {limit}; exec \"{KvProcess.Program}\" --port 0"]);
        Assert.Equal(1, run.ExitCode);
        Assert.Matches(
            @"^The process may open \d+ files, and needs at least \d+: "
            + @"raise the limit \(ulimit -n, LimitNOFILE of systemd\)\n$", run.Errors);
    }

    [Fact]
    public void A_lowered_maxclients_is_told_at_the_start_and_by_CONFIG_SET()
    {
        Requires.Linux("ulimit");
        using var kv = LimitedKv.Start("ulimit -n 512");
        using var client = kv.Connect();
        string most = client.Info("maxclients");
        Assert.InRange(int.Parse(most), 200, 420);
        Eventually.Holds(() => kv.Log.Contains(
            $"maxclients is {most}, not 10000: of 512 files that the process may open", StringComparison.Ordinal),
            () => kv.Log);
        client.Ok("CONFIG SET maxclients 20000");
        Eventually.Holds(() => kv.Log.Contains($"maxclients is {most}, not 20000", StringComparison.Ordinal),
            () => kv.Log);
        client.Ok("CONFIG SET maxclients 100");
        Assert.Equal("100", client.Info("maxclients"));
    }

    [Fact]
    public void The_soft_limit_of_open_files_is_raised_to_the_hard_one()
    {
        Requires.Linux("ulimit");
        using var kv = LimitedKv.Start("ulimit -S -n 160; ulimit -H -n 2000");
        using var client = kv.Connect();
        Assert.InRange(int.Parse(client.Info("maxclients")), 1500, 1999);
    }

    [Fact]
    public void Places_and_their_reserves_never_add_up_to_more_than_the_limit()
    {
        foreach (int workers in (int[])[1, 2, 64])
        {
            for (int limit = 0; limit < 5000; limit++)
            {
                var descriptors = new DescriptorLimit(limit, open: 80, workers, listeners: 2);
                int clients = descriptors.ClientsMax, margin = 48 + (4 * workers) + 2;
                Assert.InRange(clients + (2 * Admission.ReservedPlaces(clients)), 0, descriptors.SocketsMax);
                Assert.InRange(descriptors.SocketsMax, 0, Math.Max(0, limit - 80 - margin));
                Assert.InRange(descriptors.NumberMax, 0, Math.Max(0, limit - (margin / 2)));
                if (limit > 80 + margin + 400) Assert.Equal(limit - 80 - margin - 64, clients);
            }
        }
    }

    // A socket that was told goodbye stays open until its client closes it, too, or a second has passed.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Clients_that_were_sent_off_count_until_their_socket_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxclients", "10");
        var connections = kv.Server.Connections;
        Eventually.Holds(() =>
        {
            using var leaving = kv.Connect();
            leaving.Ok("QUIT");
            Assert.True(leaving.IsClosedByServer());
            return connections is { Count: 0, Lingering: 1 };      // but after a second
        }, () => $"{connections.Count} clients, {connections.Lingering} sent off");
        Eventually.Holds(() => connections.Lingering == 0, () => $"{connections.Lingering} sent off");

        for (int i = 0; i < 12; i++) connections.BeginLinger();
        using (var refused = kv.Connect()) Assert.Equal("ERR max number of clients reached", refused.Read().String);
        for (int i = 0; i < 3; i++) connections.EndLinger();
        using var client = kv.Connect();
        client.Ok("SET k v");
        for (int i = 0; i < 9; i++) connections.EndLinger();
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_place_kept_for_administrators_is_free_again_as_soon_as_its_client_was_sent_off(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxclients", "10");
        var clients = Enumerable.Range(0, 10).Select(_ => kv.Connect()).ToList();
        clients.ForEach(client => client.Ok("PING"));
        // Ends: with the second one, unless the first one is still lingering then: the places count at most twice.
        using var turnedAway = kv.Connect();
        Assert.Equal("ERR max number of clients reached", turnedAway.Command("GET k").String);
        Assert.True(turnedAway.IsClosedByServer());
        using var administrator = kv.Connect();
        Assert.Equal(10, long.Parse(administrator.Info("maxclients")));
        clients.ForEach(client => client.Dispose());
    }

    [Fact]
    public void The_spare_descriptor_is_lent_once_until_it_is_renewed()
    {
        Requires.Linux("/dev/null");
        using var spare = new SpareDescriptor();
        Assert.True(spare.TryLend());
        Assert.False(spare.TryLend());
        spare.Renew();
        Assert.True(spare.TryLend());
    }

    /// <summary>One who stays and says nothing, says something, or is sent off and stays.</summary>
    private static Socket Open(TestServer server, int i)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Connect(server.EndPoint);
            if (i % 3 == 1) socket.Send("PING\r\n"u8);
            if (i % 3 == 2) socket.Send(i % 2 == 0 ? "QUIT\r\n"u8 : "*1\r\n:\r\n"u8);
        }
        catch (SocketException)
        {
            // Refused and closed already: what a full server may do.
        }

        return socket;
    }
}
