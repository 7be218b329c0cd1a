using System.Collections.Concurrent;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Stress;

public sealed class SingleKeyStressTests(ITestOutputHelper output)
{
    // Allowed: any order that the times allow. Forbidden: a value older than one already seen, a torn value, a lost
    // write. M02: freed segments are poisoned. M11: the collector runs every millisecond.
    [Fact]
    public void Registers_are_linearizable_while_the_index_grows_and_reclaim_moves_records()
    {
        const int keys = 4, threads = 4;
        using var run = new StressRun(4);
        var histories = Enumerable.Range(0, keys * threads).Select(_ => new List<Operation>()).ToArray();
        long values = 0;
        for (int thread = 0; thread < threads; thread++)
        {
            int own = thread;
            byte[] buffer = new byte[4096];
            run.Add((session, random) =>
            {
                int number = random.Next(keys);
                byte[] name = TestStore.Bytes("register" + number);
                Key key = session.Key(name);
                ulong hint = random.Next(2) == 0 ? session.LookAheadIndex(0)?.Probe(key.Hash) ?? 0 : 0;
                if (hint == HashIndex.InChain) hint = session.LookAheadIndex(0)!.ProbeChain(key.Hash);
                if (hint != 0) key = session.Key(name, key.Hash, hint);
                if (random.Next(8) == 0) session.Select(0);     // as the next command does; the hint stays in use
                List<Operation> history = histories[number * threads + own];
                if (history.Count == 400_000) return;
                if (random.Next(3) == 0)
                {
                    long value = Interlocked.Increment(ref values);
                    var bytes = NumberValue.Fill(
                        buffer.AsSpan(0, random.Next(4) == 0 ? 8 * random.Next(1, 500) : 16), value);
                    long call = run.Now();
                    Assert.Equal(StoreStatus.Ok, session.Set(key, bytes));
                    history.Add(new Operation(Called.Set, value, call, run.Now()));
                }
                else
                {
                    var take = default(TakeNumber);
                    long call = run.Now();
                    var status = session.Read(key, DataType.String, ref take);
                    Assert.False(take.IsTorn, "a torn value");
                    history.Add(new Operation(Called.Get, status == StoreStatus.Ok ? take.Number : 0, call, run.Now()));
                }
            });
        }

        run.AddWeather();
        run.Finish(() => run.Store.Stats.IndexGrowths > 0 && run.Store.Stats.ReclaimedSegments > 0);
        int count = 0;
        for (int key = 0; key < keys; key++)
        {
            var history = histories.Skip(key * threads).Take(threads).SelectMany(list => list).ToList();
            count += history.Count;
            Assert.True(Histories.CheckRegister(history) is null, $"{Histories.CheckRegister(history)}; {Seed.Hint}");
        }

        output.WriteLine($"{count} operations, {run.Store.Stats}");
    }

    [Fact]
    public void Inserts_deletes_and_increments_of_one_key_are_linearizable()
    {
        using var run = new StressRun(3);
        var histories = new ConcurrentDictionary<long, ConcurrentQueue<Operation>>();
        long operations = 0, values = 1_000_000_000;
        for (int thread = 0; thread < 4; thread++)
        {
            run.Add((session, random) =>
            {
                // 4 new keys every 160 operations: about 40 on each.
                long number = Interlocked.Increment(ref operations) / 160 * 4 + random.Next(4);
                ConcurrentQueue<Operation> history = histories.GetOrAdd(number, _ => new ConcurrentQueue<Operation>());
                Key key = session.Key(TestStore.Bytes("searched" + number));
                var called = (Called)random.Next(4);
                long value = 0, call = run.Now();
                switch (called)
                {
                    case Called.Get:
                        var take = default(TakeNumber);
                        if (session.Read(key, DataType.String, ref take) == StoreStatus.Ok) value = take.Number;
                        break;
                    case Called.Set:
                        value = Interlocked.Add(ref values, 1000);
                        var set = new SetInteger(value);
                        session.Update(key, DataType.String, ref set);
                        break;
                    case Called.Delete:
                        value = session.Delete(key) ? 1 : 0;
                        break;
                    default:
                        var add = new AddInteger(1);
                        session.Update(key, DataType.String, ref add);
                        value = add.Sum;
                        break;
                }

                history.Enqueue(new Operation(called, value, call, run.Now()));
            });
        }

        run.AddWeather();
        run.Finish(() => Volatile.Read(ref operations) > 8000);
        int checkedCount = 0, unknown = 0;
        foreach (var (number, history) in histories)
        {
            var list = history.ToList();
            if (list.Count > 64 || checkedCount == 4000 * TimeBudget.Scale) continue;
            checkedCount++;
            string? wrong = Histories.Search(list);
            if (wrong == "unknown") unknown++;
            else Assert.True(wrong is null,
                $"key {number}: {wrong}: {string.Join(", ", list.OrderBy(one => one.Call))}; {Seed.Hint}");
        }

        output.WriteLine($"{checkedCount} histories, {unknown} unknown");
        Assert.True(checkedCount > 50 && unknown * 100 <= checkedCount, $"{checkedCount} checked, {unknown} unknown");
    }

