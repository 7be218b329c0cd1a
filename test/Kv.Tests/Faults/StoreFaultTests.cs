using System.Runtime.InteropServices;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Faults;

/// <summary>An exception at each point of the store, with locks held: none stays locked, nothing is lost, another
/// session goes on.</summary>
/// <remarks>Alone, since points are the process'; and only passes of the test's own thread count.</remarks>
[Collection(Alone.Name)]
public sealed unsafe class StoreFaultTests
{
    private static readonly byte* Names = MakeNames();

    // What passes a point, behind which "it" holds "old" and nothing else is different.
    private static readonly Dictionary<string, Action<TestStore>> Failing = new()
    {
        ["read.locked"] = test =>
        {
            using StoreSession other = test.Store.CreateSession();
            var read = new ReadWhileOthersWrite(other);
            test.Session.Read(test.Session.Key("it"u8), DataType.Any, ref read);
        },
        ["update.decide"] = test => Increment(test, "number"),
        ["record.build"] = test => test.TrySet("new", "value"u8),
        ["record.publish"] = test => test.TrySet("it", "a value that is longer than it was"u8),
        ["record.write"] = test => Append(test, "growing", 3),
        ["block.fill"] = test => Append(test, "it", 100_000),
        ["expiry.slot"] = test =>
        {
            var expire = new ExpireAt(test.Clock.Ms + 1000);
            test.Session.Update(test.Session.Key("it"u8), DataType.Any, ref expire);
        },
        ["keys.lock"] = HoldThree,
        ["flush.publish"] = test => test.Store.Flush(0),
        ["swap.publish"] = test => test.Store.Swap(0, 1),
        ["upkeep.round"] = Maintain,
        ["upkeep.yield"] = Maintain,
        ["walk.segment"] = Maintain,
        ["evict.batch"] = Evict,
        ["expiry.sweep"] = Maintain,
        ["expiry.fields"] = Maintain,
        ["reclaim.copy"] = Maintain,
        ["reclaim.publish"] = Maintain,
        ["deferred.run"] = Maintain,
    };

    // Behind these nobody notices: it goes on as without memory, which every caller can do.
    private static readonly Dictionary<string, Action<TestStore>> GoingOn = new()
    {
        ["segment.open"] = test =>
        {
            using StoreSession fresh = test.Store.CreateSession();
            fresh.BeginTurn();
            fresh.Select(0);
            Assert.Equal(StoreStatus.OutOfMemory, fresh.Set(fresh.Key("new"u8), "v"u8));
        },
        ["database.create"] = test =>
        {
            test.Session.Select(9);
            Assert.Equal(StoreStatus.OutOfMemory, test.TrySet("new", "v"u8));
        },
        ["index.split"] = test =>
        {
            for (int i = 0; i < 10_000; i++) test.Set("many" + i, "v");
            for (int i = 0; i < 10_000; i++) Assert.True(test.Delete("many" + i));
        },
        ["index.merge"] = test =>
        {
            for (int i = 0; i < 10_000; i++) test.Set("many" + i, "v");
            for (int i = 0; i < 10_000; i++) Assert.True(test.Delete("many" + i));
            test.Settle();
            Assert.Equal(test.Store.Table[0]!.Index.FirstDepth, test.Store.Table[0]!.Index.CompleteDepth);
        },
    };

    public static IEnumerable<string> Points => Failing.Keys.Concat(GoingOn.Keys);

    public static TheoryData<string, int> FailingPasses() => Passes(Failing.Keys);

    public static TheoryData<string, int> OtherPasses() => Passes(GoingOn.Keys);

    [Theory, MemberData(nameof(FailingPasses))]
    public void Known_M05_an_exception_under_a_lock_of_the_store_changes_nothing_and_leaves_nothing_locked(
        string point, int nth)
    {
        using var test = Prepare();
        using (Fault.Arm(point, nth, Thread.CurrentThread)) Assert.Throws<FaultException>(() => Failing[point](test));
        CheckAll(test);
    }

    [Theory, MemberData(nameof(OtherPasses))]
    public void Known_M05_an_exception_where_the_store_asks_for_memory_is_a_lack_of_it(string point, int nth)
    {
        using var test = Prepare();
        using (var armed = Fault.Arm(point, nth, Thread.CurrentThread))
        {
            GoingOn[point](test);
            Assert.True(armed.Fired, $"{point} was not passed");
        }

        CheckAll(test);
    }

    // The store's own thread must not end the process, and it must go on.
    [Fact]
    public void Known_M05_a_round_of_upkeep_that_fails_is_reported_and_the_next_one_does_its_work()
    {
        Exception? reported = null;
        var clock = new TestClock();
        using var store = new Store(
            new StoreOptions { Time = clock, UpkeepFailed = exception => Volatile.Write(ref reported, exception) });
        using (var guard = store.Enter())
            guard.Session.Set(guard.Session.Key("short"u8), "v"u8, default, clock.Ms + 10);
        var armed = Fault.Arm("upkeep.round");
        try
        {
            Eventually.Holds(() =>
            {
                if (Volatile.Read(ref reported) != null) return true;
                // another store's thread may have had the last one
                if (armed.Fired) armed = Fault.Arm("upkeep.round");
                return false;
            }, () => "no round failed");
        }
        finally
        {
            armed.Dispose();
        }

        Assert.IsType<FaultException>(reported);
        clock.Advance(10_000);
        Eventually.Holds(() => store.Count(0) == 0, () => "nothing is swept any more");
        store.CheckIntegrity();
    }

    private static TestStore Prepare()
    {
        var test = new TestStore();
        test.Store.Log.PoisonFreed = true;
        test.Set("it", "old");
        var number = new SetInteger(1);
        test.Session.Update(test.Session.Key("number"u8), DataType.Any, ref number);
        Append(test, "growing", 3);
        return test;
    }

