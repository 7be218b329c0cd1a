using System.Diagnostics;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

public sealed unsafe class MemoryTests(ITestOutputHelper output)
{
    private static readonly int Doublings = TimeBudget.Scale >= 10 ? 21 : 18;

    // 8 bytes of key, 8 of value. The index doubles at 5 * 2^n keys: just before is the best fill, just after the
    // worst. KV_MINUTES=10 and more takes 10 M keys. Resident bytes have the runtime's own in them: a few MB either
    // way.
    [Fact]
    public void A_key_costs_at_most_45_bytes_at_best_fill_and_62_at_worst()
    {
        if (OwnProcess.Ran()) return;
        using var test = new TestStore();
        test.Settle();
        long before = BlockTests.ResidentBytes(), best = (5L << Doublings) - 100,
            worst = (5L << Doublings) + (1L << Doublings) / 4;
        Fill(test, 0, best);
        double bestBytes = (double)test.Store.UsedBytes / best;
        double bestResident = (double)(BlockTests.ResidentBytes() - before - (8 << 20)) / best;
        Fill(test, best, worst);
        double worstBytes = (double)test.Store.UsedBytes / worst;
        double worstResident = (double)(BlockTests.ResidentBytes() - before - (8 << 20)) / worst;
        output.WriteLine(
            $"{best}: {bestBytes:F1} accounted, {bestResident:F1} resident; {worst}: {worstBytes:F1}, "
            + $"{worstResident:F1}");
        Assert.InRange(bestBytes, 30, 45);
        Assert.InRange(worstBytes, 40, 62);
        Assert.InRange(bestResident, 20, 45);
        Assert.InRange(worstResident, 30, 62);

        for (long number = 0; number < worst; number++)
        {
            if ((number & 63) == 0) test.Begin();
            if (number % 10 != 0)
                Assert.True(test.Session.Delete(test.Session.Key(new ReadOnlySpan<byte>(&number, 8))));
        }

        test.Settle();
        long alive = test.Store.Count(0) * 24;
        Assert.Equal((worst + 9) / 10, test.Store.Count(0));
        Assert.InRange(test.Store.Stats.LogBytes, alive, 2 * alive + (2 * SegmentedLog.SegmentBytes));
        test.Store.CheckIntegrity();
        test.Store.FlushAll();
        test.Settle();
        Assert.Equal(0, test.Store.UsedBytes);
        Assert.InRange(BlockTests.ResidentBytes() - before, long.MinValue, 64L << 20);
    }

    private static void Fill(TestStore test, long from, long to)
    {
        for (long number = from; number < to; number++)
        {
            if ((number & 63) == 0) test.Begin();
            var bytes = new ReadOnlySpan<byte>(&number, 8);
            Assert.Equal(StoreStatus.Ok, test.Session.Set(test.Session.Key(bytes), bytes));
        }

        test.Settle();
    }

    // A huge page would make each of these sessions cost 2 MB.
    [Fact]
    public void Sessions_that_write_little_cost_little()
    {
        if (OwnProcess.Ran()) return;
        using var test = new TestStore();
        // a database worth huge pages
        for (int i = 0; i < 20_000; i++) test.Set("large" + i, new string('v', 1000));
        test.Settle();
        long before = BlockTests.ResidentBytes();
        for (int i = 0; i < 300; i++)
        {
            using StoreSession session = test.Store.CreateSession();
            session.BeginTurn();
            session.Select(0);
            session.Set(session.Key(TestStore.Bytes("of" + i)), "v"u8);
        }

        Assert.InRange(BlockTests.ResidentBytes() - before, long.MinValue, 64L << 20);
    }

    // E05, what of it is the store's: many keys expire at once, and the memory is back.
    [Fact]
    public void Known_E05_a_hundred_thousand_keys_that_expire_at_once_give_their_memory_back()
    {
        using var test = new TestStore();
        for (long number = 0; number < 100_000; number++)
            test.Session.Set(test.Session.Key(new ReadOnlySpan<byte>(&number, 8)), new byte[100], default,
                test.Clock.Ms + 1000 + number % 1000);
        test.Clock.Advance(3000);
        var time = Stopwatch.StartNew();
        test.Settle();
        output.WriteLine($"{time.ElapsedMilliseconds} ms");
        Assert.Equal((0, 0), (test.Store.Count(0), test.Store.CountWithExpiry(0)));
        Assert.Equal(100_000, test.Store.Stats.ExpiredKeys);
        Assert.InRange(test.Store.Stats.LogBytes, 0, 2 * SegmentedLog.SegmentBytes);
        test.Check();
    }

    [Fact]
    public void A_value_of_512_MB_is_set_and_its_memory_comes_back_and_no_longer_one_is_taken()
    {
        if (OwnProcess.Ran()) return;
        using var test = new TestStore();
        long before = BlockTests.ResidentBytes();
        Block large = test.Session.AllocateBlock(Store.ValueBytesMax);
        if (large.IsNone) Assert.Skip("the system has no 512 MB to give");
        for (long at = 0; at < Store.ValueBytesMax; at += 4096) large.Content[at] = (byte)(at >> 12);
        test.Session.ChargeBlock(large, Store.ValueBytesMax);
        Assert.Equal(StoreStatus.Ok, test.Session.Set(test.Session.Key("large"u8), default, large, NewValue.NoExpiry));
        test.Session.Release(large);
        Assert.InRange(BlockTests.ResidentBytes() - before, 400L << 20, 700L << 20);
        Assert.Equal(StoreStatus.TooLarge, BlockTests.AppendTo(test, "large", [1]));
        Assert.True(test.Delete("large"));
        test.Settle();
        Assert.InRange(BlockTests.ResidentBytes() - before, long.MinValue, 100L << 20);
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }
}
