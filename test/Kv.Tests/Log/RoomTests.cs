using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Log;

/// <summary>A full store: what is deleted makes room for as much again, whatever form it has; who brings too much is
/// refused, and is told soon.</summary>
public sealed class RoomTests
{
    private const long Limit = 48 << 20;

    /// <summary>Of what was deleted so much can be added again.</summary>
    private const double ShareMin = 0.9;

    // Log: records; blocks: values outside of it. Of 200,000 records of 100 bytes a fifth left 0.4 % of it to be added
    // again.
    [Theory]
    [InlineData(100, 0.2)]
    [InlineData(100, 0.05)]
    [InlineData(1000, 0.2)]
    [InlineData(20_000, 0.2)]
    [InlineData(100_000, 0.2)]
    public void What_is_deleted_can_be_added_again(int valueBytes, double share)
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = Limit });
        var value = new byte[valueBytes];
        int count = Fill(test, "key", value, int.MaxValue);
        Assert.InRange(count * (double)valueBytes, Limit * 0.5, Limit);
        int[] keys = [.. Enumerable.Range(0, count)];
        Random random = Seed.NewRandom(valueBytes);
        random.Shuffle(keys);
        int deleted = (int)(count * share);
        for (int i = 0; i < deleted; i++) Assert.True(test.Delete("key" + keys[i]));
        test.Store.ResetPeak();
        long before = Math.Max(Limit, test.Store.UsedBytes);
        int added = Fill(test, "new", value, deleted);
        Assert.True(added >= deleted * ShareMin, $"{added} of {deleted}; {Seed.Hint}");
        Assert.Equal(count - deleted + added, test.Store.Count(0));
        // What reclaim has there twice for a while is bounded.
        Assert.InRange(test.Store.PeakUsedBytes, 0,
            before + test.Store.Room.Headroom + (2 * SegmentedLog.SegmentBytes));
        test.Check();
        Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
    }

    [Fact]
    public void Full_is_said_at_once_until_something_dies()
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = Limit });
        var value = new byte[1000];
        int count = Fill(test, "key", value, int.MaxValue);
        for (int i = 0; i < 100; i++) Assert.Equal(StoreRoom.Full, test.Store.AskRoom());
        Assert.False(test.Store.Room.IsWanted);
        for (int i = 0; i < 500; i++) Assert.True(test.Delete("key" + i));
        Assert.Equal(StoreRoom.Soon, test.Store.AskRoom());
        Assert.True(TryMakeRoom(test));
        Assert.Equal(StoreRoom.Free, test.Store.AskRoom());
        test.Store.MaxMemoryBytes = Limit / 2;
        Assert.Equal(StoreRoom.Soon, test.Store.AskRoom());
        Assert.False(TryMakeRoom(test));
        Assert.Equal(StoreRoom.Full, test.Store.AskRoom());
        test.Store.MaxMemoryBytes = 0;
        Assert.Equal(StoreRoom.Free, test.Store.AskRoom());
        Assert.Equal(count - 500, test.Store.Count(0));
    }

    // A session's own segment is not emptied while it is written to.
    [Fact]
    public void What_died_in_a_session_s_own_segment_is_found_too()
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 4 << 20 });
        var value = new byte[1000];
        int count = Fill(test, "key", value, int.MaxValue);
        for (int i = 0; i < count; i += 2) Assert.True(test.Delete("key" + i));
        Assert.True(Fill(test, "new", value, count / 2) >= count / 2 * ShareMin);
    }

    // What is in a region does not die in the log.
    [Fact]
    public void Fields_that_are_removed_from_a_large_hash_make_room()
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 16 << 20 });
        var value = new byte[100];
        int count = 0;
        for (; !test.Store.IsOverBudget || TryMakeRoom(test); count++)
            Assert.Equal(StoreStatus.Ok, test.Session.Hashes.Set("hash"u8, TestStore.Bytes("field" + count), value));
        Assert.Equal(StoreRoom.Full, test.Store.AskRoom());
        for (int i = 0; i < count * 4 / 5; i++)
            Assert.Equal(StoreStatus.Ok, test.Session.Hashes.Remove("hash"u8, TestStore.Bytes("field" + i)));
        Assert.NotEqual(StoreRoom.Full, test.Store.AskRoom());
        Assert.True(TryMakeRoom(test));
        test.Check();
    }

    [Fact]
    public void Waiting_for_room_ends_when_an_epoch_does_not_pass()
    {
        using var store = new Store(new StoreOptions { MaxMemoryBytes = 4 << 20 });
        var value = new byte[100_000];
        int count = 0;
        using (var guard = store.Enter())
            for (; !store.IsOverBudget; count++)
                guard.Session.Set(guard.Session.Key(TestStore.Bytes("key" + count)), value);
        using (var guard = store.Enter())
        {
            for (int i = 0; i < count; i++)
                Assert.True(guard.Session.Delete(guard.Session.Key(TestStore.Bytes("key" + i))));
            // This guard itself holds up what it waits for.
            Assert.Equal(StoreRoom.Soon, store.AskRoom());
            Assert.False(store.WaitForRoom(TimeSpan.FromMilliseconds(50)));
        }

        Assert.True(store.WaitForRoom(TimeSpan.FromSeconds(60)));
    }

    /// <summary>Sets keys while there is room.</summary>
    /// <returns>How many.</returns>
    private static int Fill(TestStore test, string name, byte[] value, int most)
    {
        for (int i = 0; i < most; i++)
        {
            if (test.Store.IsOverBudget && !TryMakeRoom(test)) return i;
            Assert.Equal(StoreStatus.Ok, test.TrySet(name + i, value));
        }

        return most;
    }

    private static bool TryMakeRoom(TestStore test)
    {
        test.Session.AskRoom();
        test.Session.GoOffline();
        bool made = test.Store.WaitForRoom(TimeSpan.FromSeconds(60));
        test.Begin();
        return made;
    }
}
