using System.Globalization;
using System.Text;
using Kv.Storage;
using Kv.Tests.Collections;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Sorted sets against an obvious sorted list.</summary>
public class SortedSetModelTests
{
    [Theory]
    [InlineData(1, 10, 30_000)]
    [InlineData(2, 140, 20_000)]
    [InlineData(3, 2_000, 40_000)]
    [InlineData(4, 20_000, 80_000)]
    public void Random_changes_leave_what_the_model_has(int stream, int members, int steps)
    {
        using var test = new TestStore();
        var model = new Model();
        Random random = Seed.NewRandom(stream);
        int scores = random.Next(3) switch { 0 => 3, 1 => 50, _ => int.MaxValue };
        steps = TimeBudget.Count(steps);
        for (int step = 0; step < steps; step++)
        {
            if (step % 256 == 0) test.Begin();
            // Waves: more is added than removed, then the other way round.
            bool grows = step / (steps / 6 + 1) % 2 == 0;
            string member = Member(random, members);
            if (random.Next(100) < (grows ? 80 : 35)) Add(test, model, random, member, Score(random, scores));
            else if (random.Next(grows ? 2000 : 100) == 0) RemoveSome(test, model, random);
            else Assert.Equal(model.Remove(member), Remove(test, member));
            if (step % (members > 5000 ? 128 : 16) == 0)
                Compare(test, model, random, Member(random, members), Score(random, scores));
            if (step % (steps / 40 + 1) == 0) test.Check();
        }

        CompareAll(test, model);
        test.Check();
        test.Delete("k");
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    [Theory]
    [InlineData(false, 200_000)]
    [InlineData(true, 200_000)]
    public void Elements_in_order_leave_full_leaves_behind(bool descends, int count)
    {
        using var test = new TestStore();
        var model = new Model();
        for (int i = 0; i < count; i++)
        {
            if (i % 1024 == 0) test.Begin();
            double score = descends ? -i : i;
            Set(test, "m" + i, score);
            model.Elements.Add((score, "m" + i));
        }

        if (descends) model.Elements.Reverse();
        CompareAll(test, model);
        test.Check();
        long leaves = With(test, value => new ScoreTree(value.Region).Leaves);
        // those of the conversion are not full
        Assert.InRange(leaves, count / ScoreNode.LeafMax, (count / ScoreNode.LeafMax) + 3);
    }

    [Fact]
    public void Nodes_are_used_again_while_elements_come_and_go()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(11);
        long most = 0;
        for (int round = 0; round < 12; round++)
        {
            for (int i = 0; i < 20_000; i++)
            {
                if (i % 1024 == 0) test.Begin();
                Set(test, "member" + i, random.NextDouble());
            }

            long nodes = With(test, value => CountNodes(new ScoreTree(value.Region)));
            if (round == 0) most = nodes;
            Assert.InRange(nodes, 1, most * 5 / 4);
            using (var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet))
                new SortedSetValue(held.Value).RemoveAt(1, 19_990);
            Assert.InRange(With(test, value => new ScoreTree(value.Region).Leaves), 1, 3);
            test.Check();
        }
    }

    private static long CountNodes(ScoreTree tree)
    {
        long nodes = tree.Leaves + tree.InnerNodes;
        for (uint spare = tree.Spare; spare != 0; spare = tree.NodeAt(spare).Next) nodes++;
        return nodes;
    }

    [Fact]
    public void Equal_scores_are_in_the_order_of_their_bytes()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(12);
        for (int i = 0; i < 5000; i++)
        {
            string member = new((char)random.Next(256), random.Next(1, 4));
            Set(test, member + random.Next(2000), random.Next(2) == 0 ? 0.0 : -0.0);
        }

        string? last = null;
        test.Check();
        With(test, value =>
        {
            var walk = new SortedSetValue(value).View.From(0);
            while (walk.Next(out var member, out _))
            {
                string text = Encoding.Latin1.GetString(member);
                Assert.True(last == null || string.CompareOrdinal(last, text) < 0,
                    $"{text} is behind {last}; {Seed.Hint}");
                last = text;
            }

            return 0;
        });
    }

    // All of a small set, one by one: each change of a score makes an element longer or shorter, in place or elsewhere.
    [Fact]
    public void Scores_of_any_size_take_the_place_of_others()
    {
        using var test = new TestStore();
        var model = new Model();
        Random random = Seed.NewRandom(13);
        for (int step = 0, steps = TimeBudget.Count(20_000); step < steps; step++)
        {
            if (step % 256 == 0) test.Begin();
            string member = new('m', random.Next(60));
            double score = PackedScoreTests.Any(random);
            if (random.Next(10) == 0)
            {
                Assert.Equal(model.Remove(member), Remove(test, member));
            }
            else
            {
                Set(test, member, score);
                model.Set(member, score);
            }

            if (step % 16 == 0) Compare(test, model, random, member, score);
            if (step % 1024 == 0) test.Check();
        }

        CompareAll(test, model);
        Assert.Equal(model.Count == 0 ? 0 : (long)ValueKind.PackedSortedSet,
            model.Count == 0 ? 0 : With(test, value => (long)value.Kind));
    }

    // M06: whichever allocation is refused, the answer says so and the set is as it was.
    [Fact]
    public void Every_refused_allocation_leaves_the_set_as_it_was()
    {
        int refused = 0;
        for (int nth = 1; nth <= 9; nth++)
        {
            using var test = new TestStore();
            var model = new Model();
            Random random = Seed.NewRandom(100 + nth);
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 3000; step++)
            {
                if (step % 64 == 0) test.Begin();
                string member = Member(random, 400) + (random.Next(200) == 0 ? new string('l', 200) : "");
                double score = random.Next(100);
                if (random.Next(5) == 0)
                {
                    Assert.Equal(model.Remove(member), Remove(test, member));
                    continue;
                }

                ScoreOutcome outcome = Set(test, member, score);
                if (outcome == ScoreOutcome.OutOfMemory) refused++;
                else model.Set(member, score);
                if (step % 50 == 0) CompareAll(test, model);
            }

            test.Store.Budget.Refuse = null;
            CompareAll(test, model);
            test.Settle();
            Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        }

        Assert.True(refused > 100, $"only {refused} were refused");
    }

    [Fact]
    public void A_copied_region_is_the_same_sorted_set()
    {
        using var test = new TestStore();
        for (int i = 0; i < 3000; i++) Set(test, "member" + i, i % 97);
        With(test, value =>
        {
            Region copy = value.Region.Copy(test.Store.Budget);
            CollectionCheck.Run(copy, ValueKind.SortedSet, test.Store.Hash);
            Assert.Equal(3000, new ScoreTree(copy).Count);
            copy.Free();
            return 0;
        });
    }

    private static string Member(Random random, int members) =>
        "member:" + random.Next(members * 2).ToString(CultureInfo.InvariantCulture);

    private static double Score(Random random, int scores) => random.Next(50) switch
    {
        0 => double.PositiveInfinity,
        1 => double.NegativeInfinity,
        2 => -0.0,
        3 => 0.0,
        4 => double.Epsilon,
        >= 5 and < 20 => PackedScoreTests.Any(random),
        _ => scores < 100 ? random.Next(scores) : (random.NextDouble() - 0.5) * 1e9,
    };

    private static void Add(TestStore test, Model model, Random random, string member, double score)
    {
        var rule = (ScoreRule)random.Next(32);
        double? expected = model.Apply(member, score, rule, out ScoreOutcome outcome);
        double given = score;
        Assert.Equal(outcome, Set(test, member, ref given, rule));
        if (expected is { } value) Assert.Equal(value, given);
    }

    private static void RemoveSome(TestStore test, Model model, Random random)
    {
        if (model.Count == 0) return;
        int rank = random.Next(model.Count),
            count = Math.Min(random.Next(random.Next(4) == 0 ? 2000 : 20), model.Count - rank);
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet);
        var set = new SortedSetValue(held.Value);
        set.RemoveAt(rank, count);
        set.Settle();
        model.RemoveAt(rank, count);
    }

    private static void Compare(TestStore test, Model model, Random random, string member, double score)
    {
        byte[] bytes = TestStore.Bytes(member);
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet);
        if (model.Count == 0)
        {
            Assert.Equal(StoreStatus.NotFound, held.Status);
            return;
        }

        SortedSetView view = new SortedSetValue(held.Value).View;
        Assert.Equal(model.Count, view.Count);
        Assert.Equal(model.Rank(member), view.TryGetRank(bytes, out long rank, out double found) ? rank : -1);
        if (model.Scores.TryGetValue(member, out double own)) Assert.Equal(own, found);
        Assert.Equal(model.Elements.Count(element => element.Score < score),
            view.CountBefore(ScoreBound.BeforeScore(score)));
        Assert.Equal(model.Elements.Count(element => element.Score <= score),
            view.CountBefore(ScoreBound.AfterScore(score)));
        int from = random.Next(model.Count), steps = random.Next(200);
        bool isBackward = random.Next(2) == 0;
        var walk = view.From(from, isBackward);
        for (int i = 0; i < steps; i++)
        {
            int at = isBackward ? from - i : from + i;
            bool more = walk.Next(out var next, out double nextScore);
            Assert.Equal(at >= 0 && at < model.Count, more);
            if (!more) break;
            Assert.Equal(model.Elements[at].Member, Encoding.ASCII.GetString(next));
            Assert.Equal(model.Elements[at].Score, nextScore);
        }
    }

    private static void CompareAll(TestStore test, Model model)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet);
        Assert.Equal(model.Count == 0 ? StoreStatus.NotFound : StoreStatus.Ok, held.Status);
        if (model.Count == 0) return;
        var walk = new SortedSetValue(held.Value).View.From(0);
        foreach (var (score, member) in model.Elements)
        {
            Assert.True(walk.Next(out var next, out double nextScore));
            Assert.Equal(member, Encoding.ASCII.GetString(next));
            Assert.Equal(score, nextScore);
        }

        Assert.False(walk.Next(out _, out _));
    }

    private static ScoreOutcome Set(TestStore test, string member, double score) =>
        Set(test, member, ref score, ScoreRule.None);

    private static ScoreOutcome Set(TestStore test, string member, ref double score, ScoreRule rule)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(member);
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet, 0);
        if (held.Status == StoreStatus.OutOfMemory) return ScoreOutcome.OutOfMemory;
        var set = new SortedSetValue(held.Value);
        var room = default(ScoreRoom);
        room.Add(bytes.Length, score);
        ScoreOutcome outcome = set.Set(bytes, ref score, rule, ref room);
        set.Settle();
        return outcome;
    }

    private static bool Remove(TestStore test, string member)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return false;
        var set = new SortedSetValue(held.Value);
        bool removed = set.Remove(TestStore.Bytes(member));
        set.Settle();
        return removed;
    }

    private static long With(TestStore test, HeldRead read)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet);
        return read(held.Value);
    }

    private delegate long HeldRead(HeldValue value);

    private sealed class Model
    {
        public List<(double Score, string Member)> Elements { get; } = [];
        public Dictionary<string, double> Scores { get; } = [];
        public int Count => Elements.Count;

        public double? Apply(string member, double score, ScoreRule rule, out ScoreOutcome outcome)
        {
            bool exists = Scores.TryGetValue(member, out double old);
            outcome = ScoreOutcome.Refused;
            if (exists ? rule.HasFlag(ScoreRule.OnlyNew) : rule.HasFlag(ScoreRule.OnlyExisting)) return null;
            if (exists && rule.HasFlag(ScoreRule.Increment)) score = old + score;
            outcome = ScoreOutcome.NotANumber;
            if (double.IsNaN(score)) return null;
            outcome = ScoreOutcome.Refused;
            if (exists && rule.HasFlag(ScoreRule.OnlyGreater) && !(score > old)) return null;
            if (exists && rule.HasFlag(ScoreRule.OnlyLess) && !(score < old)) return null;
            outcome = !exists ? ScoreOutcome.Added : score == old ? ScoreOutcome.Same : ScoreOutcome.Changed;
            if (outcome != ScoreOutcome.Same) Set(member, score);
            return score;
        }

        public void Set(string member, double score)
        {
            if (Scores.TryGetValue(member, out double old) && old == score) return;
            Remove(member);
            Scores[member] = score;
            Elements.Insert(~Elements.BinarySearch((score, member), Order.Instance), (score, member));
        }

        public bool Remove(string member)
        {
            if (!Scores.Remove(member, out double old)) return false;
            Elements.RemoveAt(Elements.BinarySearch((old, member), Order.Instance));
            return true;
        }

        public void RemoveAt(int rank, int count)
        {
            foreach (var (_, member) in Elements.GetRange(rank, count)) Scores.Remove(member);
            Elements.RemoveRange(rank, count);
        }

        public int Rank(string member) =>
            Scores.TryGetValue(member, out double score) ? Elements.BinarySearch((score, member), Order.Instance) : -1;
    }

    private sealed class Order : IComparer<(double Score, string Member)>
    {
        public static readonly Order Instance = new();

        public int Compare((double Score, string Member) left, (double Score, string Member) right) =>
            left.Score < right.Score ? -1 : left.Score > right.Score
            ? 1 : string.CompareOrdinal(left.Member, right.Member);
    }
}