    [Fact]
    public void Known_M01_increments_of_16_threads_are_exact_while_records_move()
    {
        using var run = new StressRun(2);
        var histories = Enumerable.Range(0, 16).Select(_ => new List<Operation>()).ToArray();
        for (int thread = 0; thread < 16; thread++)
        {
            List<Operation> history = histories[thread];
            run.Add((session, random) =>
            {
                if (history.Count == 100_000) return;
                var add = new AddInteger(1);
                long call = run.Now();
                Assert.Equal(StoreStatus.Ok, session.Update(session.Key("counter"u8), DataType.String, ref add));
                history.Add(new Operation(Called.Add, add.Sum, call, run.Now()));
                if (random.Next(50) != 0) return;
                // Makes the record move: an expiry that is far away.
                var expire = new ExpireAt(run.Clock.Ms + 1_000_000_000);
                session.Update(session.Key("counter"u8), DataType.Any, ref expire);
            });
        }

        run.AddWeather();
        run.Finish();
        string? wrong = Histories.CheckCounter(histories.SelectMany(list => list));
        Assert.True(wrong is null, wrong);
    }

    // The index grows from its smallest again and again; 200 keys are there all the while. Forbidden: a miss.
    [Fact]
    public void A_key_that_stays_is_never_missed_while_its_bucket_splits()
    {
        const int stay = 200;
        using var run = new StressRun(3);
        long generation = 0;        // odd while the keys are being put back
        long growths = 0;
        byte[][] names = [.. Enumerable.Range(0, 12_000).Select(i => TestStore.Bytes("stay" + i))];
        int next = names.Length;
        run.Add((session, _) =>
        {
            if (next == names.Length)
            {
                generation++;
                Interlocked.MemoryBarrier();
                run.Store.Flush(0);
                session.Select(0);
                for (next = 0; next < stay; next++) session.Set(session.Key(names[next]), "v"u8);
                Volatile.Write(ref generation, generation + 1);
                growths++;
                return;
            }

            session.Select(0);
            for (int i = 0; i < 50 && next < names.Length; i++, next++) session.Set(session.Key(names[next]), "v"u8);
        });
        for (int thread = 0; thread < 2; thread++)
        {
            run.Add((session, random) =>
            {
                for (int i = 0; i < 200; i++)
                {
                    long before = Volatile.Read(ref generation);
                    session.Select(0);
                    bool exists = session.Exists(session.Key(names[random.Next(stay)]));
                    Interlocked.MemoryBarrier();
                    if (!exists && (before & 1) == 0 && before > 0 && Volatile.Read(ref generation) == before)
                        Assert.Fail($"a key was missed in generation {before}");
                }
            });
        }

        run.AddOutside(() =>
        {
            run.Store.Maintain();
            Thread.Sleep(1);
        });
        run.Finish(() => Volatile.Read(ref growths) > 3);
    }

    // M09: all threads insert the same new keys, in buckets that split meanwhile.
    [Fact]
    public void Known_M09_two_inserts_of_the_same_new_key_leave_one_record()
    {
        using var run = new StressRun(2);
        long next = 0;
        long[] inserted = new long[3];
        for (int thread = 0; thread < 3; thread++)
        {
            int own = thread;
            long at = 0;
            run.Add((session, _) =>
            {
                // All stay within some keys of each other.
                if (at > Volatile.Read(ref next) + 8 || at == 300_000 * (long)TimeBudget.Scale) return;
                var insert = new SetIfAbsent(own);
                session.Update(session.Key(TestStore.Bytes("new" + at)), DataType.Any, ref insert);
                if (insert.WasAbsent) inserted[own]++;
                at++;
                long seen = Volatile.Read(ref next);
                if (at > seen) Interlocked.CompareExchange(ref next, at, seen);
            });
        }

        run.AddOutside(() => run.Store.Maintain());
        run.Finish(() => run.Store.Stats.IndexGrowths > 0);
        Assert.Equal(inserted.Sum(), run.Store.Count(0));
    }

    private struct SetIfAbsent(long value) : IValueUpdate
    {
        public bool WasAbsent;

        public Change Decide(in ValueView current, ref NewValue next)
        {
            WasAbsent = !current.Exists;
            if (current.Exists) return Change.None;
            next.Kind = ValueKind.Integer;
            next.Integer = value;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination)
        {
        }
    }

    // E03: a write in the very millisecond of the expiry comes before it or after, and no reader sees a mixture.
    [Fact]
    public void Known_E03_a_value_and_its_expiry_are_one_and_no_expired_value_is_read()
    {
        using var run = new StressRun(2);
        for (int thread = 0; thread < 3; thread++)
        {
            run.Add((session, random) =>
            {
                Key key = session.Key(TestStore.Bytes("timed" + random.Next(50)));
                if (random.Next(2) == 0)
                {
                    long expiry = session.NowMs + random.Next(1, 100);
                    Span<byte> value = stackalloc byte[16];
                    session.Set(key, NumberValue.Fill(value, expiry), default, expiry);
                    return;
                }

                var take = default(TakeTimed);
                if (session.Read(key, DataType.String, ref take) != StoreStatus.Ok) return;
                Assert.Equal(take.ExpiryMs, take.Number);
                Assert.True(take.ExpiryMs > session.NowMs, $"read at {session.NowMs}, expired at {take.ExpiryMs}");
            });
        }

        run.AddOutside(() =>
        {
            run.Clock.Advance(1);
            run.Store.Maintain();
        });
        run.Finish();
        run.Clock.Advance(10_000);
        for (int i = 0; i < 3; i++) run.Store.Maintain();
        Assert.Equal(0, run.Store.Count(0));
        Assert.Equal(0, run.Store.CountWithExpiry(0));
    }

    private struct TakeTimed : IValueRead
    {
        public long Number, ExpiryMs;

        public void Read(in ValueView value)
        {
            Number = NumberValue.From(value, out _);
            ExpiryMs = value.ExpiryMs;
        }
    }
}
