using System.Runtime.InteropServices;
using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Stress;

public sealed unsafe class ManyKeysStressTests
{
    private const int KeysMax = 16;

    // The names of the keys, where they stay put: k0 .. kF.
    private static readonly byte* Names = MakeNames();

    private static byte* MakeNames()
    {
        byte* names = (byte*)NativeMemory.Alloc(KeysMax * 2);
        for (int i = 0; i < KeysMax; i++) (names[2 * i], names[2 * i + 1]) = ((byte)'k', (byte)("0123456789ABCDEF"[i]));
        return names;
    }

    private static void Add(KeyList keys, int number, int database = 0) => keys.Add(Names + 2 * number, 2, database);

    private static void AddShuffled(KeyList keys, int count, Random random)
    {
        keys.Clear();
        int first = random.Next(count);
        for (int i = 0; i < count; i++) Add(keys, (first + i) % count);
    }

    private struct TakeMany : IManyRead
    {
        public fixed long Numbers[KeysMax];
        public int Count, Torn;

        public void Restart() => Count = Torn = 0;

        public void Read(int index, in ValueView value)
        {
            Numbers[index] = value.Exists ? NumberValue.From(value, out bool torn) + (torn ? 1 << 30 : 0) : 0;
            Count++;
        }
    }

    // Allowed: all keys with one number, or all absent. Forbidden: any mixture.
    [Fact]
    public void A_read_of_many_keys_never_sees_half_of_a_write_of_many()
    {
        const int count = 6;
        using var run = new StressRun(3);
        long numbers = 0;
        for (int thread = 0; thread < 2; thread++)
        {
            byte[] buffer = new byte[1024];
            run.Add((session, random) =>
            {
                AddShuffled(session.Keys, count, random);
                using HeldKeys held = session.Hold(session.Keys);
                Assert.Equal(StoreStatus.Ok, held.Status);
                bool delete = random.Next(4) == 0;
                var value = NumberValue.Fill(buffer.AsSpan(0, 8 * random.Next(1, 100)),
                    Interlocked.Increment(ref numbers));
                for (int i = 0; i < count; i++)
                {
                    if (delete) held.Delete(i);
                    else Assert.Equal(StoreStatus.Ok, held.Set(i, value));
                }
            });
        }

        for (int thread = 0; thread < 2; thread++)
        {
            run.Add((session, random) =>
            {
                AddShuffled(session.Keys, count, random);
                var take = default(TakeMany);
                session.ReadMany(session.Keys, ref take);
                Assert.Equal(count, take.Count);
                for (int i = 1; i < count; i++) Assert.Equal(take.Numbers[0], take.Numbers[i]);
            });
        }

        run.AddWeather();
        run.Finish();
    }

    // One value, renamed from key to key. Allowed: exactly one key has it. Forbidden: none, or two.
    [Fact]
    public void A_value_that_is_renamed_is_always_in_exactly_one_place()
    {
        const int count = 8;
        using var run = new StressRun(3);
        using (StoreSession first = run.Store.CreateSession())
        {
            first.BeginTurn();
            first.Select(0);
            first.Set(first.Key("k0"u8), BitConverter.GetBytes(42L));
        }

        for (int thread = 0; thread < 2; thread++)
        {
            run.Add((session, random) =>
            {
                session.Keys.Clear();
                int from = random.Next(count), to = (from + random.Next(1, count)) % count;
                Add(session.Keys, from);
                Add(session.Keys, to);
                using HeldKeys held = session.Hold(session.Keys);
                if (!held.Exists(0)) return;
                Assert.False(held.Exists(1));
                Assert.Equal(StoreStatus.Ok, held.Copy(0, 1, NewValue.NoExpiry));
                Assert.True(held.Delete(0));
            });
        }

        for (int thread = 0; thread < 2; thread++)
        {
            run.Add((session, random) =>
            {
                AddShuffled(session.Keys, count, random);
                var take = default(TakeMany);
                session.ReadMany(session.Keys, ref take);
                int found = 0;
                for (int i = 0; i < count; i++) found += take.Numbers[i] == 42 ? 1 : 0;
                Assert.Equal(1, found);
            });
        }

        run.AddWeather();
        run.Finish();
    }

