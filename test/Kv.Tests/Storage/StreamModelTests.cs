using System.Globalization;
using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Streams and their groups against obvious lists and dictionaries.</summary>
public class StreamModelTests
{
    [Theory]
    [InlineData(1, 4, 0, 8_000)]
    [InlineData(2, 100, 4096, 20_000)]
    [InlineData(3, 0, 300, 15_000)]
    [InlineData(4, 1, 1, 6_000)]
    [InlineData(5, 3000, 1_000_000, 15_000)]
    public void Random_changes_leave_what_the_model_has(int stream, int entries, int bytes, int steps)
    {
        using var test = new TestStore();
        test.Store.PackedLimits.StreamNodeEntries = entries;
        test.Store.PackedLimits.StreamNodeBytes = bytes;
        var model = new StreamModel();
        Random random = Seed.NewRandom(stream);
        steps = TimeBudget.Count(steps);
        for (int step = 0; step < steps; step++)
        {
            if (step % 256 == 0) test.Begin();
            // Waves: more is added than removed, then the other way round.
            bool grows = step / (steps / 6 + 1) % 2 == 0;
            int which = random.Next(100);
            if (which < (grows ? 60 : 25)) Append(test, model, random);
            else if (which < (grows ? 62 : 30) && random.Next(3) == 0) Trim(test, model, random);
            else if (which < (grows ? 65 : 50)) Delete(test, model, random);
            else if (model.Exists) ChangeGroups(test, model, random);
            if (model.Exists && step % 64 == 0) Compare(test, model, random);
            if (model.Exists && random.Next(500) == 0) Rebuild(test, random);
            if (step % (steps / 40 + 1) == 0) test.Check();
        }

        test.Check();
        CompareAll(test, model);
        test.Delete("k");
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    /// <summary>Node by node, as redis-server 7.0.15 has it with the same options: 100 entries, or 4,096 bytes of a
    /// listpack.</summary>
    [Fact]
    public void Leaves_are_full_where_nodes_of_Redis_are()
    {
        using var test = new TestStore();
        for (int i = 1; i <= 1000; i++)
            Assert.Equal(StoreStatus.Ok, Append(test, new StreamId((ulong)i, 0), ["field", "value"]));
        Assert.Equal(10, With(test, value => new StreamView(value.View).Leaves));
        test.Delete("k");
        for (int i = 1; i <= 70; i++) Append(test, new StreamId(1, (ulong)i), ["field", new string('v', 100)]);
        long first = With(test, value => new LargeStream(value.Region) is var stream
            ? stream.LeafAt(stream.FirstLeaf).Count : 0);
        Assert.Equal(36, first);
        test.Check();
    }

    [Fact]
    public void Entries_that_leave_at_the_front_make_room_for_those_at_the_end()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(21);
        long after = 0;
        for (int i = 1; i <= 60_000; i++)
        {
            if (i % 512 == 0) test.Begin();
            Append(test, new StreamId((ulong)i, 0),
                ["a", new string('x', random.Next(10, 60)), "b", i.ToString(CultureInfo.InvariantCulture)]);
            With(test, value => new StreamValue(value)
                .Trim(new StreamTrim { MaxLength = 1000, IsApproximate = true, Limit = 10_000 }));
            if (i == 6000) after = test.Store.Stats.BlockBytes;
        }

        test.Check();
        Assert.InRange(With(test, value => new StreamView(value.View).Length), 1000, 1100);
        // What is free is a part of it: how large a part hangs on what sizes came when. Without using it again it would
        // be ten times as much.
        Assert.InRange(test.Store.Stats.BlockBytes, 1, after * 5 / 2);
    }

    [Fact]
    public void A_stream_of_one_entry_is_small()
    {
        using var test = new TestStore();
        Append(test, new StreamId(1, 1), ["field", "value"]);
        Assert.InRange(test.Store.Stats.BlockBytes, 1, 576);
    }

