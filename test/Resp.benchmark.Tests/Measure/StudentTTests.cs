using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Measure;

public class StudentTTests
{
    // The printed tables of t: upper 2.5 % (95 % two-sided) and upper 0.5 %.
    [Theory]
    [InlineData(1, 12.706, 63.657)]
    [InlineData(2, 4.303, 9.925)]
    [InlineData(3, 3.182, 5.841)]
    [InlineData(4, 2.776, 4.604)]
    [InlineData(5, 2.571, 4.032)]
    [InlineData(10, 2.228, 3.169)]
    [InlineData(30, 2.042, 2.750)]
    [InlineData(120, 1.980, 2.617)]
    public void Quantiles_are_those_of_the_tables(int degrees, double at975, double at995)
    {
        Assert.Equal(at975, StudentT.Quantile(0.975, degrees), 0.00051);
        Assert.Equal(at995, StudentT.Quantile(0.995, degrees), 0.00051);
    }

    [Fact]
    public void With_one_degree_it_is_the_arc_tangent_and_with_two_a_root()
    {
        for (double t = -20; t <= 20; t += 0.37)
        {
            Assert.Equal(0.5 + Math.Atan(t) / Math.PI, StudentT.Cumulative(t, 1), 1e-12);
            Assert.Equal(0.5 + t / (2 * Math.Sqrt(2 + t * t)), StudentT.Cumulative(t, 2), 1e-12);
        }
    }

    [Fact]
    public void Two_sided_is_twice_the_tail()
    {
        foreach (double degrees in new[] { 1.5, 3, 7.25, 40 })
        {
            Assert.Equal(2 * (1 - StudentT.Cumulative(1.7, degrees)), StudentT.TwoSided(1.7, degrees), 1e-12);
            Assert.Equal(StudentT.TwoSided(1.7, degrees), StudentT.TwoSided(-1.7, degrees), 1e-15);
        }
    }
}
