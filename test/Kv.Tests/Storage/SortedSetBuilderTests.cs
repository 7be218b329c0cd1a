using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Sorted sets that are built apart, of elements in any order.</summary>
public class SortedSetBuilderTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(100)]
    [InlineData(700)]
    [InlineData(20_000)]
    public void Elements_are_in_order_however_they_came(int count)
    {
        Random random = Seed.NewRandom(count);
        foreach (int scores in new[] { 1, 7, int.MaxValue })
        {
            var ordered = Enumerable.Range(0, count)
                .Select(i => (Score: (double)(random.Next(scores) - (scores / 2)), Member: $"m{i * 7919 % 1_000_003}"))
                .OrderBy(element => element.Score).ThenBy(element => element.Member, StringComparer.Ordinal).ToList();
            var backward = ordered.AsEnumerable().Reverse().ToList();
            foreach (bool mayBeInOrder in new[] { false, true })
            {
                Build(ordered, ordered, mayBeInOrder);
                Build(backward, ordered, mayBeInOrder);
                for (int i = 0; i < 4 && count > 2; i++)
                {
                    // One of them, or all behind one, is not where it should be.
                    int at = random.Next(count - 1);
                    var other = i % 2 == 0 ? ordered.ToList() : backward.ToList();
                    if (i < 2) (other[at], other[at + 1]) = (other[at + 1], other[at]);
                    else other.Reverse(at, count - at);
                    Build(other, ordered, mayBeInOrder);
                }
            }
        }
    }

    [Fact]
    public void A_member_that_comes_twice_may_change_its_place()
    {
        Build([(1, "a"), (2, "b"), (3, "c"), (9, "a"), (11, "d")], [(2, "b"), (3, "c"), (10, "a"), (11, "d")],
            mayBeInOrder: true);
        Build([(0, "b"), (-0.0, "a")], [(0, "a"), (0, "b")], mayBeInOrder: true);
    }

    [Fact]
    public void Refused_memory_leaves_nothing_behind()
    {
        var ordered = Enumerable.Range(0, 3000).Select(i => ((double)i, $"m{i}")).ToList();
        bool isRefused = false;
        for (int refused = 1; refused < 40; refused++)
            isRefused |= !Build(ordered, ordered, mayBeInOrder: true, refused);
        Assert.True(isRefused);
    }

    private static bool Build(List<(double Score, string Member)> elements, List<(double Score, string Member)> ordered,
        bool mayBeInOrder, int refused = 0)
    {
        using var test = new TestStore();
        test.Begin();
        long before = test.Store.Stats.BlockBytes;
        int asked = 0;
        if (refused != 0) test.Store.Budget.Refuse = () => ++asked == refused;
        var builder = new SortedSetBuilder(test.Store) { MayBeInOrder = mayBeInOrder };
        bool done = true;
        foreach (var (score, member) in elements)
            done = done && builder.TryAdd(Encoding.ASCII.GetBytes(member), score, ScoreAggregate.Sum);
        for (bool isDone = false; done && !isDone;) done = builder.TryFinish(64, out isDone);
        if (done)
        {
            ScoreCursor cursor = builder.At(0);
            for (int i = 0; i < ordered.Count; i++)
            {
                Assert.Equal(ordered[i], (cursor.Score, Encoding.ASCII.GetString(Member(cursor))));
                Assert.Equal(i < ordered.Count - 1, cursor.MoveNext());
            }

            using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet, 8);
            done = held.Status == StoreStatus.Ok && builder.Store(held.Value) == StoreStatus.Ok;
        }

        builder.Dispose();
        test.Store.Budget.Refuse = null;
        Assert.Equal(done, test.Delete("k"));
        test.Check();
        test.Settle();
        Assert.Equal(before, test.Store.Stats.BlockBytes);
        return done;
    }

    private static unsafe ReadOnlySpan<byte> Member(in ScoreCursor cursor) => MemberItem.MemberOf(cursor.Item);
}
