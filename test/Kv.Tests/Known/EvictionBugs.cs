using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about memory and expiry once more, in a store that evicts keys all the
/// while.</summary>
public sealed class EvictionBugs
{
    private const long Mb = 1 << 20, Limit = 24 * Mb;

    // E05. What has expired is not evicted, and what is evicted does not expire; each key goes once.
    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLru)]
    [InlineData(MaxMemoryPolicy.VolatileTtl)]
    [InlineData(MaxMemoryPolicy.VolatileLfu)]
    public void Known_E05_keys_that_expire_at_once_give_their_memory_back_while_others_are_evicted(
        MaxMemoryPolicy policy)
    {
        const int Written = 200_000;
        using var test = Make(policy);
        byte[] value = new byte[300];
        long expiryMs = test.Clock.Ms + 1_000_000, later = expiryMs + 1_000_000;
        for (int i = 0; i < Written; i++) Put(test, $"key{i}", value, i % 10 == 0 ? later : expiryMs);
        Assert.NotEqual(0, test.Store.Stats.EvictedKeys);
        test.Clock.Advance(1_000_001);
        // All of them at once, and the store is full: of what is written next nothing need be evicted.
        for (int i = 0; i < Written / 10; i++) Put(test, $"next{i}", value, later);
        test.Settle();

        StoreStats stats = test.Store.Stats;
        Assert.NotEqual(0, stats.ExpiredKeys);
        Assert.Equal(Written + Written / 10, test.Store.Count(0) + stats.EvictedKeys + stats.ExpiredKeys);
        int here = 0;
        for (int i = 0; i < Written; i++)
        {
            bool isHere = test.Get($"key{i}") != null;
            Assert.False(isHere && i % 10 != 0, "a key is readable though its time has passed");
            if (isHere) here++;
        }

        for (int i = 0; i < Written / 10; i++)
            if (test.Get($"next{i}") != null) here++;
        Assert.Equal(here, test.Store.Count(0));
        Assert.Equal(here, test.Store.CountWithExpiry(0));
        // A record is some 330 bytes; no more than a quarter of the log is dead, and a segment of each kind is open.
        Assert.InRange(test.Store.Stats.LogBytes, 0, here * 330L * 2 + (8 * SegmentedLog.SegmentBytes));
        CheckAccounts(test);
    }

    // M04. Nothing can be freed, so it is for nothing that keys are evicted; and what is retired is memory all the
    // same.
    [Theory]
    [InlineData(300)]
    [InlineData(5_000)]
    [InlineData(100_000)]
    public void Known_M04_while_a_session_stands_still_writers_wait_and_keys_stay(int bytes)
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLru);
        byte[] value = new byte[bytes];
        int written = 0;
        while (test.Store.Stats.EvictedKeys == 0) Put(test, $"key{written++}", value);
        for (int i = 0; i < 3 * Limit / bytes; i++) Put(test, $"key{written++}", value);
        long keys = test.Store.Count(0);

        using StoreSession still = test.Store.CreateSession();
        still.BeginTurn();
        int before = written;
        // Ends: with the first that has to wait for longer than 100 rounds.
        while (TryMakeRoom(test, 100))
        {
            Write(test, $"key{written++}", value, NewValue.NoExpiry);
            Assert.InRange((long)(written - before) * bytes, 0, Limit);
        }

        Assert.Equal(StoreRoom.Soon, test.Store.AskRoom());
        Assert.InRange(test.Store.UsedBytes + test.Store.Log.RetiredBytes, 0, Limit * 3 / 2);
        Assert.InRange(test.Store.Count(0), keys / 2, keys * 2);
        for (int i = 0; i < 50; i++) test.Store.Maintain();
        Assert.InRange(test.Store.Count(0), keys / 2, keys * 2);

        still.GoOffline();
        for (int i = 0; i < 1000; i++) Put(test, $"more{i}", value);
        test.Settle();
        Assert.Equal(0, test.Store.Stats.PendingFrees);
        Assert.InRange(test.Store.UsedBytes, 0, Limit);
        CheckAccounts(test);
    }

    // M06. A key is as it was or gone, whichever allocation is refused: those of the evictor, too, which then cannot
    // move what it wants to keep.
    [Fact]
    public void Known_M06_every_refused_allocation_leaves_what_is_not_evicted_as_it_was()
    {
        int refused = 0;
        long evicted = 0;
        for (int nth = 1; nth <= 12; nth++)
        {
            using var test = Make(nth % 2 == 0 ? MaxMemoryPolicy.AllKeysLru : MaxMemoryPolicy.AllKeysLfu, 6 * Mb);
            var model = new Dictionary<string, string>();
            Random random = Seed.NewRandom(nth);
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 2500; step++)
            {
                string key = "key" + random.Next(2000) + (random.Next(8) == 0 ? new string('l', 1100) : "");
                string value = new((char)('a' + random.Next(26)),
                    random.Next(20) == 0 ? random.Next(200_000) : random.Next(9000));
                test.Begin();
                if (test.Session.AskRoom() != StoreRoom.Free)
                {
                    test.Session.GoOffline();
                    test.Store.Maintain();
                    test.Begin();
                }

                if (test.Get(key) is { } current) Assert.Equal(model[key], current);
                else model.Remove(key);
                StoreStatus status;
                if (random.Next(3) == 0)
                {
                    var append = new Append(TestStore.Bytes(value));
                    status = test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.String, ref append);
                    if (status == StoreStatus.Ok) model[key] = model.GetValueOrDefault(key) + value;
                }
                else
                {
                    status = test.TrySet(key, TestStore.Bytes(value));
                    if (status == StoreStatus.Ok) model[key] = value;
                }

                if (status == StoreStatus.OutOfMemory) refused++;
                else Assert.Equal(StoreStatus.Ok, status);
                Assert.Equal(model.GetValueOrDefault(key), test.Get(key));
            }

            test.Store.Budget.Refuse = null;
            for (int i = 0; i < 1000; i++) Put(test, $"more{i}", new byte[8000]);
            test.Settle();
            foreach ((string key, string value) in model)
                if (test.Get(key) is { } left) Assert.Equal(value, left);
            Assert.InRange(test.Store.UsedBytes, 0, 6 * Mb);
            evicted += test.Store.Stats.EvictedKeys;
            CheckAccounts(test);
        }

        Assert.True(refused > 500, $"only {refused} were refused");
        Assert.True(evicted > 1000, $"only {evicted} were evicted");
    }

    // M07. To the byte, while keys of all lengths are written, expire, are evicted, and the policy changes.
    [Fact]
    public void Known_M07_the_account_is_the_sum_after_a_million_random_operations_and_evictions()
    {
        using var test = Make(MaxMemoryPolicy.AllKeysLru, 12 * Mb);
        Random random = Seed.NewRandom(7);
        var policies = Enum.GetValues<MaxMemoryPolicy>();
        byte[] buffer = new byte[200_000];
        int steps = TimeBudget.Count(1_000_000);
        for (int step = 0; step < steps; step++)
        {
            if (step % 64 == 0) test.Begin(random.Next(2));
            if (step % 100_000 == 0) test.Store.MaxMemoryPolicy = policies[random.Next(policies.Length)];
            if (step % 50_000 == 0) test.Store.MaxMemoryBytes = random.Next(6, 14) * Mb;
            Key key = test.Session.Key(
                TestStore.Bytes("key" + random.Next(60_000) + (random.Next(50) == 0 ? new string('l', 1100) : "")));
            var value = buffer.AsSpan(0, random.Next(500) == 0 ? random.Next(buffer.Length) : random.Next(400));
            bool mayWrite = test.Session.AskRoom() == StoreRoom.Free;
            switch (random.Next(7))
            {
                case 0 or 1 when mayWrite:
                    test.Session.Set(key, value);
                    break;
                case 2 when mayWrite:
                    test.Session.Set(key, value, default, test.Clock.Ms + random.Next(10_000));
                    break;
                case 3:
                    test.Session.Delete(key);
                    break;
                case 4 when mayWrite:
                    var append = new Append(value);
                    test.Session.Update(key, DataType.String, ref append);
                    break;
                case 5 when mayWrite:
                    var integer = new SetInteger(step);
                    test.Session.Update(key, DataType.String, ref integer);
                    break;
                default:
                    test.Session.Exists(key);
                    break;
            }

            if (mayWrite && step % 2000 != 0) continue;
            test.Clock.Advance(mayWrite ? 500 : 5);
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin(random.Next(2));
        }

        Assert.NotEqual(0, test.Store.Stats.EvictedKeys);
        test.Settle();
        CheckAccounts(test);
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.NoEviction;    // forgets what was evicted
        test.Store.FlushAll();
        test.Settle();
        StoreStats stats = test.Store.Stats;
        Assert.Equal((0, 0, 0, 0), (stats.IndexBytes, stats.LogBytes, stats.BlockBytes, stats.ExternalBytes));
    }

    private static TestStore Make(MaxMemoryPolicy policy, long limit = Limit)
    {
        var test = new TestStore(new StoreOptions { MaxMemoryBytes = limit });
        test.Store.MaxMemoryPolicy = policy;
        test.Begin();
        return test;
    }

    private static void Put(TestStore test, string key, byte[] value, long expiryMs = NewValue.NoExpiry)
    {
        Assert.True(TryMakeRoom(test, 10_000), "there is room, or can be");
        Write(test, key, value, expiryMs);
    }

    private static void Write(TestStore test, string key, byte[] value, long expiryMs) => Assert.Equal(StoreStatus.Ok,
        test.Session.Set(test.Session.Key(TestStore.Bytes(key)), value, default, expiryMs));

    private static bool TryMakeRoom(TestStore test, int rounds)
    {
        for (int round = 0; round < rounds; round++)
        {
            if (test.Session.AskRoom() is not StoreRoom.Soon and var room) return room == StoreRoom.Free;
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin();
        }

        return false;
    }

    private static void CheckAccounts(TestStore test)
    {
        test.Session.GoOffline();
        Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        test.Begin();
    }
}
