using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Protocol;

namespace Kv.Tests.Values;

/// <summary>Any bytes can be SET and then read as a HyperLogLog: the answer is an error or a number, and no byte
/// outside is touched.</summary>
public class HyperLogLogFuzzTests
{
    // CVE-2025-32023: run lengths that add up to more than there are registers.
    [Fact]
    public void Known_C12_damaged_bytes_are_refused_or_counted_and_nothing_outside_is_touched()
    {
        Random random = Seed.NewRandom(71);
        using GuardedInput input = new(HyperLogLog.SparseBytesMax + 64), registers = new(HyperLogLog.Registers);
        byte[][] good = [.. Enumerable.Range(0, 12).Select(i => Filled(random, 1 << i)), Dense(random)];
        var draft = new HyperLogLogDraft();
        int counted = 0, corrupt = 0, rounds = TimeBudget.Count(60_000);
        for (int round = 0; round < rounds; round++)
        {
            byte[] text = Damaged(random.Next(4) == 0 ? Crafted(random) : good[random.Next(good.Length)], random);
            Span<byte> placed = input.PlaceAtPage(text);
            Span<byte> union = registers.PlaceAtPage(new byte[HyperLogLog.Registers]);
            var status = HyperLogLog.Count(placed, out _);
            // What can be counted can be merged, and the other way round.
            Assert.Equal(status, HyperLogLog.Merge(placed, union, out var encoding));
            if (status == HyperLogLogStatus.Ok) counted++;
            if (status == HyperLogLogStatus.Corrupt) corrupt++;
            if (status != HyperLogLogStatus.NotOne) Change(draft, placed, union, status, encoding, random);
        }

        Assert.InRange(counted, rounds / 100, rounds);
        Assert.InRange(corrupt, rounds / 10, rounds);
    }

    private static void Change(
        HyperLogLogDraft draft, ReadOnlySpan<byte> text, ReadOnlySpan<byte> union, HyperLogLogStatus status,
        HyperLogLogEncoding encoding, Random random)
    {
        draft.SparseBytesMax = random.Next(2) == 0 ? 3000 : random.Next(20000);
        if (!draft.TryLoad(text)) return;
        for (int i = 0; i < 3; i++)
        {
            var seen = new HyperLogLog.Observation(random.Next(HyperLogLog.Registers),
                random.Next(1, HyperLogLog.RankMax + 1));
            if (draft.Add(seen) == SparseResult.Corrupt) Assert.Equal(HyperLogLogStatus.Corrupt, status);
        }

        if (status != HyperLogLogStatus.Ok) return;
        Assert.Equal(HyperLogLogStatus.Ok, HyperLogLog.Count(draft.Text, out _));
        if (encoding == HyperLogLogEncoding.Dense) return;
        draft.TryLoad(text);
        draft.RaiseTo(union);
        byte[] again = new byte[HyperLogLog.Registers];
        Assert.Equal(HyperLogLogStatus.Ok, HyperLogLog.Merge(draft.Text, again, out _));
        Assert.True(union.SequenceEqual(again), Seed.Hint);
    }

    private static byte[] Filled(Random random, int elements)
    {
        var draft = new HyperLogLogDraft { SparseBytesMax = 8000 };
        draft.LoadEmpty();
        byte[] element = new byte[8];
        for (int i = 0; i < elements; i++)
        {
            random.NextBytes(element);
            draft.Add(HyperLogLog.Observe(element));
        }

        return draft.Text.ToArray();
    }

    private static byte[] Dense(Random random)
    {
        byte[] text = new byte[HyperLogLog.DenseBytes];
        random.NextBytes(text);
        HyperLogLog.WriteEmpty(text);
        HyperLogLog.SetDense(text);
        return text;
    }

    /// <summary>Opcodes of any form that cover the registers exactly, also in ways in which nobody writes
    /// them.</summary>
    private static byte[] Crafted(Random random)
    {
        var text = new List<byte>(Filled(random, 0)[..HyperLogLog.HeaderBytes]);
        byte[] opcode = new byte[2];
        int most = random.Next(2) == 0 ? 4 : 5000;
        for (int left = HyperLogLog.Registers; left > 0;)
        {
            int length = random.Next(1, Math.Min(left, most) + 1);
            if (length <= SparseOpcode.ValueLengthMax && random.Next(2) == 0)
            {
                text.Add((byte)(0x80 | (random.Next(32) << 2) | (length - 1)));
            }
            else if (length <= SparseOpcode.ZeroLengthMax && random.Next(2) == 0)
            {
                text.Add((byte)(length - 1));
            }
            else
            {
                opcode[0] = (byte)(0x40 | ((length - 1) >> 8));
                opcode[1] = (byte)(length - 1);
                text.AddRange(opcode);
            }

            left -= length;
        }

        return [.. text];
    }

    private static byte[] Damaged(byte[] good, Random random)
    {
        var text = new List<byte>(good);
        for (int count = random.Next(0, 5); count > 0; count--)
        {
            int at = random.Next(3) == 0 ? random.Next(Math.Min(text.Count, 20)) : random.Next(text.Count);
            switch (random.Next(5))
            {
                case 0: text[at] = (byte)random.Next(256); break;
                case 1: text[at] ^= (byte)(1 << random.Next(8)); break;
                case 2: text.RemoveRange(at, Math.Min(random.Next(1, 4), text.Count - at)); break;
                case 3: text.Insert(at, (byte)random.Next(256)); break;
                default: text.RemoveRange(at, text.Count - at); break;
            }

            if (text.Count == 0) break;
        }

        return [.. text];
    }
}
