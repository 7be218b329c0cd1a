using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Collections;

/// <summary>Scores as small sorted sets keep them: nothing is lost, and small ones are short.</summary>
public unsafe class PackedScoreTests
{
    [Theory]
    [InlineData(0, 2)]
    [InlineData(-0.0, 2)]
    [InlineData(127, 2)]
    [InlineData(-128, 2)]
    [InlineData(128, 3)]
    [InlineData(-129, 3)]
    [InlineData(32_767, 3)]
    [InlineData(32_768, 4)]
    [InlineData(99_999, 4)]
    [InlineData(-8_388_608, 4)]
    [InlineData(8_388_608, 5)]
    [InlineData(int.MaxValue, 5)]
    [InlineData(1_700_000_000_000, 7)]
    [InlineData(4_503_599_627_370_495, 8)]
    [InlineData(9_007_199_254_740_992, 8)]
    [InlineData(9.2233720368547758e18, 9)]
    [InlineData(-9.2233720368547758e18, 9)]
    [InlineData(1.8446744073709552e19, 9)]
    [InlineData(0.5, 4)]
    [InlineData(0.1, 4)]
    [InlineData(-4.25, 4)]
    [InlineData(0.000001, 2)]
    [InlineData(19.99, 5)]
    [InlineData(1_700_000_000.123456, 8)]
    [InlineData(1.0 / 3, 9)]
    [InlineData(0.30000000000000004, 9)]
    [InlineData(1e300, 9)]
    [InlineData(double.Epsilon, 9)]
    [InlineData(-double.Epsilon, 9)]
    [InlineData(double.MaxValue, 9)]
    [InlineData(double.PositiveInfinity, 9)]
    [InlineData(double.NegativeInfinity, 9)]
    public void A_score_takes_as_many_bytes_as_it_needs(double score, int bytes)
    {
        Assert.Equal(bytes, PackedScore.SizeOf(score));
        Check(score);
    }

    [Fact]
    public void Any_score_is_read_as_it_was_written()
    {
        Random random = Seed.NewRandom(21);
        for (int i = 0; i < TimeBudget.Count(300_000); i++) Check(Any(random));
    }

    /// <summary>A score of any size and form, each about as likely.</summary>
    internal static double Any(Random random)
    {
        long whole = random.NextInt64() >> random.Next(64);
        if (random.Next(2) == 0) whole = -whole;
        double any = random.Next(6) switch
        {
            0 => whole,
            1 => Math.ScaleB(1, random.Next(-20, 64)) + random.Next(-2, 3),
            2 => (whole >> 20) / Math.Pow(10, random.Next(9)),
            3 => random.Next(-200, 200),
            4 => BitConverter.Int64BitsToDouble(random.NextInt64() << 1 | (long)random.Next(2)),
            _ => ((double[])[-0.0, double.Epsilon, double.MaxValue, double.PositiveInfinity, double.NegativeInfinity,
                1.0 / 3])[random.Next(6)],
        };
        return double.IsNaN(any) ? 0 : any;
    }

    private static void Check(double score)
    {
        const int ahead = 6;
        const byte untouched = 0xA5;
        byte* bytes = stackalloc byte[ahead + PackedScore.BytesMax + 1];
        new Span<byte>(bytes, ahead + PackedScore.BytesMax + 1).Fill(untouched);
        byte* at = bytes + ahead;
        int size = PackedScore.SizeOf(score);
        Assert.InRange(size, PackedScore.BytesMin, PackedScore.BytesMax);
        Assert.Equal(size, (int)(PackedScore.Write(at, score) - at));
        Assert.Equal(size, PackedScore.SizeAt(at));
        Assert.Equal(untouched, at[size]);
        double read = PackedScore.Read(at), expected = score == 0 ? 0 : score;
        Assert.True(BitConverter.DoubleToInt64Bits(read) == BitConverter.DoubleToInt64Bits(expected),
            $"{score:R} was read as {read:R}; {Seed.Hint}");
    }
}
