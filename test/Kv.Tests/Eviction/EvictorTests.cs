using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Eviction;

/// <summary>What goes when there is no room, and what stays, under each policy.</summary>
public sealed class EvictorTests
{
    private const long Limit = 24 << 20;

    /// <summary>An expiry that is not reached, for all keys to be the policy's.</summary>
    private const long Far = 2_000_000_000_000;

    public static TheoryData<MaxMemoryPolicy> All() =>
        [.. Enum.GetValues<MaxMemoryPolicy>().Where(policy => policy != MaxMemoryPolicy.NoEviction)];

    // Three times what fits, whatever the values are held in.
    [Theory, MemberData(nameof(All))]
    public void Writes_never_fail_while_something_may_go(MaxMemoryPolicy policy)
    {
        int[] lengths = policy == MaxMemoryPolicy.AllKeysLru ? [30, 300, 20_000, 100_000] : [300, 100_000];
        foreach (int bytes in lengths)
        {
            using var test = Make(policy);
            var value = new byte[bytes];
            int count = (int)(3 * Limit / (bytes + 40));
            for (int i = 0; i < count; i++) Put(test, $"key{i}", value, Far);
            Settle(test);
            Assert.InRange(test.Store.UsedBytes, Limit / 2, Limit);
            Assert.InRange(test.Store.Count(0), 1, count - 1);
            Assert.Equal(count - test.Store.Count(0), test.Store.Stats.EvictedKeys);
            Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        }
    }

    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLru)]
    [InlineData(MaxMemoryPolicy.VolatileLru)]
    [InlineData(MaxMemoryPolicy.AllKeysLfu)]
    [InlineData(MaxMemoryPolicy.VolatileLfu)]
    public void What_is_used_stays_though_much_is_written_that_is_not(MaxMemoryPolicy policy)
    {
        using var test = Make(policy);
        var value = new byte[300];
        const int Hot = 3000;
        for (int i = 0; i < Hot; i++) Put(test, $"hot{i}", value, Far);
        int next = 0;
        for (int round = 0; round < 20; round++)
        {
            for (int i = 0; i < Hot; i++) test.Get($"hot{i}");
            for (int i = 0; i < 20_000; i++) Put(test, $"cold{next++}", value, Far);
        }

        int stayed = Enumerable.Range(0, Hot).Count(i => test.Get($"hot{i}") != null);
        Assert.InRange(stayed, Hot * 95 / 100, Hot);
        test.Check();
    }

    // Used once, though later than all others: a pass over all keys, as a backup makes it.
    [Fact]
    public void A_scan_does_not_push_out_what_is_used_again_and_again()
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLru);
        var value = new byte[300];
        const int Hot = 20_000;
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < Hot; i++) ReadThrough(test, $"hot{i}", value);
        for (int i = 0; i < 250_000; i++) ReadThrough(test, $"once{i}", value);
        int stayed = Enumerable.Range(0, Hot).Count(i => test.Get($"hot{i}") != null);
        Assert.InRange(stayed, Hot * 8 / 10, Hot);
    }

    [Theory]
    [InlineData(MaxMemoryPolicy.VolatileLru)]
    [InlineData(MaxMemoryPolicy.VolatileLfu)]
    [InlineData(MaxMemoryPolicy.VolatileRandom)]
    [InlineData(MaxMemoryPolicy.VolatileTtl)]
    public void Keys_without_expiry_are_never_evicted_by_a_volatile_policy(MaxMemoryPolicy policy)
    {
        using var test = Make(policy);
        var value = new byte[300];
        const int Lasting = 10_000;
        int next = 0;
        for (int i = 0; i < Lasting; i++)
        {
            test.Set($"lasting{i}", "v");
            for (int more = 0; more < 20; more++) Put(test, $"key{next++}", value, test.Clock.Ms + 10_000_000);
        }

        Assert.True(test.Store.Stats.EvictedKeys > Lasting);
        for (int i = 0; i < Lasting; i++) Assert.Equal("v", test.Get($"lasting{i}"));
        test.Check();
    }

    // There is room for an expiry in the record, and none in it.
    [Theory]
    [InlineData(MaxMemoryPolicy.VolatileLru)]
    [InlineData(MaxMemoryPolicy.VolatileTtl)]
    public void Keys_that_have_lost_their_expiry_are_not_evicted_by_a_volatile_policy(MaxMemoryPolicy policy)
    {
        using var test = Make(policy);
        const int Lasting = 1000;
        for (int i = 0; i < Lasting; i++) Put(test, $"lasting{i}", TestStore.Bytes("old"), Far);
        for (int i = 0; i < Lasting; i++) test.Set($"lasting{i}", "new");
        Assert.Equal(0, test.Store.CountWithExpiry(0));
        var value = new byte[300];
        for (int i = 0; i < 200_000; i++) Put(test, $"key{i}", value, Far);
        Assert.NotEqual(0, test.Store.Stats.EvictedKeys);
        for (int i = 0; i < Lasting; i++) Assert.Equal("new", test.Get($"lasting{i}"));
    }

    // The mark of a segment is also that of fields: what has only such has nothing that may go.
    [Fact]
    public void Hashes_whose_fields_expire_are_not_looked_through_for_ever()
    {
        using var test = Make(MaxMemoryPolicy.VolatileLru);
        int count = 0, rounds = 0;
        // Ends: the store is full.
        while (TryMakeRoom(test, ref rounds)) SetHash(test, $"hash{count++}");
        Assert.Equal(0, test.Store.Stats.EvictedKeys);
        Assert.Equal(count, test.Store.Count(0));
        Assert.InRange(rounds, 1, 1000);
    }

    [Theory]
    [InlineData(MaxMemoryPolicy.VolatileLru)]
    [InlineData(MaxMemoryPolicy.VolatileTtl)]
    [InlineData(MaxMemoryPolicy.NoEviction)]
    public void Without_anything_that_may_go_writes_are_refused(MaxMemoryPolicy policy)
    {
        using var test = Make(policy);
        var value = new byte[300];
        int count = 0;
        // Ends: the store is full.
        while (TryMakeRoom(test))
        {
            Assert.Equal(StoreStatus.Ok, test.TrySet($"key{count}", value));
            count++;
        }

        Assert.Equal(0, test.Store.Stats.EvictedKeys);
        Assert.Equal(count, test.Store.Count(0));
        Assert.Equal(StoreRoom.Full, test.Store.AskRoom());
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysRandom;     // and is so no more
        Assert.True(TryMakeRoom(test));
    }

    [Fact]
    public void What_has_long_to_live_outlives_what_has_not()
    {
        using var test = Make(MaxMemoryPolicy.VolatileTtl);
        var value = new byte[300];
        Random random = Seed.NewRandom();
        int[] minutes = [.. Enumerable.Range(0, 200_000).Select(_ => random.Next(1, 100_000))];
        for (int i = 0; i < minutes.Length; i++) Put(test, $"key{i}", value, test.Clock.Ms + (minutes[i] * 60_000L));
        double[] left = [.. Enumerable.Range(0, minutes.Length).Where(i => test.Get($"key{i}") != null)
            .Select(i => (double)minutes[i])];
        Assert.InRange(left.Average(), minutes.Average() * 1.2, 100_000);
    }

    [Fact]
    public void What_was_evicted_is_forgotten_when_there_is_no_limit_any_more()
    {
        using var test = new TestStore();
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru;
        for (int i = 0; i < 100_000; i++) test.Set("key" + i, "value");
        test.Store.MaxMemoryBytes = test.Store.UsedBytes / 2;
        for (int i = 0; i < 100 && test.Store.Stats.EvictedKeys == 0; i++) test.Settle();
        Assert.True(test.Store.Stats.EvictedKeys > 0);
        Assert.True(test.Store.MemoryUse.TableBytes > 0);
        test.Store.MaxMemoryBytes = 0;
        test.Settle();
        Assert.Equal(0, test.Store.MemoryUse.TableBytes);
    }

    [Fact]
    public void A_lower_limit_is_reached_without_writes()
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLru);
        var value = new byte[300];
        for (int i = 0; i < 50_000; i++) Put(test, $"key{i}", value, Far);
        Assert.Equal(50_000, test.Store.Count(0));
        test.Session.Changes.Seal();
        test.Store.MaxMemoryBytes = 10 << 20;
        Settle(test);
        Assert.InRange(test.Store.UsedBytes, 5 << 20, 10 << 20);
        test.Check();
    }

    // More is evicted than it takes for writes to go on, and they need not wait for that.
    [Fact]
    public void Writers_go_on_as_soon_as_there_is_room()
    {
        const long most = 64 << 20;
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 2 * most });
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru;
        test.Begin();
        var value = new byte[3000];
        for (int i = 0; i < 31_500; i++) Put(test, $"key{i}", value, Far);
        Assert.True(test.Store.UsedBytes > most, "it is to be too much");
        test.Session.Changes.Seal();
        test.Session.GoOffline();
        test.Store.MaxMemoryBytes = most;
        long left = 0;
        test.Store.Room.Decided = () => left = Math.Max(left, test.Store.Count(0));
        Assert.Equal(StoreRoom.Soon, test.Store.AskRoom());
        // Ends: each round evicts.
        while (left == 0) test.Store.Maintain();
        Assert.True(test.Store.Count(0) < left, "the round that let them go on has evicted more after it");
        Assert.Equal(StoreRoom.Free, test.Store.AskRoom());
        test.Begin();
    }

    // Of large values no more than is needed, though their records lie in one segment.
    [Fact]
    public void Large_values_go_one_by_one()
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLru);
        var value = new byte[1 << 20];
        for (int i = 0; i < 300; i++) Put(test, $"key{i}", value, Far);
        Settle(test);
        Assert.InRange(test.Store.Count(0), 18, 24);
        Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
    }

    [Fact]
    public void Heat_is_kept_by_what_is_written_anew()
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLfu);
        test.Store.FrequencyLogFactor = 0;      // each use counts
        test.Begin();
        test.Set("key", "v");
        for (int i = 0; i < 10; i++) test.Get("key");
        int before = FrequencyOf(test, "key");
        Assert.InRange(before, 80, 100);
        test.Set("key", new string('v', 1000));     // elsewhere
        Assert.InRange(FrequencyOf(test, "key"), before, before + 10);
        Assert.True(test.Session.Exists(test.Session.Key(TestStore.Bytes("key"))));
        Assert.InRange(FrequencyOf(test, "key"), before, before + 10);
        for (int i = 0; i < 100; i++) test.Get("key");
        Assert.Equal(255, FrequencyOf(test, "key"));
    }

    private static TestStore Make(MaxMemoryPolicy policy)
    {
        var test = new TestStore(new StoreOptions { MaxMemoryBytes = Limit });
        test.Store.MaxMemoryPolicy = policy;
        test.Begin();
        return test;
    }

    private static void ReadThrough(TestStore test, string key, byte[] value)
    {
        if (test.Get(key) == null) Put(test, key, value, Far);
    }

    private static void Put(TestStore test, string key, byte[] value, long expiryMs)
    {
        Assert.True(TryMakeRoom(test), "there is room, or can be");
        Assert.Equal(StoreStatus.Ok,
            test.Session.Set(test.Session.Key(TestStore.Bytes(key)), value, default, expiryMs));
    }

    private static bool TryMakeRoom(TestStore test)
    {
        int rounds = 0;
        return TryMakeRoom(test, ref rounds);
    }

    private static bool TryMakeRoom(TestStore test, ref int rounds)
    {
        // Ends: each round wins room, or decides that there is none.
        while (true)
        {
            var room = test.Session.AskRoom();
            if (room != StoreRoom.Soon) return room == StoreRoom.Free;
            Assert.True(++rounds < 10_000, "rounds without an end");
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin();
        }
    }

    /// <summary>A small hash with a field that expires some day.</summary>
    private static void SetHash(TestStore test, string key)
    {
        using HeldKey held = test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Hash, 120);
        var hash = new HashValue(held.Value);
        Assert.True(hash.TryReserve(1, 64, 60));
        hash.Set("f"u8, new byte[60]);
        long bytes = 0;
        hash.AskExpiry("f"u8, Far, FieldExpiryRule.Always, ref bytes);
        Assert.True(hash.TryReserveExpiries(bytes));
        Assert.Equal(FieldExpiryStatus.Changed, hash.SetExpiry("f"u8, Far, FieldExpiryRule.Always));
    }

    private static void Settle(TestStore test)
    {
        test.Session.GoOffline();
        for (int i = 0; i < 50; i++) test.Store.Maintain();
        test.Begin();
    }

    private static int FrequencyOf(TestStore test, string key)
    {
        var read = default(ReadFrequency);
        Assert.Equal(StoreStatus.Ok, test.Session.Read(test.Session.Key(TestStore.Bytes(key)), DataType.Any, ref read));
        return read.Frequency;
    }

    private struct ReadFrequency : IValueRead
    {
        public int Frequency;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Frequency = value.Frequency;
    }
}