    [Fact]
    public void A_large_entry_is_kept_whole_and_given_back()
    {
        using var test = new TestStore();
        test.Store.PackedLimits.StreamNodeBytes = 1 << 20;
        string[] items = ["small", "v", "large", new string('l', 300_000), new string('f', 70_000), ""];
        for (int i = 1; i <= 5; i++) Append(test, new StreamId(7, (ulong)i), i % 2 == 0 ? ["a", "b"] : items);
        test.Check();
        With(test, value =>
        {
            var walk = new StreamView(value.View).Between(StreamId.Zero, StreamId.Max, isBackward: true);
            for (int i = 5; i >= 1; i--)
            {
                Assert.True(walk.Next(out StreamEntry entry));
                Assert.Equal(i % 2 == 0 ? ["a", "b"] : items, Items(entry));
            }

            return 0;
        });
        test.Delete("k");
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    // M06: whichever allocation is refused, the answer says so and the stream is as it was.
    [Fact]
    public void Every_refused_allocation_leaves_the_stream_as_it_was()
    {
        int refused = 0;
        for (int nth = 1; nth <= 7; nth++)
        {
            using var test = new TestStore();
            test.Store.PackedLimits.StreamNodeEntries = 5;
            var model = new StreamModel();
            Random random = Seed.NewRandom(200 + nth);
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 2500; step++)
            {
                if (step % 64 == 0) test.Begin();
                if (random.Next(3) == 0) refused += Append(test, model, random) ? 0 : 1;
                else if (model.Exists) refused += ChangeGroups(test, model, random) ? 0 : 1;
                if (model.Exists && step % 50 == 0) CompareAll(test, model);
            }

            test.Store.Budget.Refuse = null;
            test.Settle();
            Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
            if (model.Exists) CompareAll(test, model);
        }

        Assert.True(refused > 100, $"only {refused} were refused");
    }

    [Fact]
    public void A_copied_region_is_the_same_stream()
    {
        using var test = new TestStore();
        var model = new StreamModel();
        Random random = Seed.NewRandom(31);
        for (int i = 0; i < 3000; i++)
        {
            Append(test, model, random);
            ChangeGroups(test, model, random);
        }

        With(test, value =>
        {
            Region copy = value.Region.Copy(test.Store.Budget);
            CollectionCheck.Run(copy, ValueKind.Stream, test.Store.Hash);
            Assert.Equal(model.Entries.Count, new LargeStream(copy).Length);
            copy.Free();
            return 0;
        });
    }

    // M06: the copy is given up, and the stream is as it was.
    [Fact]
    public void A_copy_that_gets_no_memory_leaves_the_stream_as_it_is()
    {
        using var test = new TestStore();
        var model = new StreamModel();
        Random random = Seed.NewRandom(41);
        for (int i = 0; i < 4000; i++)
        {
            Append(test, model, random);
            ChangeGroups(test, model, random);
        }

        int refused = 0;
        for (int nth = 1; nth < 30; nth++)
        {
            int asked = 0;
            test.Store.Budget.Refuse = () => ++asked == nth;
            refused += Rebuild(test, random) ? 0 : 1;
            test.Store.Budget.Refuse = null;
            test.Check();
            CompareAll(test, model);
        }

        Assert.True(refused >= 3, $"only {refused} were refused");
    }

    /// <summary>Gives the stream another region, of what it needs.</summary>
    /// <returns>False: there was no memory.</returns>
    private static bool Rebuild(TestStore test, Random random) => With(test, value =>
    {
        var stream = new LargeStream(value.Region);
        long needed = StreamCopy.BytesFor(stream);
        var copy = default(StreamCopy);
        Region to = Region.Create(test.Store.Budget, random.Next(2) * needed);
        if (to.IsNone) return 0;
        while (!copy.IsDone)
        {
            if (copy.TryCopy(stream, ref to, test.Store.Budget, random.Next(1, 50))) continue;
            to.Free();
            return 0;
        }

        Assert.True(to.UsedBytes <= needed, $"{to.UsedBytes} bytes, not {needed}");
        CollectionCheck.Run(to, ValueKind.Stream, test.Store.Hash);
        value.MoveTo(to);
        return 1;
    }) == 1;

