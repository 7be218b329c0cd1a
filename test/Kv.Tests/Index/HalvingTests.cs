using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Index;

/// <summary>An index that few keys are left in becomes smaller, and nothing is lost or met twice
/// meanwhile.</summary>
public sealed class HalvingTests
{
    private const int Keys = 100_000;

    [Fact]
    public void An_index_that_keys_have_left_gives_its_memory_back_and_grows_again()
    {
        using var test = Filled();
        HashIndex index = test.Store.Table[0]!.Index;
        long full = test.Store.Stats.IndexBytes;
        for (int round = 0; round < 3; round++)
        {
            DeleteMost(test);
            test.Settle();
            Assert.False(index.IsResizing);
            Assert.InRange(test.Store.Stats.IndexBytes, 1, full / 4);
            Assert.InRange(index.BucketCount, 1, Keys / 100 * 4);
            test.Check();
            for (int i = 0; i < Keys; i++) Assert.Equal(i % 100 == 0 ? "v" : null, test.Get("key" + i));
            for (int i = 0; i < Keys; i++) test.Set("key" + i, "v");
            test.Settle();
            Assert.InRange(test.Store.Stats.IndexBytes, full / 2, full * 2);
            test.Check();
        }

        Assert.True(test.Store.Stats.IndexHalvings >= 9, $"only {test.Store.Stats.IndexHalvings} halvings");
        for (int i = 0; i < Keys; i++) Assert.Equal("v", test.Get("key" + i));
    }

    [Fact]
    public void It_does_not_become_smaller_than_it_was_at_first()
    {
        using var test = new TestStore(new StoreOptions { IndexBytes = 1 << 20 });
        test.Set("key", "v");
        long bytes = test.Store.Stats.IndexBytes;
        Assert.True(test.Delete("key"));
        test.Settle();
        Assert.Equal(bytes, test.Store.Stats.IndexBytes);
        Assert.Equal(0, test.Store.Stats.IndexHalvings);
    }

    // A search that began before is in the middle of it: sessions find, change, remove and add keys while half of the
    // buckets are merged.
    [Fact]
    public void Keys_are_found_changed_and_removed_while_buckets_are_merged()
    {
        using var test = Filled();
        Database database = test.Store.Table[0]!;
        DeleteMost(test);
        Assert.True(database.Index.Halving.Consider(database.Keys));
        Assert.False(database.Index.Halving.Consider(database.Keys));
        Assert.True(database.Index.Halving.Step());
        test.Check();
        for (int i = 0; i < Keys; i++) Assert.Equal(i % 100 == 0 ? "v" : null, test.Get("key" + i));
        for (int i = 0; i < Keys; i += 200) Assert.True(test.Delete("key" + i));
        for (int i = 100; i < Keys; i += 200) test.Set("key" + i, new string('w', 100));
        for (int i = 0; i < Keys; i += 10) test.Set("more" + i, "m");
        test.Check();
        test.Settle();
        test.Check();
        string longer = new('w', 100);
        for (int i = 0; i < Keys; i += 100) Assert.Equal(i % 200 == 0 ? null : longer, test.Get("key" + i));
        for (int i = 0; i < Keys; i++) Assert.Equal(i % 10 == 0 ? "m" : null, test.Get("more" + i));
    }

    // SCAN's cursor is of a larger index than the one that it goes on in, and in the end of a smaller one.
    [Fact]
    public void A_scan_meets_every_key_that_stays_while_the_index_is_halved_and_doubled()
    {
        using var test = Filled();
        Database database = test.Store.Table[0]!;
        for (int steps = 64; steps <= 4096; steps *= 8)
        {
            var seen = new HashSet<string>();
            var collect = new CollectKeys(seen);
            ulong cursor = 0;
            long depths = 0;
            int step = 0;
            do
            {
                cursor = test.Session.Scan(cursor, ref collect);
                depths |= 1L << database.Index.TargetDepth;
                if (++step % steps != 0) continue;
                // Keys go for a while, then come again.
                bool goes = step / steps % 40 < 20;
                for (int i = 0; i < Keys / 20; i++)
                {
                    string key = "key" + ((step / steps % 20 * (Keys / 20)) + i);
                    if (!goes) test.Set(key, "v");
                    else if (!IsStaying(key)) test.Delete(key);
                }

                test.Session.GoOffline();
                test.Store.Maintain();
                test.Begin();
            }
            while (cursor != 0);

            Assert.Equal(Keys / 100, seen.Count(IsStaying));
            if (steps <= 512) Assert.True(long.PopCount(depths) > 2, "the index has had fewer than three sizes");
            for (int i = 0; i < Keys; i++) test.Set("key" + i, "v");
            test.Settle();
        }

        test.Check();
    }

