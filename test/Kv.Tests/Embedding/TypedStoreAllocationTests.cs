using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Embedding;

/// <summary>Operations of the types about one element leave the managed heap alone; those about many do so in a buffer
/// that is used again.</summary>
public sealed class TypedStoreAllocationTests
{
    private const int Runs = 2_000;

    [Theory]
    [InlineData(10)]
    [InlineData(2_000)]
    public void Nothing_is_allocated_by_operations_of_the_types(int elements)
    {
        using var test = new TestStore();
        using var list = new ElementBuffer();
        using var fields = new FieldBuffer();
        using var scores = new ScoreBuffer();
        using var entries = new EntryBuffer();
        byte[][] names = [.. Enumerable.Range(0, elements).Select(i => TestStore.Bytes("element" + i))];
        foreach (byte[] name in names)
        {
            test.Session.Hashes.Set("h"u8, name, name);
            test.Session.Streams.Add("x"u8, "name"u8, name, out _);
            test.Session.Lists.Push("l"u8, ListEnd.Right, name);
            test.Session.Sets.Add("s"u8, name);
            test.Session.SortedSets.Set("z"u8, name, name.Length);
        }

        test.Session.StreamGroups.Create("x"u8, "g"u8, StreamId.Max, out _);
        for (int i = 0; i < Runs; i++) Run(i);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Runs; i++) Run(i);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run(int i)
        {
            test.Begin();
            byte[] name = names[i % elements];
            var (hashes, lists, sets, sorted) =
                (test.Session.Hashes, test.Session.Lists, test.Session.Sets, test.Session.SortedSets);
            hashes.Set("h"u8, name, "value"u8);
            hashes.SetIfAbsent("h"u8, "new"u8, "value"u8, out _);
            hashes.Get("h"u8, name, out var bytes);
            bytes.Dispose();
            hashes.Increment("h"u8, "number"u8, 3, out _);
            hashes.SetExpiry("h"u8, "new"u8, test.Clock.Ms + 1000, FieldExpiryRule.Always, out _);
            hashes.GetExpiry("h"u8, "new"u8, out _);
            hashes.Persist("h"u8, "new"u8, out _);
            hashes.Remove("h"u8, "new"u8);
            hashes.Count("h"u8, out _);
            hashes.GetAll("h"u8, fields);
            lists.Push("l"u8, ListEnd.Left, name);
            lists.Get("l"u8, i % elements, out bytes);
            bytes.Dispose();
            lists.Set("l"u8, 3, name);
            lists.Move("l"u8, ListEnd.Left, "m"u8, ListEnd.Left, out bytes);
            bytes.Dispose();
            lists.Pop("m"u8, ListEnd.Left, out bytes);
            bytes.Dispose();
            lists.GetRange("l"u8, 0, -1, list);
            sets.Add("s"u8, "new"u8);
            sets.Contains("s"u8, name);
            sets.Move("s"u8, "t"u8, "new"u8);
            sets.Remove("t"u8, "new"u8);
            sets.Pop("s"u8, out bytes);
            sets.Add("s"u8, bytes.Span);
            bytes.Dispose();
            sets.GetAll("s"u8, list);
            sorted.Set("z"u8, name, i);
            sorted.Increment("z"u8, name, 1, out _);
            sorted.GetScore("z"u8, name, out _);
            sorted.GetRank("z"u8, name, out _, out _);
            sorted.Count("z"u8, new ScoreRange(1, 5), out _);
            sorted.GetRange("z"u8, 0, 10, scores);
            sorted.Pop("z"u8, greatest: false, out bytes, out double score);
            sorted.Set("z"u8, bytes.Span, score);
            bytes.Dispose();
            var streams = test.Session.Streams;
            streams.Add("x"u8, "name"u8, name, out var id);
            var groups = test.Session.StreamGroups;
            groups.Read("x"u8, "g"u8, "consumer"u8, entries, most: 1);
            groups.ReadPending("x"u8, "g"u8, "consumer"u8, StreamId.Zero, entries);
            groups.Claim("x"u8, "g"u8, "other"u8, [entries.Id(0)], 0, entries);
            StreamId next = StreamId.Zero;
            groups.ClaimIdle("x"u8, "g"u8, "consumer"u8, ref next, 0, entries);
            groups.Acknowledge("x"u8, "g"u8, entries.Id(0));        // else what is pending, and the buffer, would grow
            streams.Count("x"u8, out _);
            streams.LastId("x"u8, out _);
            streams.GetRange("x"u8, id, id, entries);
            streams.GetReverseRange("x"u8, StreamId.Zero, StreamId.Max, entries, 5);
            streams.Remove("x"u8, id);
            id.TryNext(out id);
            streams.Add("x"u8, id, "name"u8, name, StreamKeep.Newest(elements));
            streams.Trim("x"u8, StreamKeep.Newest(elements - 1), out _);
            test.Session.Bitmaps.Set("b"u8, i, true, out _);
            test.Session.Bitmaps.Get("b"u8, i, out _);
            test.Session.Bitmaps.Count("b"u8, out _);
            test.Session.HyperLogLogs.Add("p"u8, name, out _);
            test.Session.HyperLogLogs.Count("p"u8, out _);
        }
    }

    [Fact]
    public void Whoever_waits_for_a_list_of_a_server_is_given_what_the_program_pushes()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        using var other = server.Connect();
        client.Send("BLPOP queue 0");
        Eventually.Holds(() => other.Ok("INFO clients").String.Contains("blocked_clients:1", StringComparison.Ordinal),
            () => "nobody is blocked");
        using (var guard = server.Server.Store.Enter())
            Assert.Equal(StoreStatus.Ok, guard.Session.Lists.Push("queue"u8, ListEnd.Left, "job"u8));
        Assert.Equal("job", client.Read().Items![1].String);
    }
}
