using System.Globalization;
using System.Numerics;
using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

public class ExtendedFloatTests
{
    // Answers of redis-server 7.0.15 to INCRBYFLOAT.
    [Theory]
    [InlineData("0.1", "0.2", "0.3")]
    [InlineData("5.0e3", "2.0e2", "5200")]
    [InlineData("3000", "1.23456789012345678901234", "3001.23456789012345669")]
    [InlineData("1", "0x10", "17")]
    [InlineData("1", "0x1.8p3", "13")]
    [InlineData("18446744073709551615", "1", "18446744073709551616")]
    [InlineData("18446744073709551616", "0.5", "18446744073709551616")]
    [InlineData("-1e-30", "0", "0")]
    [InlineData("-0", "-0", "0")]
    [InlineData("1", "-1", "0")]
    [InlineData("12.5", "1.9e-4951", "12.5")]
    public void Adds_as_the_reference_does(string left, string right, string sum) =>
        Assert.Equal(sum, Add(left, right));

    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData(".")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("nan")]
    [InlineData("infinit")]
    [InlineData("1e")]
    [InlineData("1e+")]
    [InlineData("0x")]
    [InlineData("0x.p1")]
    [InlineData("0x1p")]
    [InlineData("1e5000")]
    [InlineData("1e999999999999")]
    [InlineData("1e-5000")]
    [InlineData("1.8e-4951")]
    [InlineData("0x1p-16446")]
    public void Refuses_what_is_no_number_and_what_the_format_cannot_hold(string text) =>
        Assert.False(ExtendedFloat.TryParse(Encoding.ASCII.GetBytes(text), out _));

    [Fact]
    public void Takes_infinity_and_never_leaves_it()
    {
        Assert.True(ExtendedFloat.TryParse("-INF"u8, out var infinite));
        Assert.False((infinite + ExtendedFloat.FromInt64(1)).IsFinite);
        Assert.True(ExtendedFloat.TryParse("1.189731495357231765e4932"u8, out var largest));
        Assert.True(largest.IsFinite);
        Assert.False((largest + largest).IsFinite);
    }

    [Fact]
    public void Holds_every_64_bit_integer_exactly()
    {
        foreach (long value in (long[])[0, 1, -1, 9, long.MaxValue, long.MinValue, 1L << 53, -(1L << 62)])
        {
            Assert.Equal(value.ToString(CultureInfo.InvariantCulture), Text(ExtendedFloat.FromInt64(value)));
        }
    }

    // Integers of up to 40 digits, against exact sums rounded to 64 significant bits.
    [Fact]
    public void Rounds_a_sum_to_64_bits_ties_to_even()
    {
        var random = Seed.NewRandom();
        for (int i = 0; i < 20_000; i++)
        {
            var left = Round64(RandomInteger(random));
            var right = Round64(RandomInteger(random));
            string sum = Add(left.ToString(CultureInfo.InvariantCulture), right.ToString(CultureInfo.InvariantCulture));
            Assert.True(sum == Round64(left + right).ToString(CultureInfo.InvariantCulture),
                $"{Seed.Hint}: {left} + {right} gave {sum}");
        }
    }

    [Fact]
    public void Prints_a_double_exactly_to_17_decimals()
    {
        Assert.Equal("0.10000000000000001", Text(ExtendedFloat.FromDouble(0.1)));
        Assert.Equal("-2.5", Text(ExtendedFloat.FromDouble(-2.5)));
        Assert.Equal("0", Text(ExtendedFloat.FromDouble(double.Epsilon)));
        foreach (double large in (double[])[1e19, -1e30, 1e300, double.MaxValue])
        {
            Assert.Equal(new BigInteger(large).ToString(CultureInfo.InvariantCulture),
                Text(ExtendedFloat.FromDouble(large)));
        }
    }

    private static BigInteger RandomInteger(Random random)
    {
        var bytes = new byte[random.Next(1, 18)];
        random.NextBytes(bytes);
        return new BigInteger(bytes);
    }

    private static BigInteger Round64(BigInteger value)
    {
        var magnitude = BigInteger.Abs(value);
        int shift = (int)magnitude.GetBitLength() - 64;
        if (shift <= 0) return value;
        var half = BigInteger.One << (shift - 1);
        var rest = magnitude & ((BigInteger.One << shift) - 1);
        var kept = magnitude >> shift;
        if (rest > half || (rest == half && !kept.IsEven)) kept++;
        return value.Sign * (kept << shift);
    }

    private static string Add(string left, string right)
    {
        Assert.True(ExtendedFloat.TryParse(Encoding.ASCII.GetBytes(left), out var first));
        Assert.True(ExtendedFloat.TryParse(Encoding.ASCII.GetBytes(right), out var second));
        return Text(first + second);
    }

    private static string Text(ExtendedFloat value)
    {
        var buffer = new byte[ExtendedFloat.MaxHumanBytes];
        return Encoding.ASCII.GetString(buffer, 0, value.FormatHuman(buffer));
    }
}
