using System.Globalization;
using System.Net.Sockets;
using Kv.Server.Configuration;
using Kv.Server.Sessions;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>maxmemory-clients: who is closed for it and who is not, as redis-server does it; and that what clients hold
/// evicts no keys.</summary>
public sealed class ClientMemoryTests
{
    private const int Mb = 1 << 20, TimeoutMs = 60_000;

    public static TheoryData<string> Servers => ["redis-server", "epoll", "pipelines"];

    public static TheoryData<string, string> ServersAndWays => new(
        from server in (string[])["redis-server", "epoll", "pipelines"]
        from way in (string[])["queue", "argument", "output"]
        select (server, way));

    [Theory, MemberData(nameof(ServersAndWays))]
    public void The_largest_client_is_closed_and_the_others_stay(string server, string way)
    {
        using ServerProgram program = Start(server);
        using RespClient watcher = program.Connect(), small = program.Connect(),
            large = program.Connect();
        watcher.Ok($"SET value {new string('v', Mb)}");
        Queue(small, Mb);
        Hold(large, way, 16 * Mb);
        if (way == "output") Eventually.Holds(() => Unsent(watcher) > 8 * Mb, () => "replies are sent", TimeoutMs);
        Assert.Equal(0, Evicted(watcher));
        watcher.Ok($"CONFIG SET maxmemory-clients {8 * Mb}");
        // Counted first: who reads before may have less than the limit by the time that the server looks.
        Eventually.Holds(() => Evicted(watcher) == 1, () => "nobody was closed", TimeoutMs);
        Assert.True(IsClosed(large));
        Assert.Equal("+PONG", watcher.Command("PING").ToString());
        Assert.Equal("+QUEUED", small.Command("PING").ToString());
        Assert.Equal(1, Evicted(watcher));
        watcher.Ok("CONFIG RESETSTAT");
        Assert.Equal(0, Evicted(watcher));
    }

    [Theory, MemberData(nameof(Servers))]
    public void Who_grows_later_is_closed_as_well_the_largest_first_until_all_fit(string server)
    {
        using ServerProgram program = Start(server, "--maxmemory-clients", "8mb");
        using RespClient watcher = program.Connect(), first = program.Connect(),
            second = program.Connect(), third = program.Connect();
        Queue(first, Mb);
        Queue(second, 2 * Mb);
        Assert.Equal(0, Evicted(watcher));
        Hold(third, "queue", 12 * Mb);
        Assert.True(IsClosed(third));
        Assert.Equal("+QUEUED", first.Command("PING").ToString());
        Assert.Equal("+QUEUED", second.Command("PING").ToString());
        Assert.Equal(1, Evicted(watcher));
    }

    [Theory, MemberData(nameof(Servers))]
    public void Who_has_said_no_evict_stays_and_counts(string server)
    {
        using ServerProgram program = Start(server, "--maxmemory-clients", "8mb");
        using RespClient watcher = program.Connect(), large = program.Connect(),
            other = program.Connect();
        large.Ok("CLIENT NO-EVICT ON");
        watcher.Ok("CLIENT NO-EVICT ON");
        Queue(large, 12 * Mb);
        Assert.Equal("+QUEUED", large.Command("PING").ToString());
        Assert.True(IsClosed(other));
        Assert.Equal("+QUEUED", large.Command("PING").ToString());
        Assert.Equal(1, Evicted(watcher));
        large.Ok("DISCARD");
        large.Ok("CLIENT NO-EVICT OFF");
        Hold(large, "queue", 12 * Mb);
        Assert.True(IsClosed(large));
    }

    [Theory, MemberData(nameof(Servers))]
    public void A_share_is_of_maxmemory_and_none_without_that(string server)
    {
        using ServerProgram program = Start(server, "--maxmemory-clients", "10%");
        using RespClient watcher = program.Connect(), large = program.Connect();
        Assert.Equal("10%", watcher.Command("CONFIG GET maxmemory-clients").Items![1].String);
        Queue(large, 16 * Mb);
        Assert.Equal("+QUEUED", large.Command("PING").ToString());
        watcher.Ok($"CONFIG SET maxmemory {400 * Mb}");
        Assert.Equal("+QUEUED", large.Command("PING").ToString());
        watcher.Ok($"CONFIG SET maxmemory {100 * Mb}");
        Assert.True(IsClosed(large));
        Assert.Equal(1, Evicted(watcher));
    }

    [Theory]
    [InlineData(0, 0, 0)]
    [InlineData(0, 1000, 0)]
    [InlineData(-10, 0, 0)]
    [InlineData(1, 0, 131072)]
    [InlineData(131072, 0, 131072)]
    [InlineData(131073, 0, 131073)]
    [InlineData(-1, 1000, 131072)]
    [InlineData(-10, 1_000_000_000, 100_000_000)]
    [InlineData(-100, long.MaxValue, long.MaxValue)]
    [InlineData(long.MaxValue, 1, long.MaxValue)]
    public void The_limit_is_bytes_or_a_share_and_leaves_room_to_speak(long option, long maxMemory, long most) =>
        Assert.Equal(most,
            ClientMemory.LimitOf(new ServerOptions { MaxMemoryClients = option, MaxMemory = maxMemory }));

