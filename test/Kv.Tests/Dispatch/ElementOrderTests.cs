using System.Globalization;
using System.Text;
using Kv.Server.Families;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Dispatch;

/// <summary>The order that SORT finds is that of an obvious sort, at every size and for every range of
/// places.</summary>
public class ElementOrderTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(13)]
    [InlineData(200)]
    [InlineData(2048)]
    [InlineData(2049)]
    [InlineData(20_000)]
    public void Every_order_of_every_text_is_the_obvious_one(int count)
    {
        Random random = Seed.NewRandom(930 + count);
        using var store = new Store(new StoreOptions { Background = false });
        for (int round = count > 10_000 ? 30 : 60; round > 0; round--)
        {
            byte[][] texts = Texts(random, count);
            double[]? scores = random.Next(2) == 0 ? [.. texts.Select(_ => Score(random))] : null;
            bool[] none = [.. texts.Select(_ => scores == null && random.Next(4) == 0)];
            bool isDescending = random.Next(2) == 0;
            int from = count == 0 ? 0 : random.Next(3) == 0 ? random.Next(count) : 0,
                to = count == 0 ? 0 : random.Next(2) == 0 ? random.Next(from, count + 1) : count;
            using var sorted = new SortTexts(store);
            for (int i = 0; i < count; i++)
            {
                if (none[i]) sorted.AddNone();
                else sorted.Add(texts[i]);
            }

            using var order = new ElementOrder<SortText>(store);
            if (scores == null) sorted.BeginOrder(order, isDescending, from, to);
            else sorted.BeginScoreOrder(order, isDescending, from, to);
            for (int i = 0; scores != null && i < count; i++) order.SetScore(i, scores[i]);
            while (!order.Step())
            {
            }

            int[] expected = [.. Enumerable.Range(0, count)];
            // Sorts of LINQ are stable.
            Comparison<int> compare = (left, right) => Compare(left, right) * (isDescending ? -1 : 1);
            expected = [.. expected.Order(Comparer<int>.Create(compare))];
            for (int place = from; place < to; place++)
                Assert.True(expected[place] == order[place],
                    $"place {place} of {count}, {from} to {to}, {(scores == null ? "texts" : "scores")}; {Seed.Hint}");

            int Compare(int left, int right)
            {
                if (none[left] || none[right]) return none[right].CompareTo(none[left]);
                if (scores != null && scores[left] != scores[right]) return scores[left].CompareTo(scores[right]);
                return texts[left].AsSpan().SequenceCompareTo(texts[right]);
            }
        }

        Assert.Equal(0, store.Stats.ExternalBytes);
    }

    private static byte[][] Texts(Random random, int count)
    {
        string prefix = new('p', random.Next(3) == 0 ? random.Next(40) : 0);
        int different = Math.Max(1, random.Next(4) == 0 ? count / 10 : count), form = random.Next(4);
        return [.. Enumerable.Range(0, count).Select(_ => form switch
        {
            0 => Encoding.ASCII.GetBytes(prefix + random.Next(different).ToString(CultureInfo.InvariantCulture)),
            // Zeros at the end tell texts apart, too.
            1 => [.. Encoding.ASCII.GetBytes(prefix), .. new byte[random.Next(20)]],
            2 => Encoding.ASCII.GetBytes(prefix + new string('q', random.Next(30))),
            _ => Bytes(random, random.Next(12)),
        })];
    }

    private static byte[] Bytes(Random random, int count)
    {
        byte[] bytes = new byte[count];
        random.NextBytes(bytes);
        return bytes;
    }

    private static double Score(Random random) => random.Next(6) switch
    {
        0 => random.Next(-5, 5),
        1 => random.Next(2) == 0 ? 0.0 : -0.0,
        2 => random.Next(2) == 0 ? double.PositiveInfinity : double.NegativeInfinity,
        3 => random.Next(-1_000_000, 1_000_000),
        _ => (random.NextDouble() - 0.5) * Math.Pow(10, random.Next(-300, 300)),
    };
}
