using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;
using static Kv.Tests.Rdb.Payloads;

namespace Kv.Tests.Rdb;

/// <summary>Any bytes can be given to RESTORE: what comes of them is an error, or a value that is whole.</summary>
public class PayloadFuzzTests
{
    /// <summary>KV_FUZZ_PAYLOADS=1000000 for a long run.</summary>
    private static readonly int Rounds =
        int.TryParse(Environment.GetEnvironmentVariable("KV_FUZZ_PAYLOADS"), CultureInfo.InvariantCulture,
            out int rounds) ? rounds : TimeBudget.Count(40_000);

    private const string StreamDump =
        "130110000000000000000100000000000000013E3E00000018000201010101018166020001030100010001817602040100010101040102018166028177028167020C01080102010201DFFF028178020401FF0203000205010103010367727002050201000000000000000200000000000000052C63AEFFA1010000010103636F6E2C63AEFFA10100000100000000000000020000000000000005";

    // D09
    [Fact]
    public void Known_D09_damaged_payloads_are_refused_or_give_a_value_that_is_whole()
    {
        Random random = Seed.NewRandom(910);
        using var test = new TestStore();
        byte[][] good = Good(random);
        int taken = 0, refused = 0;
        for (int round = 0; round < Rounds; round++)
        {
            byte[] content = Damaged(good, random);
            string key = "k" + random.Next(8);
            switch (Restore(test, key, content, workPerStep: random.Next(2) == 0 ? long.MaxValue : 1 + random.Next(40)))
            {
                case RdbStatus.Ok:
                    taken++;
                    // What was taken can be read, written, and taken again as the same.
                    byte[] again = Dump(test, key)!;
                    Assert.True(Restore(test, "again", again) == RdbStatus.Ok, Seed.Hint);
                    Assert.True(Show(test, key) == Show(test, "again"), Seed.Hint);
                    break;
                case RdbStatus.OutOfMemory:
                    Assert.Fail($"took more memory than there is; {Seed.Hint}");
                    break;
                default:
                    refused++;
                    break;
            }

            if (round % 500 == 0) test.Check();
        }

        for (int i = 0; i < 8; i++) test.Delete("k" + i);
        test.Delete("again");
        test.Settle();
        test.Check();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
        Assert.True(taken > Rounds / 100 && refused > Rounds / 10, $"{taken} taken, {refused} refused");
    }

    [Theory]
    [InlineData(long.MaxValue)]
    [InlineData(1)]
    public void Whichever_allocation_is_refused_the_key_stays_as_it_was(long workPerStep)
    {
        Random random = Seed.NewRandom(911);
        foreach (byte[] content in Good(random))
        {
            using var test = new TestStore();
            Assert.Equal(RdbStatus.Ok, Restore(test, "k", [1, 1, .. Plain("old")]));
            RdbStatus status;
            int nth = 0;
            do
            {
                int calls = 0;
                nth++;
                int stop = nth;
                test.Store.Budget.Refuse = () => ++calls == stop;
                status = Restore(test, "k", content, workPerStep: workPerStep);
                bool wasRefused = calls >= stop;
                test.Store.Budget.Refuse = null;
                Assert.Equal(wasRefused ? RdbStatus.OutOfMemory : RdbStatus.Ok, status);
                if (wasRefused) Assert.Equal("list old", Show(test, "k"));
                test.Check();
            }
            while (status != RdbStatus.Ok);

            test.Delete("k");
            test.Settle();
            Assert.Equal(0, test.Store.Stats.BlockBytes);
        }
    }

