using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Log;

public sealed class ReclaimTests
{
    // Nothing but copies: no block, no chain, nothing that would wait for an epoch and so move the epochs on.
    [Fact]
    public void Dead_space_is_reclaimed_although_nothing_else_waits_for_an_epoch()
    {
        using var test = new TestStore();
        for (int round = 0; round < 6; round++)
        {
            test.Begin();
            for (int i = 0; i < 1000; i++) test.Set("key" + i, new string('v', 1000 + 16 * round));
        }

        test.Settle();
        Assert.True(test.Store.Stats.ReclaimedSegments > 0);
        Assert.InRange(test.Store.Stats.LogBytes, 1, 4 << 20);
        for (int i = 0; i < 1000; i++) Assert.Equal(1080, test.Get("key" + i)!.Length);
        test.Check();
    }

    // A session that ends gives up its segment as it is: a thousand of them must not keep a thousand segments.
    [Fact]
    public void Short_segments_of_sessions_that_ended_are_merged()
    {
        using var test = new TestStore();
        for (int i = 0; i < 300; i++)
        {
            using StoreSession session = test.Store.CreateSession();
            session.BeginTurn();
            session.Select(0);
            session.Set(session.Key(TestStore.Bytes("of" + i)), "v"u8);
        }

        test.Settle();
        Assert.Equal(300, test.Store.Count(0));
        Assert.InRange(test.Store.Stats.LogBytes, 1, 4 * 64 * 1024);
        for (int i = 0; i < 300; i++) Assert.Equal("v", test.Get("of" + i));
        test.Check();
    }

    // 4 MB stay for writers; of a small limit they are too much where the rest of the process takes all that is left.
    [Theory]
    [InlineData(0, 2)]
    [InlineData(300, 0)]
    public void Free_segments_give_way_to_all_else_that_the_process_takes(long programMb, int kept)
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 64 << 20 });
        test.Store.Budget.ProgramBytes = programMb << 20;
        string value = new('v', 1000);
        for (int i = 0; i < 20_000; i++) test.Set("key:" + i, value);
        for (int i = 0; i < 20_000; i++) Assert.True(test.Delete("key:" + i));
        test.Settle();
        test.Store.Maintain();
        Assert.Equal(kept * (long)SegmentedLog.SegmentBytes, test.Store.Log.WarmBytes);
        test.Store.Budget.ProgramBytes = 300 << 20;
        test.Store.Maintain();
        Assert.Equal(0, test.Store.Log.WarmBytes);
        test.Set("key", value);
    }
}
