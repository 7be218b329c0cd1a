using Kv.Tests.Harness;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class PaddedDigitsTests
{
    [Fact]
    public void Numbers_print_as_the_library_prints_them_at_every_width_and_touch_nothing_else()
    {
        Random random = Seed.NewRandom();
        var bytes = new byte[32];
        for (int width = 1; width <= PaddedDigits.WidthMax; width++)
        {
            long limit = width >= 19 ? long.MaxValue : (long)Math.Pow(10, width);
            for (int round = 0; round < 2000; round++)
            {
                long number = round switch { 0 => 0, 1 => limit - 1, 2 => 9, 3 => Math.Min(10, limit - 1),
                    _ => random.NextInt64(limit) };
                if (round % 3 == 0) number %= (long)Math.Pow(10, random.Next(1, width + 1));
                foreach (char pad in "0X")
                {
                    Array.Fill(bytes, (byte)'.');
                    PaddedDigits.Write(number, ref bytes[4], width, (byte)pad);
                    string expected = "...." + number.ToString().PadLeft(width, pad) + new string('.', 28 - width);
                    string got = System.Text.Encoding.ASCII.GetString(bytes);
                    Assert.True(expected == got, $"{number} at width {width}: {got}; {Seed.Hint}");
                }
            }
        }
    }

    [Theory]
    [InlineData(8, '0')]
    [InlineData(8, 'X')]
    [InlineData(5, '0')]
    [InlineData(13, 'X')]
    public void A_column_is_so_many_numbers(int width, char pad)
    {
        long[] numbers = [0, 1, 42, 99_999, 12_345];
        var bytes = new byte[numbers.Length * 20];
        Array.Fill(bytes, (byte)'.');
        PaddedDigits.WriteColumn(numbers, ref bytes[2], 20, width, (byte)pad);
        string expected = string.Concat(
            numbers.Select(number => (".." + number.ToString().PadLeft(width, pad)).PadRight(20, '.')));
        Assert.Equal(expected, System.Text.Encoding.ASCII.GetString(bytes));
    }

    [Theory]
    [InlineData('0')]
    [InlineData('X')]
    public void Eight_digits_side_by_side_are_those_of_one_alone(char pad)
    {
        Random random = Seed.NewRandom();
        for (int count = 0; count < 40; count++)
        {
            long[] numbers = [.. Enumerable.Range(0, count)
                .Select(at => at switch { 0 => 99_999_999, 1 => 0, 2 => 10_000_000,
                _ => random.NextInt64((long)Math.Pow(10, random.Next(1, 9))) })];
            var bytes = new byte[(count * 27) + 27];
            Array.Fill(bytes, (byte)'.');
            PaddedDigits.WriteColumn(numbers, ref bytes[9], 27, 8, (byte)pad);
            string expected = new string('.', 9)
                + string.Concat(numbers.Select(number => number.ToString().PadLeft(8, pad) + new string('.', 19)));
            Assert.True(expected.PadRight(bytes.Length, '.') == System.Text.Encoding.ASCII.GetString(bytes),
                $"{count} numbers; {Seed.Hint}");
        }
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(10, 1)]
    [InlineData(11, 2)]
    [InlineData(1L << 40, 13)]
    [InlineData(long.MaxValue, 19)]
    public void Digits_are_counted_for_the_largest_number_below(long n, int digits) =>
        Assert.Equal(digits, PaddedDigits.CountFor(n));
}
