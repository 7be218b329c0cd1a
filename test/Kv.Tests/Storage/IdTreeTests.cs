using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Trees of ids against a sorted list.</summary>
public sealed unsafe class IdTreeTests
{
    private const int HeadOffset = 64;      // where a stream has its index

    [Theory]
    [InlineData(1, 4, 40)]
    [InlineData(2, 20, 3_000)]
    [InlineData(3, 0, 20_000)]
    [InlineData(4, 20, 200)]
    public void Ids_come_and_go_as_in_the_model(int stream, int payload, int most)
    {
        using var budget = new MemoryBudget();
        Region region = Region.Create(budget, 1000);
        var model = new SortedList<StreamId, byte>();
        Random random = Seed.NewRandom(stream);
        int steps = TimeBudget.Count(40_000);
        for (int step = 0; step < steps; step++)
        {
            bool grows = step / (steps / 8 + 1) % 2 == 0;
            if (random.Next(100) < (grows ? 75 : 20) && model.Count < most)
                Insert(ref region, budget, model, random, payload);
            else if (model.Count != 0) Remove(region, model, random, payload);
            if (step % 16 == 0) Compare(Tree(region, payload), model, random, payload);
            if (step % (steps / 60 + 1) == 0) Check(region, payload);
        }

        Check(region, payload);
        Tree(region, payload).Clear();
        Check(region, payload);
        region.Free();
        Assert.Equal(0, budget.BlockBytes);
    }

    [Theory]
    [InlineData(100_000, 0)]
    [InlineData(30_000, 20)]
    public void Ids_in_order_leave_full_nodes_behind_and_ids_from_the_front_leave_nothing(int count, int payload)
    {
        using var budget = new MemoryBudget();
        Region region = Region.Create(budget, 1000);
        for (int i = 1; i <= count; i++)
        {
            Reserve(ref region, budget, payload, 1, isBehind: true);
            Tree(region, payload).Insert(new StreamId((ulong)i, 0));
        }

        long least = (long)count * (StreamId.Bytes + payload);
        Assert.InRange(Tree(region, payload).Check(), least, least * 23 / 20);
        for (int i = 1; i <= count; i++)
        {
            Assert.True(Tree(region, payload).Remove(new StreamId((ulong)i, 0)));
            if (i % 1000 == 0) Check(region, payload);
        }

        Assert.Equal(0, Tree(region, payload).Check());
        region.Free();
    }

    // Every third stays: neighbours are joined, so that what is left is not spread over all nodes that there were.
    [Fact]
    public void What_is_left_of_many_moves_together()
    {
        using var budget = new MemoryBudget();
        Region region = Region.Create(budget, 1000);
        const int count = 30_000;
        for (int i = 1; i <= count; i++)
        {
            Reserve(ref region, budget, 20, 1, isBehind: true);
            Tree(region, 20).Insert(new StreamId((ulong)i, 0));
        }

        long all = Tree(region, 20).Check();
        for (int i = 1; i <= count; i++)
            if (i % 16 != 0) Tree(region, 20).Remove(new StreamId((ulong)i, 0));
        Assert.InRange(Tree(region, 20).Check(), 1, all / 3);
        region.Free();
    }

    private static IdTree Tree(Region region, int payload) =>
        new(region, (IdTreeHead*)(region.Head + HeadOffset), payload);

    private static void Reserve(ref Region region, MemoryBudget budget, int payload, long inserts, bool isBehind)
    {
        Assert.True(Region.TryReserve(ref region, budget, Tree(region, payload).ReserveBytes(inserts, isBehind),
            out Region left));
        if (!left.IsNone) left.FreeMemory();
    }

    private static void Insert(ref Region region, MemoryBudget budget, SortedList<StreamId, byte> model, Random random,
        int payload)
    {
        int inserts = random.Next(20) == 0 ? random.Next(1, 60) : 1;
        var last = model.Count == 0 ? StreamId.Zero : model.Keys[^1];
        bool isBehind = random.Next(3) == 0 && last.Ms < 1_000_000;
        StreamId[] ids = [.. Enumerable.Range(1, inserts).Select(i => isBehind ? new StreamId(last.Ms + (ulong)i, 0)
            : new StreamId((ulong)random.Next(3000), (ulong)random.Next(3))).Where(id =>
                !model.ContainsKey(id)).Distinct()];
        Reserve(ref region, budget, payload, ids.Length, isBehind);
        foreach (StreamId id in ids)
        {
            byte mark = (byte)random.Next(256);
            byte* at = Tree(region, payload).Insert(id);
            for (int i = 0; i < payload; i++) at[i] = mark;
            model[id] = mark;
        }
    }

    private static void Remove(Region region, SortedList<StreamId, byte> model, Random random, int payload)
    {
        // From the front as a rule, as what is pending goes.
        int at = random.Next(3) == 0 ? random.Next(model.Count) : random.Next(Math.Min(model.Count, 5));
        StreamId id = model.Keys[at];
        Assert.True(Tree(region, payload).Remove(id));
        Assert.False(Tree(region, payload).Remove(id));
        model.RemoveAt(at);
    }

    private static void Compare(IdTree tree, SortedList<StreamId, byte> model, Random random, int payload)
    {
        Assert.Equal(model.Count, (int)tree.Count);
        if (model.Count == 0)
        {
            Assert.True(tree.From(StreamId.Zero).IsEnd);
            return;
        }

        Assert.Equal((model.Keys[0], model.Keys[^1]), (tree.First, tree.LastId));
        var id = new StreamId((ulong)random.Next(3000), (ulong)random.Next(3));
        byte* found = tree.Find(id);
        Assert.Equal(model.ContainsKey(id), found != null);
        if (found != null && payload > 0) Assert.Equal(model[id], found[payload - 1]);
        int place = 0;
        while (place < model.Count && model.Keys[place] < id) place++;
        IdCursor at = tree.From(id);
        for (int i = 0; i < 100; i++, place++)
        {
            Assert.Equal(place >= model.Count, at.IsEnd);
            if (at.IsEnd) break;
            Assert.Equal(model.Keys[place], tree.IdAt(at));
            if (payload > 0) Assert.Equal(model.Values[place], *tree.PayloadAt(at));
            tree.MoveNext(ref at);
        }

        var before = model.Keys.LastOrDefault(key => key <= id, model.Keys[0]);
        Assert.Equal(before, tree.IdAt(tree.UpTo(id)));
    }

    private static void Check(Region region, int payload)
    {
        region.Check();
        IdTree.CheckSpare(region);
        Assert.Equal(Tree(region, payload).Check() + IdTree.SpareBytes(region),
            region.UsedBytes - Region.HeadOffset - Region.HeadBytes);
    }
}
