using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Commands over very many keys, step by step, and those who meet them half-way.</summary>
public sealed unsafe class LongHoldTests
{
    private const int Keys = 5000;

    private static string NameOf(int index) => $"key:{index}";

    [Fact]
    public void Nothing_is_seen_of_a_long_write_before_all_of_it()
    {
        using var test = new TestStore();
        using var work = new Work(Keys, ManyKeysAction.Set, "new");
        using var hold = new KeysHold(test.Store, 0, Keys, work);
        test.Begin();
        test.Set(NameOf(7), "old");
        // Until it has locked its first keys nothing is in anybody's way.
        int steps = 0;
        while (!hold.Step()) steps++;
        Assert.True(steps > 4 * Keys / KeyStep.KeysMax, $"{steps} steps");
        test.Begin();
        Assert.Equal(StoreStatus.Ok, hold.Status);
        for (int i = 0; i < Keys; i++) Assert.Equal("new", test.Get(NameOf(i)));
        test.Check();
    }

    // Keys that are in no cache, or a slow machine: 1,024 of them would be 20 ms here.
    [Theory]
    [InlineData(nameof(ManyKeysAction.Set))]
    [InlineData(nameof(ManyKeysAction.Delete))]
    [InlineData(nameof(ManyKeysAction.Read))]
    public void A_step_of_keys_that_take_long_ends_by_the_clock(string name)
    {
        using var test = new TestStore();
        for (int i = 0; i < Keys; i++) test.Set(NameOf(i), "old");
        var action = Enum.Parse<ManyKeysAction>(name);
        int uses = 0, most = 0;
        using var work = new Work(Keys, action, "new")
        {
            Used = () =>
            {
                uses++;
                for (long end = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 50_000);
                    Stopwatch.GetTimestamp() < end;) Thread.SpinWait(1);
            },
        };
        using var hold = new KeysHold(test.Store, 0, Keys, work);
        for (bool done = false; !done; uses = 0)
        {
            test.Session.GoOffline();
            done = hold.Step();
            most = Math.Max(most, uses);
        }

