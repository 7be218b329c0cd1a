using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Index;

public sealed class ScanTests
{
    // SCAN reads how many buckets there are, is held up, and goes on when the bucket it is about to visit has been
    // split.
    [Fact]
    public void A_doubling_in_the_middle_of_a_step_hides_no_key()
    {
        using var test = new TestStore();
        for (int i = 0; i < 5000; i++) test.Set("stay" + i, "v");
        var seen = new HashSet<string>();
        var collect = new CollectKeys(seen);
        Database database = test.Store.Table[0]!;
        int depth = database.Index.TargetDepth;
        int added = 0;
        ulong cursor = 0;
        do
        {
            int depthSeen = database.Index.TargetDepth;
            if (added < 40_000)
                for (int i = 0; i < 300; i++) test.Set("new" + added++, "v");
            cursor = IndexCursor.Scan(database.Index, test.Session.NowMs, cursor, depthSeen, ref collect);
        }
        while (cursor != 0);

        Assert.True(database.Index.TargetDepth > depth + 1);
        Assert.Equal(5000, seen.Count(key => key.StartsWith("stay", StringComparison.Ordinal)));
    }

    [Fact]
    public void Every_cursor_leads_to_the_end()
    {
        using var test = new TestStore();
        for (int i = 0; i < 2000; i++) test.Set("key" + i, "v");
        foreach (ulong start in new[] { ulong.MaxValue, 1UL << 63, (1UL << 63) + 1, 12345678901234567UL })
        {
            var seen = new List<string>();
            var collect = new CollectKeys(seen);
            ulong cursor = start;
            int steps = 0;
            do cursor = test.Session.Scan(cursor, ref collect);
            while (cursor != 0 && ++steps < 100_000);
            Assert.Equal(0UL, cursor);
        }
    }

    // A chain longer than any that a good hash makes: what SCAN returns is still all of it.
    [Fact]
    public void A_chain_of_any_length_is_scanned_and_split_whole()
    {
        using var test = new TestStore();
        Fill(test, 1023, 300);
        Assert.Equal(300, ScanAll(test).Count);
        test.Check();
        for (int i = 0; i < 6000; i++) test.Set("other" + i, "v");
        test.Settle();
        Assert.True(test.Store.Stats.IndexGrowths > 0);
        Assert.False(test.Store.Table[0]!.Index.Growth.IsGrowing);
        Assert.Equal(6300, ScanAll(test).Count);
        test.Check();
    }

    /// <summary>Sets keys whose hashes are equal in the bits of a mask.</summary>
    internal static void Fill(TestStore test, ulong mask, int count)
    {
        for (int i = 0, made = 0; made < count; i++)
        {
            byte[] key = TestStore.Bytes("same" + i);
            if ((test.Store.Hash.Of(key) & mask) != 0) continue;
            Assert.Equal(StoreStatus.Ok, test.Session.Set(test.Session.Key(key), "v"u8));
            made++;
        }
    }

    internal static HashSet<string> ScanAll(TestStore test)
    {
        var seen = new HashSet<string>();
        var collect = new CollectKeys(seen);
        ulong cursor = 0;
        do cursor = test.Session.Scan(cursor, ref collect);
        while (cursor != 0);
        return seen;
    }
}
