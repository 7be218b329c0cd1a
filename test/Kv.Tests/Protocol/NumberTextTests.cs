using System.Globalization;
using System.Numerics;
using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

public class NumberTextTests
{
    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData("+1")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("007")]
    [InlineData("00")]
    [InlineData("-0")]
    [InlineData("-01")]
    [InlineData("1e3")]
    [InlineData("1.0")]
    [InlineData("0x10")]
    [InlineData("9223372036854775808")]
    [InlineData("-9223372036854775809")]
    [InlineData("18446744073709551616")]
    [InlineData("99999999999999999999")]
    [InlineData("123456789012345678901")]
    [InlineData("1\0")]
    public void Refuses_what_is_no_canonical_integer(string text) =>
        Assert.False(NumberText.TryParseInt64(Encoding.ASCII.GetBytes(text), out _));

    [Fact]
    public void Integers_read_back_what_was_written()
    {
        byte[] buffer = new byte[NumberText.MaxInt64Bytes];
        foreach (long value in InterestingIntegers())
        {
            int length = NumberText.FormatInt64(value, buffer);
            Assert.Equal(value.ToString(CultureInfo.InvariantCulture), Encoding.ASCII.GetString(buffer, 0, length));
            Assert.Equal(length, NumberText.LengthOf(value));
            Assert.True(NumberText.TryParseInt64(buffer.AsSpan(0, length), out long back));
            Assert.Equal(value, back);
        }
    }

    // The slow twin: canonical is what BigInteger writes.
    [Fact]
    public void Takes_exactly_the_canonical_integers_of_64_bits()
    {
        Random random = Seed.NewRandom(1);
        for (int round = TimeBudget.Count(100_000); round > 0; round--)
        {
            byte[] text = random.GetItems("0123456789999-+ "u8, random.Next(0, 23));
            if (random.Next(3) == 0)
                text = Mutation.Of(Encoding.ASCII.GetBytes(
                    (BigInteger.Pow(2, 63) + random.Next(-3, 3)).ToString(CultureInfo.InvariantCulture)), random);
            string shown = Encoding.Latin1.GetString(text);
            bool canonical = BigInteger.TryParse(shown, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture,
                out BigInteger value)
                && value.ToString(CultureInfo.InvariantCulture) == shown && value >= long.MinValue
                && value <= long.MaxValue;
            Assert.True(canonical == NumberText.TryParseInt64(text, out long parsed), $"{shown}; {Seed.Hint}");
            if (canonical) Assert.Equal((long)value, parsed);
        }
    }

    [Theory]
    [InlineData(0, "0")]
    [InlineData(-0.0, "-0")]
    [InlineData(1, "1")]
    [InlineData(-3.5, "-3.5")]
    [InlineData(0.1, "0.1")]
    [InlineData(1e-5, "0.00001")]
    [InlineData(1e-6, "0.000001")]
    [InlineData(1e-7, "1e-7")]
    [InlineData(1.5e-7, "1.5e-7")]
    [InlineData(12.34, "12.34")]
    [InlineData(1.2345678901234567, "1.2345678901234567")]
    [InlineData(1e15, "1000000000000000")]
    [InlineData(4503599627370495, "4503599627370495")]
    [InlineData(4503599627370496, "4503599627370496")]
    [InlineData(1e17, "1e+17")]
    [InlineData(1e20, "1e+20")]
    [InlineData(123456789012345e7, "1234567890123450000000")]
    [InlineData(123456789012345e8, "1.23456789012345e+22")]
    [InlineData(1.7976931348623157e308, "1.7976931348623157e+308")]
    [InlineData(5e-324, "5e-324")]
    [InlineData(double.NaN, "nan")]
    [InlineData(double.PositiveInfinity, "inf")]
    [InlineData(double.NegativeInfinity, "-inf")]
    public void Writes_doubles_in_the_form_of_Redis_7_2(double value, string expected) =>
        Assert.Equal(expected, Format(value));

    [Fact]
    public void Doubles_read_back_what_was_written_and_no_shorter_text_would()
    {
        Random random = Seed.NewRandom(2);
        for (int round = TimeBudget.Count(50_000); round > 0; round--)
        {
            double value = random.Next(3) switch
            {
                0 => BitConverter.Int64BitsToDouble(random.NextInt64(long.MinValue, long.MaxValue)),
                1 => Math.Round(random.NextDouble() * 1000, random.Next(8)),
                _ => random.NextInt64() * Math.Pow(10, random.Next(-30, 10)),
            };
            if (double.IsNaN(value)) continue;
            string text = Format(value);
            Assert.InRange(text.Length, 1, NumberText.MaxDoubleBytes);
            Assert.True(NumberText.TryParseDouble(Encoding.ASCII.GetBytes(text), out double back),
                $"{text}; {Seed.Hint}");
            Assert.True(BitConverter.DoubleToInt64Bits(value) == BitConverter.DoubleToInt64Bits(back),
                $"{text}; {Seed.Hint}");
        }
    }

    [Theory]
    [InlineData("inf", double.PositiveInfinity)]
    [InlineData("+INF", double.PositiveInfinity)]
    [InlineData("-Infinity", double.NegativeInfinity)]
    [InlineData("1e5", 100000)]
    [InlineData(".5", 0.5)]
    [InlineData("5.", 5)]
    [InlineData("+1", 1)]
    [InlineData("-0", -0.0)]
    [InlineData("00012", 12)]
    [InlineData("0x10", 16)]
    [InlineData("0X1.8P-2", 0.375)]
    [InlineData("0x.8", 0.5)]
    [InlineData("-0x1p-1074", -5e-324)]
    [InlineData("0x1.fffffffffffff8p0", 2)]
    [InlineData("0x1.00000000000008p0", 1)]
    [InlineData("0x1.000000000000080000000000000000000001p0", 1.0000000000000002)]
    [InlineData("0x1.bc06848ee458580p-1023", 1.92966688271851e-308)]      // a denormal that must round up
    [InlineData("0x0p999999", 0)]
    [InlineData("1e-320", 1e-320)]
    public void Takes_doubles_as_strtod_does(string text, double expected)
    {
        Assert.True(NumberText.TryParseDouble(Encoding.ASCII.GetBytes(text), out double value));
        Assert.Equal(BitConverter.DoubleToInt64Bits(expected), BitConverter.DoubleToInt64Bits(value));
    }

    [Theory]
    [InlineData("")]
    [InlineData(".")]
    [InlineData("-")]
    [InlineData("nan")]
    [InlineData("-nan")]
    [InlineData("nan(1)")]
    [InlineData("infinit")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1e")]
    [InlineData("1e+")]
    [InlineData("1,5")]
    [InlineData("1_0")]
    [InlineData("--1")]
    [InlineData("0x")]
    [InlineData("0x.")]
    [InlineData("0x1p")]
    [InlineData("1e400")]
    [InlineData("-1e400")]
    [InlineData("1e-400")]
    [InlineData("0x1p1024")]
    [InlineData("0x1p-1075")]
    [InlineData("1e99999999999999")]
    [InlineData("0x1p-99999999999999")]
    [InlineData("1\0")]
    public void Refuses_what_Redis_takes_for_no_double(string text) =>
        Assert.False(NumberText.TryParseDouble(Encoding.ASCII.GetBytes(text), out _));

    [Theory]
    [InlineData(10.5, "10.5")]
    [InlineData(1e20, "100000000000000000000")]
    [InlineData(-0.0, "0")]
    [InlineData(1e-18, "0")]
    [InlineData(double.NegativeInfinity, "-inf")]
    public void Writes_doubles_for_people_without_exponent(double value, string expected)
    {
        byte[] buffer = new byte[NumberText.MaxHumanBytes];
        Assert.Equal(expected, Encoding.ASCII.GetString(buffer, 0, NumberText.FormatHumanDouble(value, buffer)));
    }

    internal static IEnumerable<long> InterestingIntegers()
    {
        yield return 0;
        yield return long.MinValue;
        for (long power = 1; ; power *= 10)
        {
            foreach (long near in (long[])[power - 1, power, power + 1])
            {
                yield return near;
                yield return -near;
            }

            if (power == 1_000_000_000_000_000_000) break;
        }

        for (int bit = 0; bit < 63; bit++) yield return 1L << bit;
        yield return long.MaxValue;
    }

    private static string Format(double value)
    {
        byte[] buffer = new byte[NumberText.MaxDoubleBytes];
        return Encoding.ASCII.GetString(buffer, 0, NumberText.FormatDouble(value, buffer));
    }
}