    // Databases 1 and 2 hold different values. Allowed: each once. Forbidden: one of them twice, seen by one call.
    [Fact]
    public void Swapped_databases_are_swapped_at_one_instant()
    {
        using var run = new StressRun(1.5);
        using (StoreSession first = run.Store.CreateSession())
        {
            first.BeginTurn();
            foreach (int number in new[] { 1, 2 })
            {
                first.Select(number);
                first.Set(first.Key("k0"u8), BitConverter.GetBytes((long)number));
            }
        }

        for (int thread = 0; thread < 3; thread++)
        {
            bool hold = thread == 0;
            run.Add((session, _) =>
            {
                session.Keys.Clear();
                Add(session.Keys, 0, 1);
                Add(session.Keys, 0, 2);
                long one, two;
                if (hold)
                {
                    using HeldKeys held = session.Hold(session.Keys);
                    (one, two) = (NumberValue.From(held.View(0), out bool _),
                        NumberValue.From(held.View(1), out bool _));
                }
                else
                {
                    var take = default(TakeMany);
                    session.ReadMany(session.Keys, ref take);
                    (one, two) = (take.Numbers[0], take.Numbers[1]);
                }

                Assert.Equal(3, one + two);
                Assert.NotEqual(one, two);
            });
        }

        run.AddOutside(() => run.Store.Swap(1, 2));
        run.Finish();
    }

    // Forbidden: after FLUSHALL has answered, a value whose SET had answered before FLUSHALL was called.
    [Fact]
    public void Nothing_of_before_a_flush_is_read_after_it()
    {
        using var run = new StressRun(2);
        var sets = new System.Collections.Concurrent.ConcurrentDictionary<long, long>();
        long flushed = 0, values = 0;
        for (int thread = 0; thread < 2; thread++)
        {
            run.Add((session, random) =>
            {
                session.Select(0);
                long value = Interlocked.Increment(ref values);
                Span<byte> bytes = stackalloc byte[80];
                session.Set(session.Key(TestStore.Bytes("f" + random.Next(2000))), NumberValue.Fill(bytes, value));
                sets[value] = run.Now();
                session.Select(0);
                long before = Volatile.Read(ref flushed);
                session.Select(0);
                var take = default(TakeNumber);
                if (session.Read(session.Key(TestStore.Bytes("f" + random.Next(2000))), DataType.Any,
                    ref take) != StoreStatus.Ok) return;
                Assert.False(take.IsTorn);
                if (sets.TryGetValue(take.Number, out long set))
                    Assert.True(set > before, "a value of before the flush");
            });
        }

        run.AddOutside(() =>
        {
            long call = run.Now();
            run.Store.FlushAll();
            Volatile.Write(ref flushed, call);
            for (int i = 0; i < 3; i++) run.Store.Maintain();
        });
        run.Finish();
    }

    // S13: what is there from the first call to the last is returned, whatever else happens.
    [Fact]
    public void Scan_returns_all_that_stays_while_others_insert_delete_and_move()
    {
        using var run = new StressRun(3);
        const int stay = 3000;
        using (StoreSession first = run.Store.CreateSession())
        {
            first.BeginTurn();
            first.Select(0);
            for (int i = 0; i < stay; i++) first.Set(first.Key(TestStore.Bytes("stay" + i)), new byte[50]);
        }

        long scans = 0;
        for (int thread = 0; thread < 2; thread++)
        {
            var seen = new HashSet<string>();
            ulong cursor = 0;
            run.Add((session, _) =>
            {
                var collect = new CollectKeys(seen);
                cursor = session.Scan(cursor, ref collect);
                if (cursor != 0) return;
                int found = seen.Count(key => key.StartsWith("stay", StringComparison.Ordinal));
                Assert.Equal(stay, found);
                seen.Clear();
                Interlocked.Increment(ref scans);
            });
        }

        run.Add((session, random) =>
        {
            session.Set(session.Key(TestStore.Bytes("stay" + random.Next(stay))), new byte[random.Next(30, 200)]);
        });
        run.AddWeather();
        run.Finish(() => Volatile.Read(ref scans) > 0);
    }
}
