using System.Globalization;
using System.Text;
using Kv.Lua;
using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>A number is what it is at once, however it is cut into pieces.</summary>
public sealed class LongNumberTests
{
    [Fact]
    public void Random_decimals_are_what_NET_reads()
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < 3000; round++)
        {
            string text = Digits(random, 10);
            if (random.Next(3) > 0) text += "." + Digits(random, 10);
            if (random.Next(2) == 0)
                text += (random.Next(2) == 0 ? "e" : "E-") + new string('0', random.Next(3)) + random.Next(1500);
            double expected = double.Parse(text, NumberStyles.Float, CultureInfo.InvariantCulture);
            Assert.True(Read(text, 10, random).Equals((expected, text.Length)), text);
        }
    }

    // Half way between two neighbours, and just beside, in numbers of 53 bits and of fewer.
    [Fact]
    public void Random_hexadecimals_are_rounded_once()
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < 3000; round++)
        {
            double below = BitConverter.UInt64BitsToDouble((ulong)random.NextInt64(0, 0x7FE0_0000_0000_0000));
            if (random.Next(2) == 0) below = BitConverter.UInt64BitsToDouble((ulong)random.NextInt64(0, 1L << 52));
            double above = Math.BitIncrement(below);
            ulong bits = BitConverter.DoubleToUInt64Bits(below);
            long exponent = Math.Max(1, (long)(bits >> 52)) - 1075;
            ulong mantissa = (bits & ((1UL << 52) - 1)) | (bits >> 52 == 0 ? 0 : 1UL << 52);
            double even = (bits & 1) == 0 ? below : above;
            string zeros = new('0', random.Next(40)), front = new('0', random.Next(40));
            string half = $"{front}{mantissa:x}.8{zeros}", power = $"p{exponent}";
            Assert.True(Read(half + power, 16, random).Number == even, half + power);
            Assert.True(Read(half + "1" + power, 16, random).Number == above, half + "1" + power);
            string less = $"{front}{mantissa:X}.7{new string('F', zeros.Length)}";
            Assert.True(Read(less + power, 16, random).Number == below, less + power);
        }
    }

    [Theory]
    [InlineData("1e5x", 10, 3, 1e5)]
    [InlineData("1.5e+", 10, 3, 1.5)]
    [InlineData("1.e", 10, 2, 1)]
    [InlineData("1.5.5", 10, 3, 1.5)]
    [InlineData(".e5", 10, 0, 0)]
    [InlineData("-1", 10, 0, 0)]
    [InlineData("1e99999999999999999999", 10, 22, double.PositiveInfinity)]
    [InlineData("1e-99999999999999999999", 10, 23, 0)]
    [InlineData("0e99999999999999999999", 10, 22, 0)]
    [InlineData("ffg", 16, 2, 255)]
    [InlineData(".8p1p", 16, 4, 1)]
    [InlineData("1p99999999999999999999", 16, 22, double.PositiveInfinity)]
    [InlineData("1p-1074", 16, 7, double.Epsilon)]
    [InlineData("1p-1075", 16, 7, 0)]
    [InlineData("1.0000001p-1075", 16, 15, double.Epsilon)]
    [InlineData("1p-1076", 16, 7, 0)]
    public void It_ends_where_the_number_does(string text, int numberBase, int length, double value)
    {
        var read = Read(text, numberBase, Seed.NewRandom());
        Assert.Equal(length, read.Length);
        if (length > 0) Assert.Equal(value, read.Number);
    }

    private static string Digits(Random random, int numberBase) => string.Concat(
        Enumerable.Range(0, random.Next(1, random.Next(8) == 0 ? 2500 : 25)).Select(_ =>
            random.Next(3) == 0 ? '0' : (char)('0' + random.Next(numberBase))));

    private static (double Number, int Length) Read(string text, int numberBase, Random random)
    {
        var number = new LongNumber(numberBase);
        byte[] bytes = Encoding.ASCII.GetBytes(text);
        for (int at = 0; at < bytes.Length;)
        {
            int piece = Math.Min(bytes.Length - at, random.Next(1, 40)), taken = number.Take(bytes.AsSpan(at, piece));
            at += taken;
            if (taken < piece) break;
        }

        return (number.Length == 0 ? double.NaN : number.Value, number.Length);
    }
}
