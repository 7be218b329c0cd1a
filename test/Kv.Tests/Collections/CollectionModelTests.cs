using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Collections;

/// <summary>Hashes and sets against dictionaries and sets of .NET, across every limit and back.</summary>
public sealed class CollectionModelTests
{
    [Theory]
    [InlineData(1, 20, 20_000)]
    [InlineData(2, 400, 40_000)]
    [InlineData(3, 20_000, 120_000)]
    public void A_hash_behaves_as_a_dictionary_does(int seed, int fields, int steps)
    {
        using var test = new TestStore(new StoreOptions { PackedLimits = { HashEntries = 100, HashBytes = 40 } });
        Random random = Seed.NewRandom(seed);
        var model = new Dictionary<string, string>();
        for (int step = 0; step < steps; step++)
        {
            // Grows for a while, then shrinks, so that every limit is passed both ways.
            bool shrinks = step / (steps / 8) % 2 == 1;
            string field = Name(random, fields);
            if (random.Next(10) < (shrinks ? 7 : 2))
            {
                Assert.Equal(model.Remove(field), Remove(test, field));
            }
            else
            {
                string value = new((char)('a' + random.Next(26)),
                    random.Next(50) == 0 ? random.Next(3000) : random.Next(30));
                Assert.Equal(model.TryAdd(field, value), Set(test, field, value));
                model[field] = value;
            }

            if (step % (steps / 40) == 0) CheckHash(test, model, random);
        }

        test.Delete("h");
        AssertNothingIsLeft(test);
    }

    [Theory]
    [InlineData(1, 20, 20_000, false)]
    [InlineData(2, 400, 40_000, false)]
    [InlineData(3, 20_000, 120_000, false)]
    [InlineData(4, 2_000, 40_000, true)]
    public void A_set_behaves_as_a_set_does(int seed, int members, int steps, bool integersOnly)
    {
        using var test = new TestStore(
            new StoreOptions { PackedLimits = { SetEntries = 100, SetBytes = 40, IntegerSetEntries = 200 } });
        Random random = Seed.NewRandom(seed);
        var model = new HashSet<string>();
        for (int step = 0; step < steps; step++)
        {
            bool shrinks = step / (steps / 8) % 2 == 1;
            string member = integersOnly || random.Next(1000) != 0
                ? (random.Next(members) * (random.Next(3) == 0 ? 1L << random.Next(50) : 1)).ToString()
                : Name(random, members);
            if (random.Next(10) < (shrinks ? 8 : 2)) Assert.Equal(model.Remove(member), RemoveMember(test, member));
            else Assert.Equal(model.Add(member), Add(test, member));
            if (shrinks && random.Next(3) == 0 && model.Count > 0)
            {
                string any = Pop(test);
                Assert.True(model.Remove(any), any);
            }

            if (step % (steps / 40) == 0) CheckSet(test, model);
        }

        test.Delete("s");
        AssertNothingIsLeft(test);
    }