    [Fact]
    public void A_key_is_drawn_as_often_as_another_while_buckets_are_merged()
    {
        using var test = Filled();
        Database database = test.Store.Table[0]!;
        DeleteMost(test);
        Assert.True(database.Index.Halving.Consider(database.Keys));
        // half of the pairs
        for (int step = 0; step < 32; step++) Assert.True(database.Index.Halving.Step());
        const int draws = 20 * Keys / 100;
        var counts = new Dictionary<string, int>();
        var seen = new List<string>();
        var collect = new CollectKeys(seen);
        for (int i = 0; i < draws; i++) Assert.True(test.Session.RandomKey(ref collect));
        foreach (string key in seen) counts[key] = counts.GetValueOrDefault(key) + 1;
        double chiSquare = 0;
        for (int i = 0; i < Keys; i += 100) chiSquare += Math.Pow(counts.GetValueOrDefault("key" + i) - 20, 2) / 20;
        const int free = (Keys / 100) - 1;
        double bound = free + (6 * Math.Sqrt(2 * free));
        Assert.True(chiSquare < bound, $"chi-square {chiSquare:F1} of {free + 1} keys, bound {bound:F1}");
    }

    // 12 doublings use up the bits of a tag, and one more fills them again; halvings go the other way.
    [Fact]
    public void Tags_are_filled_from_the_keys_where_they_change()
    {
        using var test = new TestStore();
        for (int i = 0; i < 400; i++) test.Set("key" + i, "v");
        HashIndex index = test.Store.Table[0]!.Index;
        for (int doubling = 0; doubling < HashIndex.DoublingsPerTag + 2; doubling++)
        {
            index.Growth.Consider(long.MaxValue / 8);
            while (index.Growth.IsGrowing && index.Growth.Sweep()) { }
        }

        Assert.Equal(index.FirstDepth + HashIndex.DoublingsPerTag + 2, index.TargetDepth);
        test.Session.GoOffline();
        // Ends: each round merges thousands of buckets.
        while (index.TargetDepth > index.FirstDepth || index.IsResizing) test.Store.Maintain();
        test.Check();
        for (int i = 0; i < 400; i++) Assert.Equal("v", test.Get("key" + i));
    }

    [Fact]
    public void Chains_of_two_buckets_become_one()
    {
        using var test = Filled();
        // of one bucket in the small index, of two in the large one
        ScanTests.Fill(test, 1023, 300);
        DeleteMost(test);
        for (int i = 0; i < Keys; i += 100) Assert.True(test.Delete("key" + i));
        test.Settle();
        HashIndex index = test.Store.Table[0]!.Index;
        Assert.Equal(index.FirstDepth, index.CompleteDepth);
        Assert.True(index.Overflow.InUse >= 300 / HashBucket.Entries, $"only {index.Overflow.InUse} overflow buckets");
        test.Check();
        Assert.Equal(300, ScanTests.ScanAll(test).Count);
    }

    // What is deferred is lost where the managed heap has no room for it, and the index would neither grow nor shrink
    // again.
    [Fact]
    public void The_end_of_a_halving_waits_for_nothing_that_needs_memory()
    {
        using var test = Filled();
        Database database = test.Store.Table[0]!;
        for (int i = 0; i < Keys; i++) Assert.True(test.Delete("key" + i));
        test.Session.GoOffline();
        while (test.Store.Deferred.Count > 0) test.Store.Deferred.Run();

        HashIndex index = database.Index;
        Assert.True(index.Halving.Consider(database.Keys));
        while (index.Halving.Step()) { }
        Assert.Equal(0, test.Store.Deferred.Count);
        Assert.True(index.Halving.IsOn);        // until an epoch has passed
        test.Store.Epochs.Advance();
        Assert.False(index.Halving.Step());
        Assert.False(index.IsResizing);
    }

    // A session that stands in a turn may be looking at a bucket of the far half: it is neither given back nor filled
    // again while it does.
    [Fact]
    public void The_far_half_waits_for_who_may_read_it()
    {
        using var test = Filled();
        HashIndex index = test.Store.Table[0]!.Index;
        DeleteMost(test);
        test.Session.GoOffline();
        using StoreSession reader = test.Store.CreateSession();
        reader.BeginTurn();
        for (int i = 0; i < 20; i++) test.Store.Maintain();
        Assert.True(index.Halving.IsOn);
        Assert.Equal(1, test.Store.Stats.IndexHalvings);
        reader.GoOffline();
        test.Settle();
        Assert.False(index.IsResizing);
        Assert.True(test.Store.Stats.IndexHalvings > 1);
        test.Check();
    }