    // A tenth of maxmemory is theirs; before, each byte that they held pushed one of data out.
    [Theory]
    [InlineData("epoll", "0")]
    [InlineData("pipelines", "0")]
    [InlineData("epoll", "6mb")]
    public void What_clients_hold_evicts_no_key(string transport, string most)
    {
        using var kv = KvProcess.Start("--transport", transport, "--maxmemory", "64mb", "--maxmemory-policy",
            "allkeys-lru", "--maxmemory-clients", most);
        using RespClient client = kv.Connect();
        string value = new('v', 1000);
        for (int key = 0; Number(client, "evicted_keys") == 0; key += 1000)
        {
            var batch = new MemoryStream();
            for (int i = 0; i < 1000; i++) batch.Write(RespText.Encode($"SET key:{key + i} {value}"));
            client.Send(batch.ToArray());
            for (int i = 0; i < 1000; i++) Assert.Equal("+OK", client.Read().ToString());
        }

        long evicted = 0;
        Eventually.Holds(() => evicted == (evicted = Number(client, "evicted_keys"))
            && Number(client, "used_memory") < 64 * Mb, () => "eviction does not end", TimeoutMs);
        long keys = client.Command("DBSIZE").Integer;
        using RespClient other = kv.Connect();
        Queue(other, 5 * Mb);
        Eventually.Holds(() => Number(client, "mem_not_counted_for_evict") > 4 * Mb, () => "it is not counted",
            TimeoutMs);
        // A write makes the store look at its limit. It may take a segment of 2 MB for its session, no more: 5 MB would
        // be 5,000 keys.
        client.Ok("SET key:0 v");
        Assert.InRange(client.Command("DBSIZE").Integer, keys - 3000, keys + 1);
        Assert.InRange(Number(client, "evicted_keys"), evicted, evicted + 3000);
        Assert.Equal("+QUEUED", other.Command("PING").ToString());
    }

    [Fact]
    public void Where_nothing_may_be_evicted_what_clients_hold_counts()
    {
        using var kv = KvProcess.Start("--maxmemory", "32mb");
        using RespClient client = kv.Connect(), other = kv.Connect();
        Queue(other, 3 * Mb);
        Assert.Equal(0, Number(client, "mem_not_counted_for_evict"));
    }

    private static ServerProgram Start(string server, params string[] options) => server == "redis-server"
        ? RedisServer.Start([.. options, "--proto-max-bulk-len", "64mb", "--client-query-buffer-limit", "64mb"])
        : KvProcess.Start(["--transport", server, .. options, "--client-query-buffer-limit", "64mb"]);

    private static void Hold(RespClient client, string way, int bytes)
    {
        switch (way)
        {
            case "queue":
                try
                {
                    Queue(client, bytes);
                }
                catch (Exception closed) when (closed is IOException or SocketException)
                {
                    // That is what is asked for.
                }

                break;
            case "argument":
                client.Send(System.Text.Encoding.ASCII.GetBytes(
                    $"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${2 * bytes}\r\n{new string('v', bytes)}"));
                break;
            default:
                // What the sockets hold themselves is no more than some MB.
                for (int i = 0; i < 3 * bytes / Mb; i++) client.Send("GET value");
                break;
        }
    }

    /// <summary>Queues so many bytes in MULTI, or as many as the client is let.</summary>
    private static void Queue(RespClient client, int bytes)
    {
        string value = new('v', 4000);
        client.Command("MULTI");
        var batch = new MemoryStream();
        int count = bytes / 4000;
        for (int i = 0; i < count; i++) batch.Write(RespText.Encode($"SET key:{i} {value}"));
        client.Send(batch.ToArray());
        for (int i = 0; i < count; i++) Assert.Equal("+QUEUED", client.Read().ToString());
    }

    /// <summary>Reads until the end, which must come.</summary>
    private static bool IsClosed(RespClient client)
    {
        try
        {
            while (client.TryRead() is not null)
            {
            }
        }
        catch (Exception closed) when (closed is IOException or SocketException or EndOfStreamException)
        {
        }

        return client.IsClosedByServer();
    }

    /// <summary>Bytes that wait for the client for which most do.</summary>
    private static long Unsent(RespClient client) => client.Ok("CLIENT LIST").String.Split(' ')
        .Where(field => field.StartsWith("omem=", StringComparison.Ordinal))
        .Max(field => long.Parse(field[5..], CultureInfo.InvariantCulture));

    private static long Evicted(RespClient client) => Number(client, "evicted_clients");

    private static long Number(RespClient client, string field) =>
        long.Parse(client.Info(field), CultureInfo.InvariantCulture);
}