        Assert.InRange(most, 32, 65);
        work.Used = null;
        test.Begin();
        string? expected = action switch
        {
            ManyKeysAction.Set => "new",
            ManyKeysAction.Delete => null,
            _ => "old",
        };
        Assert.Equal(expected, test.Get(NameOf(9)));
        if (action == ManyKeysAction.Read) Assert.Equal(Keys, work.Values.Count);
        test.Check();
    }

    // The thread that meets a locked key may be the one whose next turn would go on with the command.
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Whoever_needs_a_key_that_a_long_command_has_locked_finishes_the_command(int way)
    {
        // At each place where it may be met: after any number of steps.
        for (int steps = 0; ; steps++)
        {
            using var test = new TestStore();
            for (int i = 0; i < Keys; i += 3) test.Set(NameOf(i), "old");
            using var work = new Work(Keys, ManyKeysAction.Set, "new");
            using var hold = new KeysHold(test.Store, 0, Keys, work);
            bool done = false;
            for (int i = 0; i < steps && !done; i++) done = hold.Step();
            test.Begin();
            // Every key, so that all are met; the first meeting finishes it.
            for (int i = 0; i < Keys; i += 61) Meet(test, way, i);
            while (!hold.Step())
            {
                // Ends: it gets on with each.
            }

            test.Begin();
            Assert.Equal(StoreStatus.Ok, hold.Status);
            for (int i = 0; i < Keys; i++) Assert.NotNull(test.Get(NameOf(i)));
            test.Check();
            if (done) return;
        }
    }

    private static void Meet(TestStore test, int way, int index)
    {
        string name = NameOf(index);
        switch (way)
        {
            case 0:
                Assert.Contains(test.Get(name), new[] { null, "old", "new" });
                break;
            case 1:
                test.Set(name, "other");
                break;
            case 2:
                test.Delete(name);
                test.Set(name, "again");
                break;
            default:
                byte[] one = Encoding.Latin1.GetBytes(name),
                    two = Encoding.Latin1.GetBytes(NameOf((index * 31) % Keys));
                fixed (byte* first = one, second = two)
                {
                    test.Session.Keys.Clear();
                    test.Session.Keys.Add(first, one.Length, 0);
                    test.Session.Keys.Add(second, two.Length, 0);
                    using HeldKeys held = test.Session.Hold(test.Session.Keys);
                    Assert.Equal(StoreStatus.Ok, held.Status);
                    Assert.Equal(StoreStatus.Ok, held.Set(0, "both"u8));
                    Assert.Equal(StoreStatus.Ok, held.Set(1, "both"u8));
                }

                break;
        }
    }

    [Fact]
    public void A_long_command_that_is_given_up_half_way_has_changed_all_or_nothing()
    {
        for (int steps = 0; ; steps++)
        {
            using var test = new TestStore();
            for (int i = 0; i < Keys; i += 2) test.Set(NameOf(i), "old");
            using var work = new Work(Keys, ManyKeysAction.Set, new string('n', 40));
            bool done = false;
            using (var hold = new KeysHold(test.Store, 0, Keys, work))
            {
                for (int i = 0; i < steps && !done; i++) done = hold.Step();
            }

            test.Begin();
            bool changed = test.Get(NameOf(0)) != "old";
            for (int i = 0; i < Keys; i++)
                Assert.Equal(changed ? work.Text : i % 2 == 0 ? "old" : null, test.Get(NameOf(i)));
            test.Check();
            if (!done) continue;
            Assert.True(changed);
            return;
        }
    }

    [Fact]
    public void Refused_memory_leaves_all_keys_of_a_long_write_as_they_were()
    {
        int refused = 0;
        for (int nth = 1; nth < 40; nth++)
        {
            using var test = new TestStore();
            for (int i = 0; i < Keys; i += 2) test.Set(NameOf(i), "old");
            test.Session.GoOffline();
            using var work = new Work(Keys, ManyKeysAction.Set, new string('n', 2000));
            using var hold = new KeysHold(test.Store, 0, Keys, work);
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls == nth;
            while (!hold.Step())
            {
                // Ends: it gets on with each.
            }

            test.Store.Budget.Refuse = null;
            test.Begin();
            if (hold.Status == StoreStatus.OutOfMemory) refused++;
            for (int i = 0; i < Keys; i++)
                Assert.Equal(hold.Status == StoreStatus.Ok ? work.Text : i % 2 == 0 ? "old" : null,
                    test.Get(NameOf(i)));
            test.Check();
        }

        Assert.True(refused > 5, $"only {refused} were refused");
    }

    // The placeholders of absent keys are in the index, though nothing counts them: with the 1,024 buckets that an
    // empty one has, each of them would be looked for in a chain of hundreds.
    [Fact]
    public void The_index_grows_with_the_keys_that_are_held_absent()
    {
        const int keys = 100_000;
        using var test = new TestStore();
        test.Session.GoOffline();
        using var work = new Work(keys, ManyKeysAction.Delete, "");
        Finish(test.Store, keys, work);
        Assert.Equal(0, work.Deleted);
        test.Begin();
        Assert.True(test.Store.Table[0]!.Index.BucketCount >= keys / 8,
            $"{test.Store.Table[0]!.Index.BucketCount} buckets");
        test.Check();
    }

    // By keys there is nothing in it. And a halving would not end before the command, since its epoch stands still; nor
    // could the index grow before that.
    [Fact]
    public void Nor_is_it_halved_meanwhile()
    {
        const int keys = 100_000;
        using var test = new TestStore();
        test.Session.GoOffline();
        using var work = new Work(keys, ManyKeysAction.Delete, "");
        using var hold = new KeysHold(test.Store, 0, keys, work);
        long most = 0;
        while (!hold.Step())
        {
            test.Store.Maintain();
            if (test.Store.Table[0] is { } database) most = Math.Max(most, database.Index.BucketCount);
        }

        Assert.True(most >= keys / 8, $"{most} buckets");
        for (int i = 0; i < 40; i++) test.Store.Maintain();
        Assert.Equal(most, test.Store.Table[0]!.Index.BucketCount);     // the next one may come at once
        test.Clock.Advance(10_000);
        for (int i = 0; i < 40; i++) test.Store.Maintain();
        Assert.True(test.Store.Table[0]!.Index.BucketCount < keys / 8, "it is halved when nothing is held any more");
        test.Begin();
        test.Check();
    }

    // A halving stays on for as long as somebody's turn lasts: so the command waits here for as long as any does.
    [Theory, InlineData(false), InlineData(true)]
    public void Who_waits_for_a_halving_goes_on_after_a_while_and_may_leave(bool leaves)
    {
        const int keys = 20_000;
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        var store = server.Server.Store;
        using (var first = new Work(keys, ManyKeysAction.Delete, "")) Finish(store, keys, first);
        clock.Advance(10_000);
        using var work = new Work(keys, ManyKeysAction.Set, "new");
        using (var guard = store.Enter())
        {
            Eventually.Holds(() => store.Table[0]!.Index.Halving.IsOn, () => "it is not halved");
            if (leaves)
            {
                using var left = new KeysHold(store, 0, keys, work);
                // Ends: it has begun to wait.
                while (!store.SteppedHolds.HasMany) Assert.False(left.Step());
                Assert.False(left.HasKeys);
            }

            Finish(store, keys, work);
        }

        Assert.Equal(keys, store.Count(0));
        store.CheckIntegrity();
    }

    private static void Finish(Store store, int keys, Work work)
    {
        using var hold = new KeysHold(store, 0, keys, work);
        for (long end = Stopwatch.GetTimestamp() + (60 * Stopwatch.Frequency); !hold.Step();)
            Assert.True(Stopwatch.GetTimestamp() < end, "it does not get on");
        Assert.Equal(StoreStatus.Ok, hold.Status);
    }

    [Fact]
    public void Two_long_commands_wait_for_each_other_and_get_on()
    {
        using var test = new TestStore();
        using Work one = new(Keys, ManyKeysAction.Set, "one"), two = new(Keys, ManyKeysAction.Delete, "");
        using KeysHold first = new(test.Store, 0, Keys, one), second = new(test.Store, 0, Keys, two);
        while (!first.Step() | !second.Step())
        {
            // Ends: the one that may not lock yet does a step of the other.
        }

        test.Begin();
        Assert.True(test.Store.Count(0) is 0 or Keys);
        Assert.Equal(two.Deleted, test.Store.Count(0) == 0 ? Keys : 0);
        test.Check();
    }

    [Fact]
    public void A_long_command_goes_on_in_a_database_that_is_flushed_meanwhile()
    {
        for (int steps = 0; ; steps++)
        {
            using var test = new TestStore();
            for (int i = 0; i < Keys; i += 2) test.Set(NameOf(i), "old");
            test.Session.GoOffline();
            using var work = new Work(Keys, ManyKeysAction.Set, new string('n', 40));
            using var hold = new KeysHold(test.Store, 0, Keys, work);
            bool done = false;
            for (int i = 0; i < steps && !done; i++) done = hold.Step();
            test.Store.FlushAll();
            test.Store.Maintain();
            while (!hold.Step()) test.Store.Maintain();
            Assert.True(test.Store.Count(0) is 0 or Keys, $"{test.Store.Count(0)} keys");
            test.Begin();
            test.Check();
            if (done) return;
        }
    }

    // Between the steps of the read epochs pass, segments are freed and taken again.
    [Fact]
    public void A_long_read_sees_one_instant_or_fails()
    {
        Random random = Seed.NewRandom();
        int held = 0, failed = 0;
        for (int round = 0; round < TimeBudget.Count(60); round++)
        {
            using var test = new TestStore();
            int keys = random.Next(1500, 4000);
            for (int i = 0; i < keys; i++) test.Set(NameOf(i), "0");
            using var work = new Work(keys, ManyKeysAction.Read, "");
            using var read = new SteppedRead(test.Store, 0, keys, work);
            // A version is written to one key after another, in order: at any instant the values fall along the keys.
            int version = 1, next = 0, gap = random.Next(1, 400);
            bool done = false;
            while (!done)
            {
                if (random.Next(3) == 0) gap = random.Next(1, 4) == 1 ? int.MaxValue : random.Next(1, 400);
                test.Begin();
                for (int i = 0; i < 4 && gap != int.MaxValue && random.Next(4) == 0; i++)
                {
                    for (int j = 0; j < gap; j++)
                    {
                        test.Set(NameOf(next), version.ToString(System.Globalization.CultureInfo.InvariantCulture));
                        if (++next == keys) (next, version) = (0, version + 1);
                    }
                }

                test.Begin();
                done = read.Step(test.Session);
                if (random.Next(8) == 0)
                {
                    test.Session.GoOffline();
                    test.Store.Maintain();
                }
            }

            if (read.HasFailed)
            {
                failed++;
                Assert.Empty(work.Values);
                continue;
            }

            held++;
            Assert.Equal(keys, work.Values.Count);
            var numbers = work.Values.Select(
                value => int.Parse(value!, System.Globalization.CultureInfo.InvariantCulture)).ToList();
            for (int i = 1; i < keys; i++)
                Assert.True(numbers[i] <= numbers[i - 1], $"key {i} has {numbers[i]}, the one before {numbers[i - 1]}");
            Assert.True(numbers[0] - numbers[^1] <= 1);
        }

        Assert.True(held > 0 && failed > 0, $"{held} held, {failed} failed");
    }

    private sealed class Work : IManyKeysWork, IDisposable
    {
        public string WorkName => "a test";

        private readonly byte* _names;
        private readonly int[] _starts;
        private readonly byte[] _value;

        public Work(int keys, ManyKeysAction action, string value)
        {
            Action = action;
            Text = value;
            _value = Encoding.Latin1.GetBytes(value);
            _starts = new int[keys + 1];
            byte[] all = Encoding.Latin1.GetBytes(string.Concat(Enumerable.Range(0, keys).Select(NameOf)));
            for (int i = 0; i < keys; i++) _starts[i + 1] = _starts[i] + NameOf(i).Length;
            _names = (byte*)NativeMemory.Alloc((nuint)all.Length);
            all.CopyTo(new Span<byte>(_names, all.Length));
        }

        public string Text { get; }

        public List<string?> Values { get; } = [];

        public int Deleted { get; private set; }

        /// <summary>Called whenever it is asked about a key.</summary>
        public Action? Used { get; set; }

        public ManyKeysAction Action { get; }

        public bool OnlyIfNoneExists => false;

        public byte* Key(int index, out int length)
        {
            Used?.Invoke();
            length = _starts[index + 1] - _starts[index];
            return _names + _starts[index];
        }

        public int ValueBytes(int index)
        {
            Used?.Invoke();
            return 8;
        }

        public ReadOnlySpan<byte> Value(int index, out Block block)
        {
            Used?.Invoke();
            block = default;
            return _value;
        }

        public void PrefetchValues(ReadOnlySpan<int> indexes)
        {
        }

        public void BeginReading()
        {
        }

        public bool MayReadMore => true;

        public void Restart() => Values.Clear();

        public void Read(int index, in ValueView value)
        {
            Used?.Invoke();
            Values.Add(value.Exists ? Encoding.Latin1.GetString(value.Bytes) : null);
        }

        public void CountDeleted()
        {
            Used?.Invoke();
            Deleted++;
        }

        public void Dispose() => NativeMemory.Free(_names);
    }
}
