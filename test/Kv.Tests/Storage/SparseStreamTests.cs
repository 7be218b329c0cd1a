using System.Globalization;
using Kv.Storage;
using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Streams that lose most of their entries, or of what is pending, give the memory back, and keep the
/// rest.</summary>
public sealed class SparseStreamTests
{
    private const int Entries = 200_000, AtOnce = 4000;

    [Theory]
    [InlineData("XTRIM k MAXLEN 100")]
    [InlineData("XTRIM k MINID 199901")]
    [InlineData("XADD k MAXLEN ~ 100 LIMIT 0 200001-0 field value")]
    [InlineData("XDEL")]
    public void What_is_left_of_a_stream_gets_a_region_of_its_size(string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        Fill(client, pending: 4000);
        long full = Bytes(client);
        if (line == "XDEL") ForAll(Entries - 100, ids => client.Run($"XDEL k {ids}"));
        else client.Run(line);
        string left = Content(client);
        AwaitLess(instance, client, full / 8);
        Assert.Equal(left, Content(client));
        instance.Server.Store.CheckIntegrity();
        Use(client);
        instance.Server.Store.CheckIntegrity();
        client.Run("DEL k");
        Eventually.Holds(() => Maintain(instance).Stats.BlockBytes == 0,
            () => $"{instance.Server.Store.Stats.BlockBytes} bytes are left");
    }