    private static bool Append(TestStore test, StreamModel model, Random random)
    {
        StreamId last = model.LastId;
        StreamId id = random.Next(20) switch
        {
            0 => new StreamId(last.Ms + (ulong)random.NextInt64(1L << 40), (ulong)random.NextInt64()),
            < 10 => new StreamId(last.Ms, last.Number + 1 + (ulong)random.Next(3)),
            _ => new StreamId(last.Ms + (ulong)random.Next(1, 2000), (ulong)random.Next(3)),
        };
        if (id <= last || last.Ms > ulong.MaxValue / 2) return true;
        string[] items = random.Next(10) < 7 ? ["field", Text(random), "other", Text(random)]
            : [.. Enumerable.Range(0, random.Next(1, 5))
                .SelectMany(_ => (string[])["f" + random.Next(5), Text(random)])];
        var status = Append(test, id, items);
        if (status == StoreStatus.OutOfMemory) return false;
        Assert.Equal(StoreStatus.Ok, status);
        model.Append(id, items);
        return true;
    }

    private static string Text(Random random) => random.Next(6) switch
    {
        0 => random.Next(-200, 200).ToString(CultureInfo.InvariantCulture),
        1 => random.NextInt64().ToString(CultureInfo.InvariantCulture),
        2 => random.Next(20) == 0 ? new string('l', random.Next(3000)) : "",
        _ => new string('v', random.Next(30)),
    };

    private static void Delete(TestStore test, StreamModel model, Random random)
    {
        if (model.Entries.Count == 0) return;
        StreamId id = model.Any(random);
        Assert.Equal(model.Delete(id), With(test, value => new StreamValue(value).Delete(id) ? 1 : 0) == 1);
    }

    private static void Trim(TestStore test, StreamModel model, Random random)
    {
        if (model.Entries.Count == 0) return;
        // What ~ leaves is checked against Redis; here, that it takes no more than it should.
        var trim = new StreamTrim { IsByAge = random.Next(2) == 0, IsApproximate = random.Next(2) == 0,
            MaxLength = random.Next(model.Entries.Count + 1), MinId = model.Any(random) };
        if (trim.IsApproximate) trim.Limit = random.Next(300);
        int wanted = trim.IsByAge ? model.Entries.Keys.TakeWhile(id => id < trim.MinId)
            .Count() : (int)Math.Max(0, model.Entries.Count - trim.MaxLength);
        int removed = (int)With(test, value => new StreamValue(value).Trim(in trim));
        if (trim.IsApproximate) Assert.InRange(removed, 0, trim.Limit == 0 ? wanted : Math.Min(wanted, trim.Limit));
        else Assert.Equal(wanted, removed);
        foreach (StreamId id in model.Entries.Keys.Take(removed).ToArray()) model.Entries.Remove(id);
    }

    private static bool ChangeGroups(TestStore test, StreamModel model, Random random)
    {
        string name = "g" + random.Next(3), consumer = "c" + random.Next(6);
        bool isThere = model.Groups.TryGetValue(name, out var group);
        if (!isThere || random.Next(200) == 0)
        {
            if (isThere)
            {
                Assert.Equal(1, With(test, value => new StreamValue(value).Groups.Remove(Bytes(name)) ? 1 : 0));
                model.Groups.Remove(name);
                return true;
            }

            StreamId from = random.Next(2) == 0 || model.Entries.Count == 0 ? StreamId.Zero : model.Any(random);
            if (With(test, value => new StreamValue(value).Groups.TryAdd(Bytes(name), from, -1)) == 0) return false;
            model.Groups.Add(name, new GroupModel { LastId = from });
            return true;
        }

        if (!group!.Consumers.TryGetValue(consumer, out var held))
        {
            if (With(test, value => new StreamValue(value).Groups.TryAddConsumer(Group(value, name), Bytes(consumer),
                5)) == 0) return false;
            group.Consumers[consumer] = [];
            return true;
        }

        switch (random.Next(12))
        {
            case 0:
                if (random.Next(4) != 0) return true;
                Assert.Equal(held.Count, With(test,
                    value => new StreamValue(value).Groups.RemoveConsumer(Group(value, name), Bytes(consumer))));
                foreach (StreamId id in held) group.Pending.Remove(id);
                group.Consumers.Remove(consumer);
                return true;
            case 1:
                StreamId back = model.Entries.Count == 0 ? StreamId.Zero : model.Any(random);
                With(test, value =>
                {
                    new StreamValue(value).Groups.SetRead(Group(value, name), back, -1);
                    return 0;
                });
                group.LastId = back;
                return true;
            case < 7:
                return Deliver(test, model, group, name, consumer, random.Next(1, 80));
            case < 9:
                if (group.Pending.Count == 0) return true;
                StreamId pending = group.Pending.Keys.ElementAt(random.Next(group.Pending.Count));
                Assert.Equal(1, With(test, value =>
                    new StreamValue(value).Groups.Acknowledge(Group(value, name), pending) ? 1 : 0));
                group.Consumers[group.Pending[pending]].Remove(pending);
                group.Pending.Remove(pending);
                return true;
            default:
                return model.Entries.Count == 0 || Assign(test, group, name, consumer, model.Any(random));
        }
    }