    // A limit that is lowered below what the index alone takes: it has to give, not the keys.
    [Fact]
    public void A_lowered_limit_is_reached_by_a_smaller_index_too()
    {
        using var test = new TestStore();
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru;
        for (int i = 0; i < 6 * Keys; i++) test.Set("key" + i, "v");
        test.Settle();
        long index = test.Store.Stats.IndexBytes;
        test.Store.MaxMemoryBytes = index;
        for (int i = 0; i < 100; i++)
        {
            test.Settle();
            test.WaitForRoom();
        }

        Assert.Equal(StoreRoom.Free, test.Session.AskRoom());
        Assert.InRange(test.Store.Stats.IndexBytes, 1, index / 2);
        Assert.True(test.Store.Count(0) * 160 > index, $"only {test.Store.Count(0)} keys are left in {index >> 20} MB");
        test.Check();
    }

    // At a limit the index takes more entries a bucket before it doubles: the doubling would cost more keys than it has
    // room for.
    [Fact]
    public void Near_a_limit_a_doubling_comes_later()
    {
        using var budget = new MemoryBudget();
        using var log = new SegmentedLog(budget);
        using var epochs = new EpochTable(1);
        using var index = new HashIndex(log, budget, new DeferredActions(epochs), KeyHash.FromSeed(1), 1 << 20,
            hasUpkeep: false);
        long due = HashIndex.EntriesPerBucketMax * index.BucketCount;
        budget.MaxBytes = (2 << 20) + (1 << 19);
        budget.ChargeExternal(1 << 19);
        index.Growth.Consider(due + 1);
        Assert.False(index.IsResizing);
        index.Growth.Consider(HashIndex.EntriesPerBucketShort * index.BucketCount);
        Assert.False(index.IsResizing);
        index.Growth.Consider((HashIndex.EntriesPerBucketShort * index.BucketCount) + 1);
        Assert.True(index.Growth.IsGrowing);
    }

    [Fact]
    public void Memory_that_was_taken_for_a_doubling_goes_back_with_the_keys()
    {
        using var budget = new MemoryBudget();
        using var log = new SegmentedLog(budget);
        using var epochs = new EpochTable(1);
        using var index = new HashIndex(log, budget, new DeferredActions(epochs), KeyHash.FromSeed(1), 16 << 20,
            hasUpkeep: true);
        long due = HashIndex.EntriesPerBucketMax * index.BucketCount;
        for (int round = 0; round < 2; round++)
        {
            int taken = 0;
            while (index.Growth.Prepare(due)) taken++;
            Assert.Equal(8, taken);
            Assert.False(index.Growth.Prepare(due / 2));
        }
    }

    // The walk of a snapshot visits a near bucket, then the far one, which has been merged into it meanwhile.
    [Fact]
    public void A_snapshot_keeps_each_key_once_while_the_index_is_halved()
    {
        using var test = Filled();
        for (int round = 0; round < 10; round++)
        {
            for (int i = 0; i < Keys; i++)
            {
                if (i % 10 == 0) test.Set("key" + i, "v");
                else test.Delete("key" + i);
            }

            test.Session.GoOffline();
            long halvings = test.Store.Stats.IndexHalvings;
            using StoreSession walker = test.Store.CreateSession();
            var sink = new CountKeys();
            Assert.True(test.Store.Pause.TryBegin(walker.Slot));
            using var snapshot = new StoreSnapshot(test.Store, sink);
            test.Store.Pause.End();
            Assert.True(snapshot.Walk(snapshot.Parts[0], walker, test.Store.Maintain), snapshot.Failure?.Message);
            Assert.True(test.Store.Stats.IndexHalvings > halvings);
            Assert.Equal(Keys / 10, sink.Times.Count);
            Assert.All(sink.Times, key => Assert.Equal(1, key.Value));
            test.Begin();
            for (int i = 0; i < Keys; i++) test.Set("key" + i, "v");
        }
    }

    private sealed class CountKeys : ISnapshotSink
    {
        public Dictionary<string, int> Times { get; } = [];

        public bool IsBehind => false;

        public long PinnedBytes => 0;

        public long WrittenBytes => 0;

        public void Keep(int slot, int database, ReadOnlySpan<byte> key, in ValueView value)
        {
            string text = System.Text.Encoding.ASCII.GetString(key);
            Times[text] = Times.GetValueOrDefault(text) + 1;
        }

        public bool KeepSome(int database, ReadOnlySpan<byte> key, in ValueView value) => true;

        public void MoveSome()
        {
        }
    }

    private static bool IsStaying(string key) =>
        key.StartsWith("key", StringComparison.Ordinal) && int.Parse(key.AsSpan(3)) % 100 == 0;

    private static TestStore Filled()
    {
        var test = new TestStore();
        for (int i = 0; i < Keys; i++) test.Set("key" + i, "v");
        test.Settle();
        return test;
    }

    private static void DeleteMost(TestStore test)
    {
        for (int i = 0; i < Keys; i++)
            if (!IsStaying("key" + i)) Assert.True(test.Delete("key" + i));
    }
}