    [Theory]
    [InlineData("XGROUP DESTROY k g")]
    [InlineData("XGROUP DELCONSUMER k g c")]
    [InlineData("XACK")]
    public void What_was_pending_gives_its_memory_back(string line)
    {
        using var instance = KvInstance.Start(new TestClock());
        using var client = new WindowClient(instance);
        Fill(client, pending: Entries);
        client.Run("XTRIM k MAXLEN 100");
        long full = Bytes(client);
        if (line == "XACK") ForAll(Entries, ids => client.Run($"XACK k g {ids}"));
        else client.Run(line);
        string left = Content(client);
        AwaitLess(instance, client, full / 8);
        Assert.Equal(left, Content(client));
        instance.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void A_stream_that_was_filled_again_before_may_become_sparse_once_more()
    {
        using var test = new TestStore();
        for (int round = 0; round < 2; round++)
        {
            // Noted, and full again when the store's thread comes by.
            Fill(test, 2 * round);
            Assert.Equal(StoreStatus.Ok, test.Session.Streams.Trim("k"u8, StreamKeep.Newest(10), out _));
            Fill(test, (2 * round) + 1);
            long full = test.Store.Budget.BlockBytes;
            Maintain(test);
            Assert.InRange(test.Store.Budget.BlockBytes, full * 7 / 8, full);
            Assert.Equal(StoreStatus.Ok, test.Session.Streams.Trim("k"u8, StreamKeep.Newest(10), out _));
            Maintain(test);
            Assert.True(test.Store.Budget.BlockBytes < full / 8, $"{test.Store.Budget.BlockBytes} bytes of {full}");
            test.Check();
        }
    }

    // What comes between the steps ends the work, and all of it is tried again.
    [Fact]
    public void Others_that_use_the_stream_meanwhile_lose_nothing()
    {
        using var instance = KvInstance.Start();
        using (var filler = new WindowClient(instance)) Fill(filler, pending: 4000);
        using var run = new ClientRun(instance, TimeBudget.OfSeconds(3));
        long added = 0, read = 0;
        for (int i = 0; i < 3; i++)
        {
            string consumer = "c" + i.ToString(CultureInfo.InvariantCulture);
            run.Add((client, random) =>
            {
                // Large entries come, and go again with all that was there: time and again the stream is sparse.
                for (int n = 0; n < 100; n++) client.Ok($"XADD k * field {new string('v', random.Next(1, 5000))}");
                Interlocked.Add(ref added, 100);
                if (random.Next(8) == 0) client.Ok("XTRIM k MAXLEN 100");
                var given = client.Ok($"XREADGROUP GROUP g {consumer} COUNT 500 STREAMS k >");
                if (given.Items is not { } streams) return;
                string[] ids = [.. streams[0].Items![1].Items!.Select(entry => entry.Items![0].String)];
                Interlocked.Add(ref read, ids.Length);
                Assert.Equal(ids.Length, client.Ok($"XACK k g {string.Join(' ', ids)}").Integer);
            });
        }

        run.Add((_, _) => instance.Server.Store.Maintain());
        run.Finish();
        Assert.True(added > 0 && read > 0);
        using var last = instance.Connect();
        Assert.Equal(Entries + added, last.Ok("XINFO STREAM k").Items![11].Integer);
        instance.Server.Store.CheckIntegrity();
    }

    // M06; where a copy that has begun gets no more, see StreamModelTests.
    [Fact]
    public void Refused_memory_leaves_the_stream_as_it_is()
    {
        using var test = new TestStore();
        Fill(test, 0);
        Assert.Equal(StoreStatus.Ok, test.Session.Streams.Trim("k"u8, StreamKeep.Newest(10), out _));
        long full = test.Store.Budget.BlockBytes;
        int asked = 0;
        test.Store.Budget.Refuse = () => ++asked > 0;
        Maintain(test);
        Assert.True(asked > 0);
        // What is free where it lies goes back without any.
        Assert.InRange(test.Store.Budget.BlockBytes, 0, full);
        test.Check();
        test.Store.Budget.Refuse = null;
        Maintain(test);
        Assert.True(test.Store.Budget.BlockBytes < full / 8, $"{test.Store.Budget.BlockBytes} bytes of {full}");
        test.Check();
        using var entries = new EntryBuffer();
        Assert.Equal(StoreStatus.Ok, test.Session.Streams.GetRange("k"u8, StreamId.Zero, StreamId.Max, entries));
        Assert.Equal((10, new StreamId(1, 59_990)), (entries.Count, entries.Id(0)));
    }

    private static void Fill(WindowClient client, int pending)
    {
        for (int i = 1; i <= Entries; i++) client.Run($"XADD k {i}-0 field value:{i}");
        foreach (string group in (string[])["g", "another", "third"]) client.Run($"XGROUP CREATE k {group} 0");
        client.Run($"XREADGROUP GROUP g c COUNT {pending} STREAMS k >");
        client.Run("XREADGROUP GROUP another one COUNT 1000 STREAMS k >");
        client.Run("XREADGROUP GROUP another two COUNT 700 STREAMS k >");
        client.Run("XGROUP CREATECONSUMER k another none");
        client.Run($"XAUTOCLAIM k another a-consumer-of-a-long-name-{new string('n', 200)} 0 300 COUNT 900");
        client.Run($"XDEL k 5 199950 199960");
    }

    private static void Fill(TestStore test, int round)
    {
        for (int i = 0; i < 60_000; i++)
        {
            if (i % 512 == 0) test.Begin();
            Assert.Equal(StoreStatus.Ok, TryAppend(test, new StreamId((ulong)round + 1, (ulong)i)));
        }
    }

    private static StoreStatus TryAppend(TestStore test, StreamId id)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.Stream, StreamValue.ExpectedBytes);
        return new StreamValue(held.Value).TryAppend(id, new Item());
    }

    private readonly struct Item : IStreamItems
    {
        public int Fields => 1;

        public ReadOnlySpan<byte> Field(int index) => "field"u8;

        public ReadOnlySpan<byte> Value(int index) => "a value of some bytes, so that it is a megabyte"u8;
    }

    private static void ForAll(int entries, Action<string> use)
    {
        for (int first = 1; first <= entries; first += AtOnce)
            use(string.Join(' ', Enumerable.Range(first, Math.Min(AtOnce, entries - first + 1))));
    }

    private static void Use(WindowClient client)
    {
        Assert.StartsWith("*", client.Run("XREADGROUP GROUP third c STREAMS k >"), StringComparison.Ordinal);
        Assert.StartsWith("*", client.Run("XAUTOCLAIM k another new 0 0 COUNT 1000"), StringComparison.Ordinal);
        for (int i = 0; i < 2000; i++)
            Assert.StartsWith("$", client.Run($"XADD k {Entries + 10 + i}-0 field value"), StringComparison.Ordinal);
        Assert.StartsWith("*", client.Run("XREADGROUP GROUP g new STREAMS k >"), StringComparison.Ordinal);
        Assert.Equal(":1\r\n", client.Run("XGROUP DESTROY k another"));
    }

    private static string Content(WindowClient client) =>
        client.Run("XINFO STREAM k FULL COUNT 0") + client.Run("DUMP k");

    private static long Bytes(WindowClient client) =>
        long.Parse(client.Run("MEMORY USAGE k").AsSpan(1).TrimEnd(), CultureInfo.InvariantCulture);

    private static void AwaitLess(KvInstance instance, WindowClient client, long bytes)
    {
        Eventually.Holds(() => Maintain(instance) != null
            && Bytes(client) <= bytes, () => $"{Bytes(client)} bytes, not {bytes}");
        Assert.True(instance.Server.Store.Stats.BlockBytes <= bytes + 65536,
            $"{instance.Server.Store.Stats.BlockBytes} bytes");
    }

    private static Store Maintain(KvInstance instance)
    {
        instance.Server.Store.Maintain();
        return instance.Server.Store;
    }

    private static void Maintain(TestStore test)
    {
        for (int i = 0; i < 3; i++)
        {
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin();
        }
    }
}
