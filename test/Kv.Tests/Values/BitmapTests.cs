using System.Numerics;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Protocol;

namespace Kv.Tests.Values;

/// <summary>Bits against the obvious loops, on bytes that end at an inaccessible page (S03, S04).</summary>
public class BitmapTests
{
    [Fact]
    public void Known_S03_counting_and_searching_are_right_and_read_no_byte_past_the_value()
    {
        Random random = Seed.NewRandom(31);
        using var guarded = new GuardedInput(8192);
        for (int round = TimeBudget.Count(3000); round > 0; round--)
        {
            Span<byte> bytes = guarded.PlaceAtPage(
                RandomBytes(random, random.Next(1, random.Next(2) == 0 ? 40 : 5000)));
            bool[] bits = Bits(bytes);
            Assert.Equal(bits.Count(bit => bit), Bitmap.Count(bytes));
            int first = random.Next(bits.Length), last = random.Next(first, bits.Length);
            string hint = $"{bytes.Length} bytes, {first} to {last}; {Seed.Hint}";
            Assert.True(bits[first..(last + 1)].Count(bit => bit) == Bitmap.Count(bytes, first, last), hint);
            foreach (bool bit in (bool[])[false, true])
            {
                Assert.Equal(Array.IndexOf(bits, bit), Bitmap.Find(bytes, bit));
                Assert.True(Array.IndexOf(bits, bit, first, last - first + 1) == Bitmap.Find(
                    bytes, bit, first, last), hint);
            }
        }
    }

    [Fact]
    public void Combinations_are_those_of_each_byte_with_zeros_behind_the_shorter()
    {
        Random random = Seed.NewRandom(32);
        using GuardedInput one = new(4096), other = new(4096), result = new(4096);
        for (int round = TimeBudget.Count(2000); round > 0; round--)
        {
            Span<byte> a = one.PlaceAtPage(RandomBytes(random, random.Next(0, 300))),
                b = other.PlaceAtPage(RandomBytes(random, random.Next(0, 300)));
            Span<byte> to = result.PlaceAtPage(RandomBytes(random, Math.Max(a.Length, b.Length)));
            foreach (BitOperation operation in (BitOperation[])[BitOperation.And, BitOperation.Or, BitOperation.Xor])
            {
                Bitmap.Combine(operation, to, a, b);
                for (int i = 0; i < to.Length; i++)
                {
                    int x = i < a.Length ? a[i] : 0, y = i < b.Length ? b[i] : 0;
                    int expected = operation switch { BitOperation.And => x & y, BitOperation.Or => x | y, _ => x ^ y };
                    Assert.True(expected == to[i],
                        $"{operation} of {a.Length} and {b.Length} bytes at {i}; {Seed.Hint}");
                }
            }

            Bitmap.Not(to[..a.Length], a);
            for (int i = 0; i < a.Length; i++) Assert.Equal((byte)~a[i], to[i]);
        }
    }

    [Fact]
    public void Known_S04_fields_of_any_width_are_read_written_and_added_to_as_unbounded_numbers_say()
    {
        Random random = Seed.NewRandom(33);
        using var guarded = new GuardedInput(64);
        for (int round = TimeBudget.Count(20000); round > 0; round--)
        {
            bool signed = random.Next(2) == 0;
            var field = new BitField(signed, (byte)random.Next(1, signed ? 65 : 64));
            Span<byte> bytes = guarded.PlaceAtPage(RandomBytes(random, 24));
            long firstBit = random.Next(0, (24 * 8) - field.Bits + 1);
            BigInteger before = Number(bytes, firstBit, field);
            Assert.Equal(before, field.Read(bytes, firstBit));

            BigInteger max = BigInteger.Pow(2, field.Bits - (signed ? 1 : 0)) - 1, min = signed ? -max - 1 : 0,
                range = BigInteger.Pow(2, field.Bits);
            long increment = Increment(random);
            BigInteger sum = before + increment;
            bool fits = sum >= min && sum <= max;
            foreach (BitOverflow overflow in Enum.GetValues<BitOverflow>())
            {
                string hint = $"{field}: {before} + {increment}, {overflow}; {Seed.Hint}";
                bool done = field.TryAdd((long)before, increment, overflow, out long result);
                Assert.True(done == (fits || overflow != BitOverflow.Fail), hint);
                if (!done) continue;
                BigInteger wrapped = (((sum - min) % range) + range) % range + min;
                BigInteger expected = fits ? sum : overflow == BitOverflow.Wrap ? wrapped : sum > max ? max : min;
                Assert.True(expected == result, hint);
                byte[] untouched = bytes.ToArray();
                field.Write(bytes, firstBit, result);
                Assert.True(expected == Number(bytes, firstBit, field), hint);
                Assert.True(Bits(untouched).Where((_, bit) => bit < firstBit || bit >= firstBit + field.Bits)
                    .SequenceEqual(Bits(bytes).Where((_, bit) => bit < firstBit || bit >= firstBit + field.Bits)),
                    hint);
            }
        }
    }

    [Fact]
    public void A_field_that_reaches_past_the_end_reads_zeros_there()
    {
        Assert.Equal(0xFF00, new BitField(false, 16).Read([0xFF], 0));
        Assert.Equal(0, new BitField(true, 64).Read([0xFF], 8));
        Assert.Equal(0, new BitField(false, 8).Read([], 1L << 32));
    }

    private static long Increment(Random random) => random.Next(4) switch
    {
        0 => random.Next(-3, 4),
        1 => random.NextInt64(long.MinValue, long.MaxValue),
        2 => long.MaxValue - random.Next(3),
        _ => long.MinValue + random.Next(3),
    };

    private static BigInteger Number(ReadOnlySpan<byte> bytes, long firstBit, BitField field)
    {
        BigInteger number = 0;
        for (int i = 0; i < field.Bits; i++) number = (number * 2) + (Bitmap.Get(bytes, firstBit + i) ? 1 : 0);
        return field.IsSigned && number >= BigInteger.Pow(2, field.Bits - 1)
            ? number - BigInteger.Pow(2, field.Bits) : number;
    }

    private static byte[] RandomBytes(Random random, int count)
    {
        var bytes = new byte[count];
        switch (random.Next(4))
        {
            case 0: break;
            case 1: bytes.AsSpan().Fill(0xFF); break;
            case 2: bytes.AsSpan(random.Next(count + 1)).Fill(0xFF); break;
            default: random.NextBytes(bytes); break;
        }

        return bytes;
    }

    private static bool[] Bits(ReadOnlySpan<byte> bytes)
    {
        var bits = new bool[bytes.Length * 8];
        for (int i = 0; i < bits.Length; i++) bits[i] = (bytes[i / 8] >> (7 - (i % 8)) & 1) != 0;
        return bits;
    }
}
