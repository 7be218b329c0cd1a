using System.Globalization;
using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Collections;

/// <summary>What is reserved for inserts into a tree of scores is enough, wherever they come.</summary>
public class ScoreTreeReservationTests
{
    private const int Half = ScoreNode.LeafMax / 2;

    public enum Where
    {
        Anywhere,
        AtEnd,

        /// <summary>At the end, and once into each leaf that was left full.</summary>
        AtEndAndBehind,
        AtBegin,
        AtBeginAndBehind,
        AtBothEndsAndBehind,

        /// <summary>Elements that are there get other scores.</summary>
        Moves,
        MovesToEnd,
    }

    public static TheoryData<Where> All => [.. Enum.GetValues<Where>()];

    [Theory, MemberData(nameof(All))]
    public void Inserts_take_no_more_nodes_than_were_reserved(Where where)
    {
        Random random = Seed.NewRandom((int)where);
        for (int round = 0; round < 12; round++)
        {
            using var test = new TestStore();
            var scores = new List<double>();
            // A tree of some size that was made in this or that way; then the inserts, a command after another.
            var before = (Where)random.Next(6);
            int size = random.Next(5) switch { 0 => 130, 1 => 500, 2 => 1000, 3 => 5000, _ => random.Next(140, 9000) };
            Add(test, random, scores, before, size, isMeasured: false);
            foreach (int count in new[] { 1, 2, 3, 10, 50, 90, 200, 1000, 1, 4000, 20_000 })
                Add(test, random, scores, where, count, isMeasured: true);
            test.Check();
        }
    }

    private static void Add(TestStore test, Random random, List<double> scores, Where where, int count, bool isMeasured)
    {
        test.Begin();
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.SortedSet, 8);
        Assert.Equal(StoreStatus.Ok, held.Status);
        var set = new SortedSetValue(held.Value);
        var room = default(ScoreRoom);
        for (int i = 0; i < count; i++) room.Add(12, Math.PI);      // no score takes more
        long reserved = 0, nodes = 0;
        if (isMeasured)
        {
            var tree = new ScoreTree(held.Value.Region);
            reserved = ScoreTree.ReserveBytes(held.Value.Region, count);
            nodes = NodesOf(tree);
        }

        uint leaves = 0;
        bool isFromBegin = false;
        for (int i = 0; i < count; i++)
        {
            double score;
            string? moved = null;
            bool hasSplit = isMeasured && new ScoreTree(held.Value.Region).Leaves != leaves && i > 0;
            if (isMeasured) leaves = new ScoreTree(held.Value.Region).Leaves;
            if (where is Where.Moves or Where.MovesToEnd && scores.Count > 0) moved = Name(random.Next(scores.Count));
            if (where == Where.AtBothEndsAndBehind && !hasSplit)
                isFromBegin = random.Next(200) == 0 ? !isFromBegin : isFromBegin;
            score = where switch
            {
                Where.Anywhere or Where.Moves => random.NextDouble() * 1000,
                Where.AtEnd or Where.MovesToEnd => 1000 + scores.Count + i,
                Where.AtBegin => -scores.Count - 1.0,
                Where.AtEndAndBehind => hasSplit ? Behind(scores, false) : 1000 + scores.Count,
                Where.AtBeginAndBehind => hasSplit ? Behind(scores, true) : -scores.Count - 1.0,
                _ => hasSplit ? Behind(scores, isFromBegin) : isFromBegin ? -scores.Count - 1.0 : 1000 + scores.Count,
            };
            set.Set(Encoding.ASCII.GetBytes(moved ?? Name(scores.Count)), ref score, ScoreRule.None, ref room);
            if (moved != null) continue;
            int at = scores.BinarySearch(score);
            scores.Insert(at < 0 ? ~at : at, score);
        }

        set.Settle();
        if (!isMeasured) return;
        long taken = (NodesOf(new ScoreTree(held.Value.Region)) - nodes) * ScoreNode.Bytes;
        Assert.True(taken <= reserved, $"{where}: {count} took {taken} of {reserved} bytes; {Seed.Hint}");
    }

    // Into the middle of the leaf that an end has left full: that is split again.
    private static double Behind(List<double> scores, bool fromBegin)
    {
        int at = Math.Clamp(fromBegin ? 1 + Half : scores.Count - 1 - Half, 1, scores.Count - 1);
        return (scores[at - 1] + scores[at]) / 2;
    }

    private static string Name(int number) => number.ToString("D12", CultureInfo.InvariantCulture);

    private static long NodesOf(ScoreTree tree) => (long)tree.Leaves + tree.InnerNodes + tree.SpareNodes;
}