    /// <summary>Everything is as it was, unlocked: for this session, for another, for upkeep, and for the integrity
    /// check.</summary>
    private static void CheckAll(TestStore test)
    {
        test.Begin();
        Assert.Equal("old", test.Get("it"));
        Assert.Equal("1", test.Get("number"));
        Assert.Equal("xxx", test.Get("growing"));
        Assert.Null(test.Get("new"));
        test.Session.GoOffline();
        var other = new Thread(() =>
        {
            using StoreSession session = test.Store.CreateSession();
            session.BeginTurn();
            session.Select(0);
            foreach (string name in new[] { "it", "number", "growing", "new", "a", "b", "c" })
            {
                Assert.Equal(StoreStatus.Ok, session.Set(session.Key(TestStore.Bytes(name)), "other"u8));
                Assert.True(session.Delete(session.Key(TestStore.Bytes(name))));
            }
        }) { IsBackground = true };
        other.Start();
        Assert.True(other.Join(60_000), "another session waits for a lock that nobody holds");
        test.Clock.Advance(100_000);
        test.Settle();
        test.Check();
        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        test.Store.FlushAll();
        test.Settle();
        Assert.Equal((0, 0, 0), (test.Store.Stats.IndexBytes, test.Store.Stats.LogBytes, test.Store.Stats.BlockBytes));
    }

    /// <summary>A round of upkeep with something to sweep, to move and to free.</summary>
    private static void Evict(TestStore test)
    {
        for (int i = 0; i < 3000; i++)
            test.SetWithExpiry("evicted" + i, new string('v', 1000), test.Clock.Ms + 1_000_000);
        test.Session.Changes.Seal();
        test.Session.GoOffline();
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.VolatileRandom;
        test.Store.MaxMemoryBytes = test.Store.UsedBytes - 1_000_000;
        try
        {
            for (int i = 0; i < 5; i++) test.Store.Maintain();
        }
        finally
        {
            test.Store.MaxMemoryBytes = 0;
            test.Store.MaxMemoryPolicy = MaxMemoryPolicy.NoEviction;
            test.Begin();
            for (int i = 0; i < 3000; i++) test.Delete("evicted" + i);
        }
    }

    private static void Maintain(TestStore test)
    {
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < 1000; i++) test.Set("moved" + i, new string('v', 1000 + 16 * round));
        for (int i = 0; i < 1000; i++) if (i % 10 != 0) test.Delete("moved" + i);
        for (int i = 0; i < 5; i++) test.SetWithExpiry("short" + i, "v", test.Clock.Ms + 1);
        SetShortField(test);
        test.Set("block", new string('b', 100_000));
        test.Delete("block");
        test.Clock.Advance(2000);
        test.Session.GoOffline();
        try
        {
            for (int i = 0; i < 5; i++) test.Store.Maintain();
        }
        finally
        {
            test.Begin();
            for (int i = 0; i < 1000; i += 10)
            {
                Assert.Equal(1032, test.Get("moved" + i)!.Length);
                test.Delete("moved" + i);
            }
        }
    }

    /// <summary>A hash whose only field expires at once.</summary>
    private static void SetShortField(TestStore test)
    {
        using HeldKey held = test.Session.Hold(test.Session.Key("hash"u8), DataType.Hash, 50);
        var hash = new HashValue(held.Value);
        Assert.True(hash.TryReserve(1, 2, 1));
        hash.Set("f"u8, "v"u8);
        long bytes = 0;
        hash.AskExpiry("f"u8, test.Clock.Ms + 1, FieldExpiryRule.Always, ref bytes);
        Assert.True(hash.TryReserveExpiries(bytes));
        Assert.Equal(FieldExpiryStatus.Changed, hash.SetExpiry("f"u8, test.Clock.Ms + 1, FieldExpiryRule.Always));
    }

    private static void HoldThree(TestStore test)
    {
        test.Session.Keys.Clear();
        for (int i = 0; i < 3; i++) test.Session.Keys.Add(Names + i, 1, 0);
        using HeldKeys held = test.Session.Hold(test.Session.Keys);
        Assert.Equal(StoreStatus.Ok, held.Status);
    }

    private static byte* MakeNames()
    {
        byte* names = (byte*)NativeMemory.Alloc(3);
        (names[0], names[1], names[2]) = ((byte)'a', (byte)'b', (byte)'c');
        return names;
    }

    private static void Increment(TestStore test, string key)
    {
        var add = new AddInteger(1);
        test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.String, ref add);
    }

    private static void Append(TestStore test, string key, int count)
    {
        var bytes = new byte[count];
        bytes.AsSpan().Fill((byte)'x');
        var append = new Append(bytes);
        test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.String, ref append);
    }

    private static TheoryData<string, int> Passes(IEnumerable<string> points)
    {
        // What one call passes several times fails in the middle of its work, too.
        var passes = new TheoryData<string, int>();
        foreach (string point in points)
            for (int nth = 1;
                nth <= (point is "keys.lock" or "reclaim.copy" or "reclaim.publish" or "deferred.run" or "index.split"
                or "index.merge" ? 3 : 1); nth++) passes.Add(point, nth);
        return passes;
    }

    /// <summary>Each time it reads, another session writes the key: until the record is locked for it.</summary>
    private struct ReadWhileOthersWrite(StoreSession other) : IValueRead
    {
        private int _rounds;

        public void Read(in ValueView value)
        {
            if (++_rounds > 4) return;
            other.BeginTurn();
            other.Select(0);
            other.Set(other.Key("it"u8), "old"u8);
            other.GoOffline();
        }
    }
}
