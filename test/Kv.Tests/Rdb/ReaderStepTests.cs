using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;
using static Kv.Tests.Rdb.Payloads;

namespace Kv.Tests.Rdb;

/// <summary>A value that is read a piece at a time is the one that is read at once.</summary>
public class ReaderStepTests
{
    private const int Many = 20_000;

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(4096)]
    public void Whatever_is_read_at_a_time_the_value_is_the_same(long workPerStep)
    {
        Random random = Seed.NewRandom(920);
        using var test = new TestStore();
        foreach (byte[] content in Contents(random))
        {
            Assert.Equal(RdbStatus.Ok, Restore(test, "once", content));
            Assert.Equal(RdbStatus.Ok, Restore(test, "steps", content, workPerStep: workPerStep));
            Assert.Equal(Show(test, "once"), Show(test, "steps"));
            // Every shorter one is refused, wherever the last step ends.
            Assert.Equal(RdbStatus.BadData,
                Restore(test, "cut", content.AsSpan(0, content.Length - 1), workPerStep: workPerStep));
        }

        test.Check();
    }

    // Sorted sets come in order, the other way round, in none, and with few scores for many members.
    [Theory]
    [InlineData(1, 1)]
    [InlineData(600, 1)]
    [InlineData(600, 600)]
    [InlineData(5000, 1)]
    [InlineData(5000, 3)]
    [InlineData(5000, 100)]
    [InlineData(5000, 5000)]
    public void Elements_come_into_order_from_any_order(int count, int scores)
    {
        Random random = Seed.NewRandom(921);
        using var test = new TestStore();
        var elements = Enumerable.Range(0, count)
            .Select(i => (Member: $"m{random.Next()}-{i}",
                Score: (random.Next(scores) - (scores / 2)) * (random.Next(2) == 0 ? 0.25 : 1e9)))
            .OrderBy(e => e.Score).ThenBy(e => e.Member, StringComparer.Ordinal).ToList();
        string expected = "zset " + string.Join(' ', elements.Select(e => $"{e.Score:R}:{e.Member}"));
        foreach (string order in new[] { "up", "down", "none", "nearly" })
        {
            var sent = elements.ToArray();
            if (order == "down") Array.Reverse(sent);
            else if (order == "none") random.Shuffle(sent);
            else if (order == "nearly" && count > 1) (sent[0], sent[count - 1]) = (sent[count - 1], sent[0]);
            byte[] content = Concat([5], Count(count),
                Concat([.. sent.Select(e => Concat(Plain(e.Member), BitConverter.GetBytes(e.Score)))]));
            foreach (long work in new[] { long.MaxValue, 1 + random.Next(10), 500 })
            {
                Assert.Equal(RdbStatus.Ok, Restore(test, "k", content, workPerStep: work));
                Assert.True(expected == Show(test, "k").Replace("-0:", "0:", StringComparison.Ordinal),
                    $"{order}, {work} at a time; {Seed.Hint}");
                test.Check();
            }
        }

        test.Delete("k");
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    [Fact]
    public void What_is_given_up_in_the_middle_is_given_back()
    {
        Random random = Seed.NewRandom(922);
        using var test = new TestStore();
        long external = test.Store.Budget.ExternalBytes;
        foreach (byte[] content in Contents(random))
        {
            for (int steps = 0; steps < 60; steps += 7) GiveUp(test, content, steps);
        }

        Assert.Equal(0, test.Store.Stats.BlockBytes);
        Assert.Equal(external, test.Store.Budget.ExternalBytes);
    }

    private static unsafe void GiveUp(TestStore test, byte[] content, int steps)
    {
        fixed (byte* start = content)
        {
            var reader = new RdbValueReader(start, content.Length, test.Store, Store.ValueBytesMax);
            var value = new RdbValue(test.Store);
            for (int i = 0; i < steps && reader.Read(ref value, 500) == RdbStatus.More; i++)
            {
            }

            value.Dispose();
            reader.Dispose();
        }
    }

    private static IEnumerable<byte[]> Contents(Random random)
    {
        string[] elements = [.. Enumerable.Range(0, Many).Select(i => $"element {i} {random.Next()}")];
        string[] some = elements[..3000];
        byte[] long1 = new byte[3_000_000], long2 = LzfTests.RandomText(random, 400_000);
        random.NextBytes(long1);
        yield return Concat([0], Plain(long1));
        using var lzf = new Lzf();
        byte[] packed = new byte[long2.Length + (long2.Length / 16) + 64];     // it may not compress at all
        int length = lzf.Compress(long2, packed);
        yield return Concat([0, 0xC3], Length(length), Length(long2.Length), packed[..length]);
        yield return Concat([1], Count(Many), Concat([.. elements.Select(Plain)]));
        yield return Concat([2], Count(Many), Concat([.. elements.Select(Plain)]));
        yield return Concat([4], Count(Many),
            Concat([.. elements.Select(e => Concat(Plain(e), Plain("value of " + e)))]));
        yield return Concat([3], Count(3000),
            Concat(
            [.. some.Select((e, i) => Concat(Plain(e), Plain((i % 70).ToString(CultureInfo.InvariantCulture))))]));
        yield return Concat([11], Plain(Integers(4, [.. Enumerable.Range(0, 40_000).Select(i => (long)i)])));
        yield return Concat([18], Count(300),
            Concat([.. Enumerable.Range(0, 300)
            .Select(i => Concat([2], Plain(Listpack(elements[(i * 60)..((i + 1) * 60)]))))]));
        yield return Concat([14], Count(300),
            Concat([.. Enumerable.Range(0, 300).Select(i => Plain(Ziplist(elements[(i * 60)..((i + 1) * 60)])))]));
        yield return Concat([10], Plain(Ziplist(elements)));
        yield return Concat([20], Plain(Listpack(elements)));
        yield return Concat([16], Plain(Listpack(elements)));
        yield return Concat([9], Plain(Zipmap(2, some)));
        yield return Concat([24], Little(60_000_000_000_000, 8), Count(3000),
            Concat([.. some.Select((e, i) => Concat([(byte)(i % 64)], Plain(e), Plain("v")))]));
        yield return Concat([25], Little(0, 8),
            Plain(Listpack(
            [.. some.SelectMany((e, i) => (string[])[e, "v", i % 2 == 0 ? "0" : $"{60_000_000_000_000 + i}"])])));
    }

    internal static byte[] Count(int count) =>
        count < 64 ? [(byte)count] : [0x80, (byte)(count >> 24), (byte)(count >> 16), (byte)(count >> 8), (byte)count];

    private static byte[] Length(int length) =>
        [0x80, (byte)(length >> 24), (byte)(length >> 16), (byte)(length >> 8), (byte)length];
}
