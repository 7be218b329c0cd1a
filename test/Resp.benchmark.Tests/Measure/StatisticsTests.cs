using System.Numerics;
using Kv.Tests.Harness;
using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Measure;

public class StatisticsTests
{
    [Fact]
    public void A_sample_says_mean_spread_median_and_interval()
    {
        var sample = Sample.Of([2, 4, 4, 4, 5, 5, 7, 9]);

        Assert.Equal(5, sample.Mean);
        Assert.Equal(4.5, sample.Median);
        Assert.Equal(Math.Sqrt(32.0 / 7), sample.Deviation, 1e-12);
        Assert.Equal(Math.Sqrt(32.0 / 7) / 5, sample.Variation, 1e-12);
        Assert.Equal(2.364624 * Math.Sqrt(32.0 / 7 / 8), sample.Interval95, 1e-5);   // t of 7 degrees, from a table
        Assert.True(sample.Unstable);
    }

    [Fact]
    public void Spread_above_a_tenth_of_the_mean_is_unstable_and_a_tenth_is_not()
    {
        Assert.False(Sample.Of([99, 100, 101]).Unstable);
        Assert.False(Sample.Of([90, 100, 110]).Unstable);       // the deviation is exactly 10
        Assert.True(Sample.Of([89, 100, 111]).Unstable);
        Assert.False(Sample.Of([100]).Unstable);
    }

    [Fact]
    public void One_value_has_no_interval_and_none_has_no_mean()
    {
        Assert.True(double.IsNaN(Sample.Of([7]).Interval95));
        Assert.Equal(7, Sample.Of([7]).Median);
        Assert.True(double.IsNaN(Sample.Of([]).Mean));
    }

    [Fact]
    public void The_interval_of_a_ratio_is_Welchs_on_logarithms()
    {
        // By hand: logarithms to base 2 are 0, 1, 2 and 2, 3, 4, 5: means 1 and 3.5, variances 1 and 5/3;
        // error² = 1/3 + 5/12 = 3/4; degrees = (9/16) / ((1/9)/2 + (25/144)/3) = 4.95918.
        var ratio = RatioTest.Of([1, 2, 4], [4, 8, 16, 32]);

        Assert.Equal(Math.Pow(2, -2.5), ratio.Ratio, 1e-12);
        double half = StudentT.Quantile(0.975, 4.959183673469388) * Math.Sqrt(0.75);
        Assert.Equal(Math.Pow(2, -2.5 - half), ratio.Low, 1e-9);
        Assert.Equal(Math.Pow(2, -2.5 + half), ratio.High, 1e-9);
    }

    [Fact]
    public void A_ratio_swapped_is_its_reciprocal_and_scales_cancel()
    {
        double[] a = [101, 99, 103, 98], b = [87, 90, 88, 91, 85];
        var forth = RatioTest.Of(a, b);
        var back = RatioTest.Of([.. b.Select(value => value * 3)], [.. a.Select(value => value * 3)]);

        Assert.Equal(1 / forth.Ratio, back.Ratio, 1e-12);
        Assert.Equal(1 / forth.Low, back.High, 1e-12);
        Assert.True(forth.Low > 1 && forth.Low < forth.Ratio && forth.Ratio < forth.High);
    }

    [Fact]
    public void A_ratio_of_single_values_has_no_interval_and_of_zeros_is_none()
    {
        var single = RatioTest.Of([3], [2, 2]);
        Assert.Equal(1.5, single.Ratio, 1e-12);
        Assert.True(double.IsNaN(single.Low) && double.IsNaN(single.High));
        Assert.True(double.IsNaN(RatioTest.Of([0, 1], [1, 2]).Ratio));
        Assert.Equal(new RatioTest(2, 2, 2), RatioTest.Of([2, 2], [1, 1]));
    }

    [Theory]
    [InlineData(3, 3, 2 / 20.0)]
    [InlineData(4, 4, 2 / 70.0)]
    [InlineData(5, 5, 2 / 252.0)]
    public void Fully_apart_sides_have_the_smallest_p(int a, int b, double p) =>
        Assert.Equal(p, MannWhitney.TwoSided([.. Enumerable.Range(0, a).Select(i => (double)i)],
            [.. Enumerable.Range(100, b).Select(i => (double)i)]), 1e-12);

    [Fact]
    public void Mann_Whitney_is_the_count_over_all_ways_to_deal_with_ties_too()
    {
        var random = Seed.NewRandom(1);
        for (int round = 0; round < 200; round++)
        {
            double[] a = Draw(random, random.Next(1, 7)), b = Draw(random, random.Next(1, 7));
            double expected = ByDealing(a, b), actual = MannWhitney.TwoSided(a, b);
            Assert.True(Math.Abs(expected - actual) < 1e-12,
                $"{string.Join(' ', a)} against {string.Join(' ', b)}: {actual}, not {expected}; {Seed.Hint}");
        }

        static double[] Draw(Random random, int count) =>
            [.. Enumerable.Range(0, count).Select(_ => (double)random.Next(8))];
    }

    // Deals all values to two sides in every way and counts the pairs (U) that A wins, ties half.
    private static double ByDealing(double[] a, double[] b)
    {
        double[] all = [.. a, .. b];
        double middle = a.Length * b.Length / 2.0, seen = Math.Abs(Wins(a, b) - middle);
        int ways = 0, uneven = 0;
        for (uint mask = 0; mask < 1u << all.Length; mask++)
        {
            if (BitOperations.PopCount(mask) != a.Length) continue;
            double[] left = [.. all.Where((_, index) => (mask >> index & 1) == 1)];
            double[] right = [.. all.Where((_, index) => (mask >> index & 1) == 0)];
            ways++;
            if (Math.Abs(Wins(left, right) - middle) >= seen - 1e-9) uneven++;
        }

        return (double)uneven / ways;
    }

    private static double Wins(double[] a, double[] b) =>
        a.Sum(left => b.Sum(right => left > right ? 1 : left == right ? 0.5 : 0));

    [Fact]
    public void Holm_multiplies_the_smallest_most_and_keeps_the_order()
    {
        // Holm's step-down by hand for 0.01, 0.04, 0.03, 0.005: x4, x3, x2, x1 in order of size, never falling.
        double[] corrected = Holm.Correct([0.01, 0.04, 0.03, 0.005]);

        Assert.Equal(0.03, corrected[0], 1e-12);
        Assert.Equal(0.06, corrected[1], 1e-12);
        Assert.Equal(0.06, corrected[2], 1e-12);
        Assert.Equal(0.02, corrected[3], 1e-12);
        Assert.Equal([0.9, double.NaN, 0.9], Holm.Correct([0.9, double.NaN, 0.45]).Select(p => Math.Round(p, 9)));
    }

    [Theory]
    [InlineData(true, "100 101 99 100.5 99.7")]
    [InlineData(true, "50 100 101 99 100.5 99.7")]    // only the last five count
    [InlineData(false, "100 101 99 100.5")]    // too few
    [InlineData(false, "100 105 95 103 97")]    // too spread
    [InlineData(false, "98.5 99.2 100 100.8 101.5")]    // within 2 %, but climbing
    [InlineData(true, "99.9 99.95 100 100.05 100.1")]    // climbing by 0.2 %: nothing
    [InlineData(false, "0 0 0 0 0")]
    public void Steady_is_five_windows_that_differ_by_chance(bool steady, string windows) =>
        Assert.Equal(steady, Steadiness.IsSteady([.. windows.Split(' ').Select(double.Parse)]));
}
