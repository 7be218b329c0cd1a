using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Index;

public sealed class GrowthTests
{
    // A session that inserts here and there by turns: each database has to count its own.
    [Fact]
    public void Inserting_into_two_databases_by_turns_grows_both()
    {
        using var test = new TestStore();
        for (int i = 0; i < 30_000; i++)
        {
            test.Session.Select(i & 1);
            test.Set("key" + i, "v");
        }

        foreach (int number in new[] { 0, 1 })
        {
            Database database = test.Store.Table[number]!;
            Assert.InRange(database.Keys, 1, HashIndex.EntriesPerBucketMax * database.Index.BucketCount);
        }
    }

    // Guards and short sessions insert less than a batch each.
    [Fact]
    public void Many_sessions_with_few_inserts_each_grow_the_index_too()
    {
        using var test = new TestStore();
        for (int i = 0; i < 1500; i++)
        {
            using StoreSession session = test.Store.CreateSession();
            session.BeginTurn();
            session.Select(0);
            for (int j = 0; j < 10; j++) session.Set(session.Key(TestStore.Bytes($"key{i}:{j}")), "v"u8);
        }

        test.Settle();
        Database database = test.Store.Table[0]!;
        Assert.InRange(database.Keys, 1, HashIndex.EntriesPerBucketMax * database.Index.BucketCount);
        test.Check();
    }

    // 12 doublings use up the bits of a tag; the next one fills them again.
    [Fact]
    public void Tags_are_filled_again_when_their_bits_are_used_up()
    {
        using var test = new TestStore();
        Fill(test, 200);
        Database database = test.Store.Table[0]!;
        HashIndex index = database.Index;
        for (int doubling = 0; doubling < HashIndex.DoublingsPerTag + 2; doubling++)
        {
            index.Growth.Consider(long.MaxValue / 8);
            while (index.Growth.IsGrowing && index.Growth.Sweep()) { }
        }

        Assert.Equal(10 + HashIndex.DoublingsPerTag + 2, index.TargetDepth);
        Fill(test, 400);
        for (int i = 0; i < 400; i++) Assert.Equal("v", test.Get("key" + i));
        Assert.Equal(400, test.Store.Count(0));
        for (int i = 0; i < 400; i += 2) Assert.True(test.Delete("key" + i));
        Assert.Equal(200, test.Store.Count(0));
        test.Check();

        static void Fill(TestStore test, int count)
        {
            for (int i = 0; i < count; i++) test.Set("key" + i, "v");
        }
    }

    [Fact]
    public void Chains_become_shorter_as_keys_go_and_their_memory_goes_back()
    {
        using var test = new TestStore();
        for (int i = 0; i < 100_000; i++) test.Set("key" + i, "v");
        test.Settle();
        HashIndex index = test.Store.Table[0]!.Index;
        long chained = index.Overflow.InUse, charged = index.Overflow.ChargedBytes;
        Assert.True(chained > 100, $"only {chained} overflow buckets");
        Assert.InRange(charged, chained * HashBucket.Bytes, (chained + 64) * HashBucket.Bytes * 2);

        for (int i = 0; i < 100_000; i++)
            if (i % 10 != 0) Assert.True(test.Delete("key" + i));
        test.Settle();
        test.Check();
        Assert.InRange(index.Overflow.InUse, 0, chained / 50);
        // few pages: the first, and those of the few that stay
        Assert.InRange(index.Overflow.ChargedBytes, 0, charged / 2);
        for (int i = 0; i < 100_000; i++) Assert.Equal(i % 10 == 0 ? "v" : null, test.Get("key" + i));

        for (int i = 0; i < 100_000; i++) test.Set("key" + i, "w");
        test.Check();
        for (int i = 0; i < 100_000; i++) Assert.Equal("w", test.Get("key" + i));
    }

    // A session's turn that began before a flush goes on in the database that was dropped, and what it retires is freed
    // behind it.
    [Fact]
    public void Chains_may_become_shorter_in_a_database_that_was_flushed_meanwhile()
    {
        using var test = new TestStore();
        for (int i = 0; i < 100_000; i++) test.Set("key" + i, "v");
        test.Settle();
        test.Session.BeginTurn();
        test.Session.Select(0);
        OverflowBuckets overflow = test.Store.Table[0]!.Index.Overflow;
        long chained = overflow.InUse;
        test.Store.Flush(0);
        for (int i = 0; i < 100_000; i++)
            Assert.True(test.Session.Delete(test.Session.Key(TestStore.Bytes("key" + i))));
        Assert.True(chained > 100, $"only {chained} overflow buckets");
        test.Settle();
        Assert.Equal(0, test.Store.Stats.PendingFrees);
        test.Check();
    }

