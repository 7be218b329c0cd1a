using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Eviction;

/// <summary>Large values that arrive, or are evicted, where memory is short.</summary>
/// <remarks>Alone: points are the process', and other servers in it write snapshots, too.</remarks>
[Collection(Alone.Name)]
public sealed class LargeArrivalTests : IDisposable
{
    private const int Mb = 1 << 20;

    private const long Limit = 32 * Mb;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-large-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_is_larger_than_all_memory_is_refused_and_takes_none(string transport)
    {
        using var kv = Start("--transport", transport);
        using var client = kv.Connect();
        byte[] huge = new byte[3 * Limit];
        client.Ok("SET before 1");
        client.Send(Set("huge", huge));
        client.Send("GET before");
        Assert.StartsWith("OOM", client.Read().String, StringComparison.Ordinal);
        Assert.Equal("1", client.Read().String);
        Assert.InRange(kv.Server.Store.PeakUsedBytes, 0, 8 * Mb);

        client.Ok("MULTI");
        Assert.Equal("QUEUED", client.Ok("SET in 1").String);
        client.Send(Set("huge", huge));
        Assert.StartsWith("OOM", client.Read().String, StringComparison.Ordinal);
        Assert.StartsWith("EXECABORT", client.Command("EXEC").String, StringComparison.Ordinal);
        Assert.Equal(1, client.Ok("DBSIZE").Integer);
        Assert.InRange(kv.Server.Store.PeakUsedBytes, 0, 8 * Mb);
        kv.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_keeps_nothing_may_be_larger(string transport)
    {
        using var kv = Start("--transport", transport);
        using var client = kv.Connect();
        byte[] huge = new byte[2 * Limit];
        Random.Shared.NextBytes(huge);
        client.Send(RespText.Encode([[.. "ECHO"u8], huge]));
        Assert.Equal(huge, client.Read().Text);
        client.Send(RespText.Encode([[.. "PUBLISH"u8], [.. "channel"u8], huge]));
        Assert.Equal(0, client.Read().Integer);
    }

    // Two of them are more than there may be. Each by itself has keys evicted until it fits.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Several_that_come_together_are_taken_or_refused_as_there_is_room(string transport)
    {
        using var kv = Start("--transport", transport, "--worker-threads", "2");
        byte[] large = new byte[20 * Mb];
        int taken = 0;
        for (int round = 0; round < 5; round++)
        {
            Parallel.For(0, 4, i =>
            {
                using var client = kv.Connect();
                client.Send(Set("large" + i, large));
                var reply = client.Read();
                if (reply.IsError) Assert.StartsWith("OOM", reply.String, StringComparison.Ordinal);
                else Interlocked.Increment(ref taken);
                Assert.Equal("PONG", client.Ok("PING").String);
            });
        }

        Assert.InRange(taken, 5, 20);
        // What is announced is charged as it comes, in pieces of up to 1 MB.
        Assert.InRange(kv.Server.Store.PeakUsedBytes, large.Length, Limit + (6 * Mb));
        using var last = kv.Connect();
        last.Send(Set("large", large));
        Assert.Equal("+OK", last.Read().ToString());
        Assert.Equal(1, last.Ok("EXISTS large").Integer);
        kv.Server.Store.CheckIntegrity();
    }

    // One that came slowly, and had to wait twice, was refused the second time: three seconds after the first wait had
    // begun, however short that was.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_wait_for_room_ends_when_there_is_some_and_the_next_one_has_its_own_time(string transport)
    {
        using var kv = Start("--transport", transport);
        using var client = kv.Connect();
        byte[] set = Set("large", new byte[10 * Mb]);
        var session = SendPart(kv, client, set.AsSpan(0, 5 * Mb), leastReceived: 4 * Mb);
        session.RoomDeadlineTickMs = 1;     // it has waited, and was let go on
        client.Send(set.AsSpan(5 * Mb, Mb));
        Eventually.Holds(() => session.RoomDeadlineTickMs == 0, () => "the next wait would be over at once");
        session.RoomDeadlineTickMs = 1;     // as of the last part of it: the command may wait, too
        client.Send(set.AsSpan(6 * Mb));
        Assert.Equal("+OK", client.Read().ToString());
        Assert.Equal(0, session.RoomDeadlineTickMs);
    }

    // What was let go on because there is no room received a piece more before it saw that: one megabyte of each of
    // thousands of clients.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Who_has_waited_in_vain_receives_no_more(string transport)
    {
        using var kv = Start("--transport", transport);
        using var client = kv.Connect();
        byte[] set = Set("large", new byte[10 * Mb]);
        // The rest of it may be left in the socket until more comes.
        const int RestMax = 512 * 1024;
        SendPart(kv, client, set.AsSpan(0, 5 * Mb), leastReceived: (5 * Mb) - RestMax);
        long peak = kv.Server.Store.PeakUsedBytes;
        kv.Server.Store.MaxMemoryBytes = Mb;
        client.Send(set.AsSpan(5 * Mb));
        Assert.StartsWith("OOM", client.Read().String, StringComparison.Ordinal);
        // The piece for which it waited.
        Assert.InRange(kv.Server.Store.PeakUsedBytes, peak, peak + RestMax + Mb);
        Assert.Equal("PONG", client.Ok("PING").String);
    }

    // One client that sent most of a value, and then nothing, had all writes refused for as long as it liked.
    [Theory]
    [InlineData("epoll", false)]
    [InlineData("epoll", true)]
    [InlineData("pipelines", false)]
    [InlineData("pipelines", true)]
    public void Who_stops_in_the_middle_gives_way_while_others_are_refused(string transport, bool hasWholeArgument)
    {
        using var kv = Start("--transport", transport, "--worker-threads", "1");
        kv.Server.RoomWaits.WaitMsMax = 10;
        using RespClient slow = kv.Connect(), client = kv.Connect();
        slow.Ok("SET before 1");
        // It stops within the large argument, or after it.
        byte[] large = hasWholeArgument
            ? RespText.Encode([[.. "MSET"u8], [.. "a"u8], new byte[Limit - (2 * Mb)], [.. "b"u8], new byte[Mb]])
            : Set("a", new byte[Limit - Mb]);
        int part = (int)Limit - (2 * Mb) + 100;
        slow.Send(large.AsSpan(0, part));
        Eventually.Holds(() => kv.Server.Connections.Snapshot()
            .Any(session => session.Blocks is { HeldBytes: > Limit - (3 * Mb) }), () => "it does not arrive");
        byte[] other = Set("key", new byte[3 * Mb]);
        Eventually.Holds(() =>
        {
            client.Send(other);
            return !client.Read().IsError;
        }, () => "others are refused");
        slow.Send([.. large.AsSpan(part), .. RespText.Encode("GET before")]);
        Assert.StartsWith("OOM", slow.Read().String, StringComparison.Ordinal);
        Assert.Contains(slow.Read().ToString(), (string[])["\"1\"", "$-1"]);
        Assert.Equal("PONG", slow.Ok("PING").String);
        kv.Server.Store.CheckIntegrity();
    }

    // Commands that are not refused where memory is short, and parts that are too small to ask for room: neither gave
    // way, and all writes of others were refused for as long as these clients stayed.
    [Theory]
    [InlineData("epoll", "SET")]
    [InlineData("epoll", "PUBLISH")]
    [InlineData("pipelines", "SET")]
    [InlineData("pipelines", "PUBLISH")]
    public void Many_that_stop_give_way_whatever_they_send_and_however_little(string transport, string name)
    {
        using var kv = Start("--transport", transport, "--worker-threads", "1");
        kv.Server.RoomWaits.WaitMsMax = 10;
        using var client = kv.Connect();
        client.Ok("CONFIG SET maxmemory 8mb");
        byte[] command = RespText.Encode([RespText.Bytes(name), [.. "a"u8], new byte[400_000]]);
        var stopped = Enumerable.Range(0, 45).Select(_ => kv.Connect()).ToArray();
        for (int i = 0; i < 45; i++) stopped[i].Send(command.AsSpan(0, 240_000));
        Eventually.Holds(() => client.Command("SET key value").IsError, () => "others are not refused");
        Eventually.Holds(() => !client.Command("SET key value").IsError, () => "others are refused");
        int refused = 0;
        for (int i = 0; i < 45; i++)
        {
            stopped[i].Send(command.AsSpan(240_000));
            var reply = stopped[i].Read();
            if (reply.IsError) Assert.StartsWith("OOM", reply.String, StringComparison.Ordinal);
            if (reply.IsError) refused++;
            Assert.Equal("PONG", stopped[i].Ok("PING").String);
        }

        Assert.InRange(refused, 1, 45);
        foreach (var one in stopped) one.Dispose();
        kv.Server.Store.CheckIntegrity();
    }

    // Nothing is evicted during a pause: writes that wait for its end were refused after three seconds.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Writes_that_a_pause_holds_up_are_not_refused(string transport)
    {
        using var kv = Start("--transport", transport, "--worker-threads", "1");
        kv.Server.RoomWaits.WaitMsMax = 10;
        using var client = kv.Connect();
        byte[] set = Set("large", new byte[200_000]);
        for (int i = 0; i < 200; i++) client.Send(Set("key" + i, new byte[200_000]));
        for (int i = 0; i < 200; i++) client.Read();
        client.Ok("CLIENT PAUSE 1000000 WRITE");
        var writers = Enumerable.Range(0, 40).Select(_ => kv.Connect()).ToArray();
        foreach (var writer in writers) writer.Send(set);
        Eventually.Holds(() => kv.Server.Connections.Snapshot().Count(session => session is
            { IsParked: true, Held: not null, WaitsForMemory: false }) == writers.Length, () => "some wait for room");
        Assert.True(kv.Server.Store.IsOverBudget);
        kv.Server.RoomWaits.WaitMsMax = 60_000;
        client.Ok("CLIENT UNPAUSE");
        foreach (var writer in writers)
        {
            Assert.Equal("+OK", writer.Read().ToString());
            writer.Dispose();
        }
    }

    // Below 256 KB each nobody is asked for room: of a command that is refused anyway they were kept, all of them.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_comes_after_a_refused_argument_takes_no_memory_either(string transport)
    {
        using var kv = Start("--transport", transport);
        using var client = kv.Connect();
        var session = kv.SessionOf(client);
        var words = new List<byte[]> { "MSET"u8.ToArray(), "large"u8.ToArray(), new byte[Limit + 1] };
        for (int i = 0; i < 100; i++) words.AddRange(["key"u8.ToArray(), new byte[200_000]]);
        byte[] command = RespText.Encode([.. words]);
        long before = session.BytesIn;
        client.Send(command.AsSpan(0, command.Length - 1));
        Eventually.Holds(() => session.BytesIn == before + command.Length - 1, () => $"{session.BytesIn} bytes came");
        Assert.InRange(kv.Server.Store.MemoryUse.BlockBytes, 0, 2 * Mb);
        client.Send(command.AsSpan(command.Length - 1));
        Assert.StartsWith("OOM", client.Read().String, StringComparison.Ordinal);
        client.Ok("SET key 1");
        kv.Server.Store.CheckIntegrity();
    }

    // What is evicted stays in memory until it is in the file: others wait for that.
    [Fact]
    public async Task A_snapshot_has_no_write_refused_and_no_more_evicted_than_else()
    {
        using var kv = Start("--dir", _directory, "--worker-threads", "2");
        using var client = kv.Connect();
        byte[] value = new byte[Mb];
        for (int i = 0; i < 60; i++) client.Send(Set("key" + i, value));
        for (int i = 0; i < 60; i++) Assert.Equal("+OK", client.Read().ToString());
        using var mayWrite = new ManualResetEventSlim();
        Fault.AtEveryPoint = name =>
        {
            if (name == "rdb.write") mayWrite.Wait();
        };
        try
        {
            client.Ok("BGSAVE");
            Eventually.Holds(() => kv.Server.Store.Snapshot != null, () => "the snapshot does not begin");
            var sending = Task.Run(() =>
            {
                for (int i = 0; i < 40; i++) client.Send(Set("new" + i, value));
            });
            Eventually.Holds(() => kv.Server.Store.AwaitsSnapshot, () => "nothing is kept for the snapshot alone");
            // Rounds of upkeep that find nothing to give back, and would refuse.
            kv.Server.Store.WaitForRoom(TimeSpan.FromMilliseconds(300));
            mayWrite.Set();
            for (int i = 0; i < 40; i++) Assert.Equal("+OK", client.Read().ToString());
            await sending;
            Assert.InRange(client.Ok("DBSIZE").Integer, 15, 32);
        }
        finally
        {
            mayWrite.Set();
            Fault.AtEveryPoint = null;
        }
    }

    // All that the file still has to get is alive: to wait for it would be in vain.
    [Fact]
    public void Where_nothing_is_evicted_nobody_waits_for_a_snapshot()
    {
        using var kv = KvInstance.Start("--dir", _directory, "--maxmemory", "32mb");
        using var client = kv.Connect();
        byte[] value = new byte[Mb];
        for (int i = 0; i < 40; i++) client.Send(Set("key" + i, value));
        int taken = Enumerable.Range(0, 40).Count(_ => !client.Read().IsError);
        Assert.InRange(taken, 20, 32);
        using var mayWrite = new ManualResetEventSlim();
        Fault.AtEveryPoint = name =>
        {
            if (name == "rdb.write") mayWrite.Wait();
        };
        try
        {
            client.Ok("BGSAVE");
            Eventually.Holds(() => kv.Server.Store.PinnedBytes > 0, () => "the snapshot does not begin");
            // Another limit: that all is full has to be found anew.
            client.Ok("CONFIG SET maxmemory 34mb");
            for (int i = 0; i < 5; i++) client.Send(Set("new" + i, value));
            var replies = Enumerable.Range(0, 5).Select(_ => client.Read()).ToArray();
            Assert.StartsWith("OOM", replies[^1].String, StringComparison.Ordinal);
        }
        finally
        {
            mayWrite.Set();
            Fault.AtEveryPoint = null;
        }
    }

    [Fact]
    public void A_snapshot_with_more_than_there_may_be_is_loaded_and_evicted()
    {
        using (var kv = KvInstance.StartOnDisk(_directory))
        using (var client = kv.Connect())
        {
            byte[] value = new byte[20 * Mb];
            Random.Shared.NextBytes(value);
            for (int i = 0; i < 6; i++) client.Send(Set("key" + i, value));
            for (int i = 0; i < 6; i++) Assert.Equal("+OK", client.Read().ToString());
            client.Ok("RPUSH list " + string.Join(' ', Enumerable.Repeat(new string('v', 1000), 1000)));
            client.Ok("SAVE");
        }

        using (var kv = KvInstance.StartOnDisk(_directory, "--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru"))
        using (var client = kv.Connect())
        {
            client.Ok("SET key v");
            Eventually.Holds(() => !kv.Server.Store.IsOverBudget, () => "it stays beyond the limit");
        }
    }

    private static KvInstance Start(params string[] options) =>
        KvInstance.Start([.. options, "--maxmemory", "32mb", "--maxmemory-policy", "allkeys-lru"]);

    /// <summary>Sends a part of a large value, as the only client.</summary>
    /// <returns>The client's session, when more than <paramref name="leastReceived"/> bytes have arrived.</returns>
    private static Session SendPart(KvInstance kv, RespClient client, ReadOnlySpan<byte> part, int leastReceived)
    {
        client.Send(part);
        var session = Assert.Single(kv.Server.Connections.Snapshot());
        Eventually.Holds(() => session.Blocks?.Received > leastReceived, () => "it does not arrive");
        return session;
    }

    private static byte[] Set(string key, byte[] value) =>
        RespText.Encode([[.. "SET"u8], RespText.Bytes(key), value]);
}