    /// <summary>Payloads of every type and some sizes.</summary>
    private static byte[][] Good(Random random)
    {
        string[] few = [.. Elements(random, 5)], some = [.. Elements(random, 60)], many = [.. Elements(random, 700)];
        byte[] text = LzfTests.RandomText(random, 200), longText = new byte[80_000];
        var good = new List<byte[]>
        {
            new byte[] { 0, 0xC1, 0x2C, 0x01 }, Concat([0], Plain("hello")), Compressed(text), Compressed(longText),
            Concat([10], Plain(Ziplist(few))), Concat([14, 2], Plain(Ziplist(few)), Plain(Ziplist(some))),
            Concat([18, 2, 2], Plain(Listpack(few)), [1], Plain("plain")),
            Concat([11], Plain(Integers(2, -5, 1, 300))), Concat([11], Plain(Integers(8, -5, 1, 30_000_000_000))),
        };
        foreach (string[] elements in (string[][])[few, some, many])
        {
            byte[] each = Concat([.. elements.Select(Plain)]);
            byte[] scored = Concat([.. elements.Select((e, i) => Concat(Plain(e), BitConverter.GetBytes(i * 0.5)))]);
            byte[] textScored = Concat(
                [.. elements.Select((e, i) => Concat(Plain(e), Plain(i.ToString(CultureInfo.InvariantCulture))))]);
            string[] pairs =
                [.. elements.SelectMany((e, i) => (string[])[e, i.ToString(CultureInfo.InvariantCulture)])];
            byte[] count = Count(elements.Length);
            good.AddRange(
            [
                Concat([1], count, each), Concat([2], count, each), Concat([3], count, textScored),
                Concat([5], count, scored), Concat([4], count, textScored),
                Concat([9], Plain(Zipmap(1, pairs))), Concat([12], Plain(Ziplist(pairs))),
                Concat([13], Plain(Ziplist(pairs))), Concat([16], Plain(Listpack(pairs))),
                Concat([24], Little(60_000_000_000_000, 8), count,
                    Concat([.. elements.Select((e, i) => Concat([(byte)(i % 64)], Plain(e), Plain("v")))])),
                Concat([25], Little(0, 8),
                    Plain(
                    Listpack(
                        [.. elements.SelectMany(
                            (e, i) => (string[])[e, "v", i % 2 == 0 ? "0" : $"{60_000_000_000_000 + i}"])]))),
                Concat([17], Plain(Listpack(pairs))), Concat([20], Plain(Listpack(elements))),
            ]);
        }

        // A stream as redis-server 7.0.15 dumped it: two entries, one of them deleted, a group with a consumer that has
        // the other.
        good.Add(Convert.FromHexString(StreamDump));

        // And each as it is written here, compressed.
        using var test = new TestStore();
        foreach (byte[] content in good.ToArray())
        {
            Assert.Equal(RdbStatus.Ok, Restore(test, "k", content));
            good.Add(Dump(test, "k")!);
        }

        return [.. good];
    }

    private static IEnumerable<string> Elements(Random random, int count) => Enumerable.Range(0, count)
        .Select(i => random.Next(4) switch { 0 => $"{i}", 1 => $"{(long)i << random.Next(50)}.",
            2 => new string('a', random.Next(70)) + i, _ => $"e{i}" }).Distinct();

    private static byte[] Count(int count) => count < 64 ? [(byte)count] : [(byte)(0x40 | (count >> 8)), (byte)count];

    private static byte[] Compressed(byte[] text)
    {
        using var test = new TestStore();
        Assert.Equal(RdbStatus.Ok, Restore(test, "k", Concat([0], Plain(text))));
        return Dump(test, "k")!;
    }

    private static byte[] Damaged(byte[][] good, Random random)
    {
        var content = new List<byte>(good[random.Next(good.Length)]);
        for (int changes = random.Next(1, 4); changes > 0; changes--)
        {
            // Mostly where lengths and heads are.
            int at = content.Count == 0 ? 0 : random.Next(2) == 0
                ? random.Next(Math.Min(24, content.Count)) : random.Next(content.Count);
            switch (random.Next(8))
            {
                case 0 or 1 when content.Count > 0:
                    content[at] ^= (byte)(1 << random.Next(8));
                    break;
                case 2 when content.Count > 0:
                    content[at] = (byte)random.Next(256);
                    break;
                case 3 when content.Count > 0:
                    content[at] = (byte)(random.Next(8) switch { 0 => 0, 1 => 0x80, 2 => 0x81, 3 => 0xC3, 4 => 0xFE,
                        5 => 0xFF, 6 => 0xF0, _ => 0x7F });
                    break;
                case 4:
                    content.RemoveRange(at, Math.Min(random.Next(1, 12), content.Count - at));
                    break;
                case 5:
                    byte[] more = new byte[random.Next(1, 9)];
                    random.NextBytes(more);
                    content.InsertRange(at, more);
                    break;
                case 6:
                    int count = Math.Min(random.Next(1, 40), content.Count - at);
                    content.InsertRange(random.Next(content.Count + 1), content.GetRange(at, count));
                    break;
                default:
                    byte[] other = good[random.Next(good.Length)];
                    content.RemoveRange(at, content.Count - at);
                    content.AddRange(other[random.Next(other.Length)..]);
                    break;
            }
        }

        return [.. content];
    }
}
