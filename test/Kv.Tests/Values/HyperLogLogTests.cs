using System.Buffers.Binary;
using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Values;

/// <summary>How near the estimates are, and what a hash is.</summary>
public class HyperLogLogTests
{
    /// <summary>The standard deviation of an estimate, as a share of what is counted: 1.04 / sqrt(16,384).</summary>
    private const double Deviation = 1.04 / 128;

    // The root of the mean square of so many errors is above 1.6 deviations less than once in a million runs.
    [Theory]
    [InlineData(1_000, 200)]
    [InlineData(100_000, 60)]
    [InlineData(1_000_000, 40)]
    public void Estimates_are_as_near_as_the_theory_says(int elements, int sketches)
    {
        Random random = Seed.NewRandom(61);
        double squares = 0;
        for (int i = 0; i < sketches; i++)
        {
            double error = ErrorOf(elements, random);
            squares += error * error;
        }

        Assert.True(Math.Sqrt(squares / sketches) < 1.6 * Deviation,
            string.Create(CultureInfo.InvariantCulture,
                $"{elements} elements: {Math.Sqrt(squares / sketches):P3}; {Seed.Hint}"));
        Assert.True(squares > 0, "an estimate that is never wrong is no estimate");
    }

    // Six deviations: once in 500 million runs.
    [Fact]
    public void An_estimate_of_ten_million_is_as_near_as_the_theory_says()
    {
        double error = ErrorOf(10_000_000, Seed.NewRandom(62));
        Assert.True(Math.Abs(error) < 6 * Deviation,
            string.Create(CultureInfo.InvariantCulture, $"{error:P3}; {Seed.Hint}"));
    }

    [Fact]
    public void Few_elements_are_counted_exactly_or_nearly()
    {
        Random random = Seed.NewRandom(63);
        for (int elements = 0; elements <= 100; elements++)
            Assert.InRange(Math.Abs(ErrorOf(elements, random) * Math.Max(1, elements)), 0, 4);
    }

    // Frozen: the registers of all values there are hang on them.
    [Theory]
    [InlineData("", 0xD8DFEA6585BC9732UL)]
    [InlineData("a", 0x53D2470A9B43B1A7UL)]
    [InlineData("hello", 0x0F656F01EECFE400UL)]
    [InlineData("hello world, again", 0xBCC1AD2007F15A61UL)]
    public void The_hash_is_MurmurHash64A(string text, ulong expected) =>
        Assert.Equal(expected, MurmurHash64A.Of(System.Text.Encoding.ASCII.GetBytes(text), 0xADC83B19));

    [Fact]
    public void The_hash_of_any_length_is_that_of_the_definition()
    {
        Random random = Seed.NewRandom(64);
        for (int length = 0; length < 100; length++)
        {
            byte[] bytes = new byte[length];
            random.NextBytes(bytes);
            Assert.Equal(Murmur(bytes, 0xADC83B19), MurmurHash64A.Of(bytes, 0xADC83B19));
        }
    }

    /// <summary>The definition, a byte at a time.</summary>
    private static ulong Murmur(byte[] bytes, ulong seed)
    {
        const ulong factor = 0xC6A4A7935BD1E995;
        ulong hash = seed ^ ((ulong)bytes.Length * factor);
        int whole = bytes.Length & ~7;
        for (int at = 0; at < whole; at += 8)
        {
            ulong word = 0;
            for (int i = 7; i >= 0; i--) word = (word << 8) | bytes[at + i];
            word *= factor;
            word ^= word >> 47;
            hash = (hash ^ (word * factor)) * factor;
        }

        for (int at = bytes.Length - 1; at >= whole; at--)
        {
            hash ^= (ulong)bytes[at] << (8 * (at - whole));
            if (at == whole) hash *= factor;
        }

        hash = (hash ^ (hash >> 47)) * factor;
        return hash ^ (hash >> 47);
    }

    /// <summary>The error of one estimate, as a share; sparse while that lasts, then dense.</summary>
    private static double ErrorOf(int elements, Random random)
    {
        var draft = new HyperLogLogDraft { SparseBytesMax = 3000 };
        draft.LoadEmpty();
        Span<byte> element = stackalloc byte[16];
        BinaryPrimitives.WriteInt64LittleEndian(element, random.NextInt64());
        for (int i = 0; i < elements; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(element[8..], i);
            draft.Add(HyperLogLog.Observe(element));
        }

        Assert.Equal(HyperLogLogStatus.Ok, HyperLogLog.Count(draft.Text, out long estimate));
        return (double)(estimate - elements) / Math.Max(1, elements);
    }
}