    private static unsafe bool Assign(TestStore test, GroupModel group, string name, string consumer, StreamId id)
    {
        bool done = With(test, value =>
        {
            var groups = new StreamValue(value).Groups;
            uint record = Group(value, name), owner = groups[record].Find(Bytes(consumer)).Record;
            if (!groups.TryReserve(record, owner, id, 1)) return 0;
            groups.Assign(record, owner, id)->Deliveries = 3;
            return 1;
        }) == 1;
        if (done) group.Assign(id, consumer);
        return done;
    }

    private static unsafe bool Deliver(TestStore test, StreamModel model, GroupModel group, string name,
        string consumer, int most)
    {
        StreamId[] next = [.. model.Entries.Keys.SkipWhile(id => id <= group.LastId).Take(most)];
        if (next.Length == 0) return true;
        bool done = With(test, value =>
        {
            var groups = new StreamValue(value).Groups;
            uint record = Group(value, name), owner = groups[record].Find(Bytes(consumer)).Record;
            if (!groups.TryReserve(record, owner, next[0], next.Length)) return 0;
            foreach (StreamId id in next)
            {
                groups.Advance(record, id);
                groups.Assign(record, owner, id)->Deliveries = 1;
            }

            return 1;
        }) == 1;
        if (!done) return false;
        foreach (StreamId id in next) group.Assign(id, consumer);
        group.LastId = next[^1];
        return true;
    }

    private static uint Group(HeldValue value, string name) => new StreamView(value.View).FindGroup(Bytes(name)).Record;

    private static void Compare(TestStore test, StreamModel model, Random random)
    {
        With(test, value =>
        {
            var view = new StreamView(value.View);
            Assert.Equal(model.Entries.Count, view.Length);
            Assert.Equal(model.LastId, view.LastId);
            Assert.Equal(model.Added, view.Added);
            Assert.Equal(model.MaxDeletedId, view.MaxDeletedId);
            Assert.Equal(model.Entries.Count != 0, view.TryGetLast(out StreamId last));
            if (model.Entries.Count == 0) return 0;
            Assert.Equal(model.Entries.Keys[^1], last);
            StreamId one = model.Any(random), other = model.Any(random);
            Assert.Equal(model.Entries.ContainsKey(one), view.TryGet(one, out _));
            bool isBackward = random.Next(2) == 0;
            var expected = model.Entries.Where(pair => pair.Key >= one && pair.Key <= other).ToList();
            if (isBackward) expected.Reverse();
            int most = random.Next(200);
            var walk = view.Between(one, other, isBackward);
            for (int i = 0; i < Math.Min(most, expected.Count); i++)
            {
                Assert.True(walk.Next(out StreamEntry entry));
                Assert.Equal(expected[i].Key, entry.Id);
                Assert.Equal(expected[i].Value, Items(entry));
            }

            if (most >= expected.Count) Assert.False(walk.Next(out _));
            return 0;
        });
    }

