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
}