    [Fact]
    public void Every_refused_allocation_leaves_a_collection_as_it_was()
    {
        for (int nth = 1; nth <= 8; nth++)
        {
            using var test = new TestStore();
            Random random = Seed.NewRandom(nth);
            var hash = new Dictionary<string, string>();
            var set = new HashSet<string>();
            int calls = 0, refused = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 3000; step++)
            {
                string name = Name(random, 900), value = new('v', random.Next(90));
                try
                {
                    Set(test, name, value);
                    hash[name] = value;
                }
                catch (OutOfMemoryException)
                {
                    refused++;
                }

                try
                {
                    Add(test, name);
                    set.Add(name);
                }
                catch (OutOfMemoryException)
                {
                    refused++;
                }
            }

            Assert.NotEqual(0, refused);
            test.Store.Budget.Refuse = null;
            if (hash.Count > 0) CheckHash(test, hash, random);
            if (set.Count > 0) CheckSet(test, set);
        }
    }

    [Fact]
    public void A_scan_meets_every_member_that_stays_while_the_table_grows_and_shrinks()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(5);
        for (int round = 0; round < 20; round++)
        {
            for (int i = 0; i < 3000; i++) Add(test, "stays" + i);
            var met = new HashSet<string>();
            ulong cursor = 0;
            int others = 0;
            do
            {
                cursor = Scan(test, cursor, met);
                int goal = random.Next(0, 12_000);
                for (int i = 0; i < 200; i++)
                {
                    if (others < goal) Add(test, "other" + others++);
                    else if (others > 0) RemoveMember(test, "other" + --others);
                }
            }
            while (cursor != 0);
            for (int i = 0; i < 3000; i++) Assert.Contains("stays" + i, met);
            while (others > 0) RemoveMember(test, "other" + --others);
        }
    }

    [Fact]
    public void A_large_collection_takes_the_place_of_a_value_of_a_byte_that_has_expired()
    {
        using var test = new TestStore();
        string field = new('f', 100);
        for (int i = 0; i < 50; i++)
        {
            Assert.Equal(StoreStatus.Ok, test.SetWithExpiry("h", "x", test.Clock.Ms + 10));
            Assert.Equal(StoreStatus.Ok, test.SetWithExpiry("s", "", test.Clock.Ms + 10));
            test.Set("next" + i, "y");
            test.Clock.Ms += 20;
            Assert.True(Set(test, field, "v"));
            Assert.True(Add(test, field));
            Assert.Equal("y", test.Get("next" + i));
            test.Check();
            test.Delete("h");
            test.Delete("s");
        }

        AssertNothingIsLeft(test);
    }

    [Fact]
    public void A_table_that_grows_and_shrinks_by_turns_takes_the_same_memory_again()
    {
        using var test = new TestStore();
        long most = 0;
        for (int round = 0; round < 40; round++)
        {
            for (int i = 0; i < 3000; i++) Add(test, "member" + i);
            if (round == 1) most = test.Store.Budget.BlockBytes;
            for (int i = 200; i < 3000; i++) RemoveMember(test, "member" + i);
        }

        test.Settle();
        test.Check();
        Assert.InRange(test.Store.Budget.BlockBytes, 1, most + (most / 4));
    }

    [Fact]
    public void Random_members_are_all_as_likely()
    {
        using var test = new TestStore();
        const int members = 700, draws = 140_000;
        for (int i = 0; i < members; i++) Add(test, "m" + i);
        var counts = new int[members];
        var dice = new Dice((ulong)Seed.NewRandom(6).NextInt64());
        using (HeldKey held = Hold(test, "s", DataType.Set))
        {
            SetView set = new SetValue(held.Value).View;
            for (int i = 0; i < draws; i++) counts[int.Parse(Encoding.ASCII.GetString(set.Random(ref dice))[1..])]++;
        }

        double expected = (double)draws / members,
            chi = counts.Sum(count => (count - expected) * (count - expected) / expected);
        // 699 degrees of freedom: mean 699, standard deviation 37; six of those are a chance of one in a billion.
        Assert.InRange(chi, 699 - (6 * 37), 699 + (6 * 37));
    }

    // Drawn, and what was drawn before left out; chosen in a walk; with repeats; and without the memory to draw.
    [Theory]
    [InlineData(80, false)]
    [InlineData(80, true)]
    [InlineData(300, false)]
    [InlineData(-80, false)]
    public void Sampled_members_are_all_as_likely(int count, bool isRefused)
    {
        using var test = new TestStore();
        const int members = 700, rounds = 2000;
        for (int i = 0; i < members; i++) Add(test, "m" + i);
        var counts = new int[members];
        Random random = Seed.NewRandom(7);
        long before = test.Store.Budget.ExternalBytes;
        if (isRefused) test.Store.Budget.Refuse = () => true;
        using (HeldKey held = Hold(test, "s", DataType.Set))
        {
            SetView set = new SetValue(held.Value).View;
            for (int round = 0; round < rounds; round++)
            {
                var sample = new Sample([]);
                var all = default(Unbounded);
                var drawn = new MemberSample(count);
                drawn.Dice = new Dice((ulong)random.NextInt64());
                Assert.True(set.Sample(ref drawn, test.Store.Budget, ref sample, ref all));
                drawn.Dispose();
                Assert.Equal(Math.Abs(count), sample.Members.Count);
                if (count > 0) Assert.Equal(count, sample.Members.Distinct().Count());
                foreach (int member in sample.Members) counts[member]++;
            }
        }

        Assert.Equal(before, test.Store.Budget.ExternalBytes);
        double draws = (double)rounds * Math.Abs(count), expected = draws / members,
            chi = counts.Sum(had => (had - expected) * (had - expected) / expected);
        // As above; of different ones each deviates less, by the share of those that are left out.
        if (count > 0) chi /= 1 - ((double)count / members);
        Assert.InRange(chi, 699 - (6 * 37), 699 + (6 * 37));
    }

    private readonly record struct Sample(List<int> Members) : IElementSink
    {
        public void Write(ReadOnlySpan<byte> member) => Members.Add(int.Parse(Encoding.ASCII.GetString(member)[1..]));
    }

    private static string Name(Random random, int names) =>
        random.Next(names) + (random.Next(60) == 0 ? new string('x', random.Next(400)) : "");

    private static HeldKey Hold(TestStore test, string key, DataType type, int expectedBytes = -1)
    {
        test.Begin();
        return test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), type, expectedBytes);
    }

    private static bool Set(TestStore test, string field, string value)
    {
        int bytes = field.Length + value.Length, longest = Math.Max(field.Length, value.Length);
        using HeldKey held = Hold(test, "h", DataType.Hash, HashValue.ExpectedBytes(1, bytes, longest));
        if (held.Status != StoreStatus.Ok) throw new OutOfMemoryException();
        var hash = new HashValue(held.Value);
        if (!hash.TryReserve(1, bytes, longest)) throw new OutOfMemoryException();
        bool created = hash.Set(TestStore.Bytes(field), TestStore.Bytes(value));
        hash.Settle();
        return created;
    }

    private static bool Remove(TestStore test, string field)
    {
        using HeldKey held = Hold(test, "h", DataType.Hash);
        if (held.Status != StoreStatus.Ok) return false;
        var hash = new HashValue(held.Value);
        bool removed = hash.Remove(TestStore.Bytes(field));
        hash.Settle();
        return removed;
    }

    private static bool Add(TestStore test, string member)
    {
        bool isInteger = IntegerText.TryParse(TestStore.Bytes(member), out _);
        using HeldKey held = Hold(test, "s", DataType.Set,
            SetValue.ExpectedBytes(1, member.Length, member.Length, isInteger));
        if (held.Status != StoreStatus.Ok) throw new OutOfMemoryException();
        var set = new SetValue(held.Value);
        if (!set.TryReserve(1, member.Length, member.Length, isInteger)) throw new OutOfMemoryException();
        bool added = set.Add(TestStore.Bytes(member));
        set.Settle();
        return added;
    }

    private static bool RemoveMember(TestStore test, string member)
    {
        using HeldKey held = Hold(test, "s", DataType.Set);
        if (held.Status != StoreStatus.Ok) return false;
        var set = new SetValue(held.Value);
        bool removed = set.Remove(TestStore.Bytes(member));
        set.Settle();
        return removed;
    }

    private static string Pop(TestStore test)
    {
        using HeldKey held = Hold(test, "s", DataType.Set);
        var set = new SetValue(held.Value);
        var dice = Dice.New();
        ReadOnlySpan<byte> member = set.View.Random(ref dice);
        string text = Encoding.ASCII.GetString(member);
        Assert.True(set.Remove(TestStore.Bytes(text)));
        set.Settle();
        return text;
    }

    private static ulong Scan(TestStore test, ulong cursor, HashSet<string> met)
    {
        using HeldKey held = Hold(test, "s", DataType.Set);
        var visit = new Collect(met);
        return new SetValue(held.Value).View.Scan(cursor, ref visit);
    }

    private static void CheckHash(TestStore test, Dictionary<string, string> model, Random random)
    {
        test.Settle();
        test.Check();
        using HeldKey held = Hold(test, "h", DataType.Hash);
        Assert.Equal(model.Count > 0 ? StoreStatus.Ok : StoreStatus.NotFound, held.Status);
        if (model.Count == 0) return;
        HashView hash = new HashValue(held.Value).View;
        Assert.Equal(model.Count, hash.Count);
        var found = new Dictionary<string, string>();
        var walk = hash.GetWalk();
        while (walk.Next(out var field, out var value))
            found.Add(Encoding.ASCII.GetString(field), Encoding.ASCII.GetString(value));
        Assert.Equal(model.OrderBy(pair => pair.Key, StringComparer.Ordinal),
            found.OrderBy(pair => pair.Key, StringComparer.Ordinal));
        string any = model.Keys.ElementAt(random.Next(model.Count));
        Assert.True(hash.TryGet(TestStore.Bytes(any), out var there));
        Assert.Equal(model[any], Encoding.ASCII.GetString(there));
        Assert.False(hash.TryGet(TestStore.Bytes(any + "?"), out _));
    }

    private static void CheckSet(TestStore test, HashSet<string> model)
    {
        test.Settle();
        test.Check();
        using HeldKey held = Hold(test, "s", DataType.Set);
        Assert.Equal(model.Count > 0 ? StoreStatus.Ok : StoreStatus.NotFound, held.Status);
        if (model.Count == 0) return;
        SetView set = new SetValue(held.Value).View;
        Assert.Equal(model.Count, set.Count);
        var found = new HashSet<string>();
        var walk = set.GetWalk();
        while (walk.Next(out var member)) Assert.True(found.Add(Encoding.ASCII.GetString(member)));
        Assert.Equal(model.Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
        foreach (string member in model.Take(50)) Assert.True(set.Contains(TestStore.Bytes(member)));
        Assert.False(set.Contains("never"u8));
    }

    private static void AssertNothingIsLeft(TestStore test)
    {
        test.Settle();
        test.Check();
        Assert.Equal(0, test.Store.Budget.BlockBytes);
    }

    private readonly struct Collect(HashSet<string> met) : IMemberVisit
    {
        public unsafe void Visit(byte* item) => met.Add(Encoding.ASCII.GetString(MemberItem.MemberOf(item)));
    }
}