    private static void CompareAll(TestStore test, StreamModel model) => With(test, value =>
    {
        var view = new StreamView(value.View);
        var walk = view.Between(StreamId.Zero, StreamId.Max);
        foreach (var (id, items) in model.Entries)
        {
            Assert.True(walk.Next(out StreamEntry entry));
            Assert.Equal(id, entry.Id);
            Assert.Equal(items, Items(entry));
        }

        Assert.False(walk.Next(out _));
        Assert.Equal(model.Groups.Count, view.GroupCount);
        int at = 0;
        foreach (var (name, expected) in model.Groups)
        {
            StreamGroup group = view.GroupAt(at++);
            Assert.Equal(name, Encoding.ASCII.GetString(group.Name));
            Assert.Equal(expected.LastId, group.LastId);
            Assert.Equal(expected.Consumers.Keys, Names(group));
            Assert.Equal(expected.Pending.Keys, Ids(group.Pending));
            for (int i = 0; i < group.Consumers.Count; i++)
                Assert.Equal(expected.Consumers.Values[i], Ids(group.ConsumerAt(i).Pending));
        }

        return 0;
    });

    private static List<string> Names(StreamGroup group) =>
        [.. Enumerable.Range(0, group.Consumers.Count).Select(i => Encoding.ASCII.GetString(group.ConsumerAt(i).Name))];

    private static List<StreamId> Ids(IdTree tree)
    {
        var ids = new List<StreamId>();
        for (IdCursor at = tree.From(StreamId.Zero); !at.IsEnd; tree.MoveNext(ref at)) ids.Add(tree.IdAt(at));
        return ids;
    }

    private static List<string> Items(StreamEntry entry)
    {
        var items = new List<string>();
        while (entry.Next(out var field, out var value))
            items.AddRange([Encoding.Latin1.GetString(field), Encoding.Latin1.GetString(value)]);
        return items;
    }

    private static StoreStatus Append(TestStore test, StreamId id, string[] items)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.Stream, StreamValue.ExpectedBytes);
        return held.Status != StoreStatus.Ok ? held.Status : new StreamValue(held.Value)
            .TryAppend(id, new TextItems(items));
    }

    private static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    private static long With(TestStore test, HeldRead read)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.Stream);
        Assert.Equal(StoreStatus.Ok, held.Status);
        return read(held.Value);
    }

    private delegate long HeldRead(HeldValue value);

    private readonly struct TextItems(string[] items) : IStreamItems
    {
        public int Fields => items.Length / 2;

        public ReadOnlySpan<byte> Field(int index) => Bytes(items[2 * index]);

        public ReadOnlySpan<byte> Value(int index) => Bytes(items[(2 * index) + 1]);
    }

    private sealed class StreamModel
    {
        public SortedList<StreamId, string[]> Entries { get; } = [];
        public SortedList<string, GroupModel> Groups { get; } = new(StringComparer.Ordinal);
        public StreamId LastId { get; private set; }
        public StreamId MaxDeletedId { get; private set; }
        public long Added { get; private set; }
        public bool Exists => Added != 0;

        public void Append(StreamId id, string[] items)
        {
            Entries.Add(id, items);
            LastId = id;
            Added++;
        }

        public bool Delete(StreamId id)
        {
            if (!Entries.Remove(id)) return false;
            if (id > MaxDeletedId) MaxDeletedId = id;
            return true;
        }

        public StreamId Any(Random random)
        {
            StreamId id = Entries.Keys[random.Next(Entries.Count)];
            return random.Next(5) == 0 ? new StreamId(id.Ms, id.Number + 1) : id;
        }
    }

    private sealed class GroupModel
    {
        public StreamId LastId { get; set; }
        public SortedList<string, SortedSet<StreamId>> Consumers { get; } = new(StringComparer.Ordinal);
        public SortedList<StreamId, string> Pending { get; } = [];

        public void Assign(StreamId id, string consumer)
        {
            if (Pending.TryGetValue(id, out string? before)) Consumers[before].Remove(id);
            Pending[id] = consumer;
            Consumers[consumer].Add(id);
        }
    }
}