    // As an unkeyed hash would leave it: many keys, one bucket. Slow is allowed, wrong is not.
    [Fact]
    public void Keys_of_one_bucket_are_all_kept_apart()
    {
        using var test = new TestStore();
        ScanTests.Fill(test, 1023, 200);
        HashSet<string> keys = ScanTests.ScanAll(test);
        Assert.Equal(200, keys.Count);
        foreach (string key in keys) Assert.Equal("v", test.Get(key));
        foreach (string key in keys) Assert.True(test.Delete(key));
        Assert.Equal(0, test.Store.Count(0));
        test.Check();
    }

    // What the inserts of a pipeline sweep, its client waits for: a doubling is spread over as many inserts as there
    // are buckets.
    [Fact]
    public void A_doubling_is_spread_over_as_many_inserts_as_there_were_buckets()
    {
        using var test = new TestStore();
        test.Set("first", "v");
        HashIndex index = test.Store.Table[0]!.Index;
        long buckets = index.BucketCount, inserts = 1;
        for (; !index.Growth.IsGrowing; inserts++) test.Set("key" + inserts, "v");
        Assert.InRange(inserts, HashIndex.EntriesPerBucketMax * buckets, HashIndex.EntriesPerBucketMax * buckets + 65);

        long begun = inserts;
        for (; index.Growth.IsGrowing; inserts++) test.Set("key" + inserts, "v");
        Assert.Equal(2 * buckets, index.BucketCount);
        Assert.InRange(inserts - begun, buckets - IndexGrowth.InsertsPerSweep, buckets + IndexGrowth.InsertsPerSweep);
        for (int i = 1; i < inserts; i++) Assert.Equal("v", test.Get("key" + i));
        test.Check();
    }

    [Fact]
    public void Keys_are_changed_and_removed_in_buckets_that_wait_to_be_split()
    {
        using var test = new TestStore();
        test.Set("first", "v");
        HashIndex index = test.Store.Table[0]!.Index;
        int keys = 0;
        for (; !index.Growth.IsGrowing; keys++) test.Set("key" + keys, "v");
        for (int i = 0; i < keys; i++)
        {
            if (i % 3 == 0) Assert.True(test.Delete("key" + i));
            // in its place, and in another record
            else test.Set("key" + i, i % 3 == 1 ? "w" : new string('w', 100));
        }

        Assert.True(index.Growth.IsGrowing);
        test.Check();
        for (int i = 0; i < keys; i++)
            Assert.Equal(i % 3 == 0 ? null : i % 3 == 1 ? "w" : new string('w', 100), test.Get("key" + i));
        while (index.Growth.Sweep()) { }
        Assert.False(index.Growth.IsGrowing);
        test.Check();
        for (int i = 0; i < keys; i++)
            Assert.Equal(i % 3 == 0 ? null : i % 3 == 1 ? "w" : new string('w', 100), test.Get("key" + i));
    }

    [Fact]
    public void The_memory_of_a_doubling_is_taken_in_step_with_the_entries()
    {
        using var budget = new MemoryBudget();
        using var log = new SegmentedLog(budget);
        using var epochs = new EpochTable(1);
        using var index = new HashIndex(log, budget, new DeferredActions(epochs), KeyHash.FromSeed(1), 16 << 20,
            hasUpkeep: true);
        long due = HashIndex.EntriesPerBucketMax * index.BucketCount, bytes = budget.IndexBytes;
        Assert.False(index.Growth.Prepare(due / 2));
        var steps = new List<int>();
        for (int part = 16; part <= 24; part++)
        {
            int taken = 0;
            while (index.Growth.Prepare(due * part / 24)) taken++;
            steps.Add(taken);
        }

        // 8 huge pages, from 5/6 of the entries on.
        Assert.Equal([0, 0, 0, 0, 0, 2, 2, 2, 2], steps);
        Assert.Equal(bytes, budget.IndexBytes);     // charged with the doubling
        index.Growth.Consider(due + 1);
        Assert.Equal(2 * bytes, budget.IndexBytes);
        Assert.True(index.Growth.IsGrowing);
        Assert.False(index.Growth.Prepare(due + 1));
    }

    [Fact]
    public void Who_takes_segments_finds_the_next_one_ready_again_and_again()
    {
        using var test = new TestStore();
        Assert.False(test.Store.TakeAhead());
        byte[] value = new byte[60_000];
        for (int i = 0; i < 300; i++) Assert.Equal(StoreStatus.Ok, test.TrySet("key" + i, value));
        Assert.True(test.Store.TakeAhead());
        // None was taken since, but soon one may be. On a machine that stood still in between that is forgotten: once
        // more then.
        bool again = false;
        for (int i = 0; i < 1000 && !again; i++)
        {
            for (int j = 0; j < 40; j++) Assert.Equal(StoreStatus.Ok, test.TrySet("key" + j, new byte[60_000 + i]));
            again = test.Store.TakeAhead() && test.Store.TakeAhead();
        }

        Assert.True(again);
        test.Check();
    }
}
