using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Places of sorted sets whose scores are no geohashes: huge, negative, with decimals, infinite.</summary>
public class GeoScoreTests
{
    private static readonly double[] Edges =
    [
        0, -0.0, 0.5, -0.5, 1, -1, 4503599627370495, 4503599627370496, 4503599627370497, 4294967295, 4294967296,
        9007199254740991, 9007199254740992,
        -4503599627370495, -4503599627370496, 9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0,
        -9223372036854777856.0,
        18446744073709549568.0, 18446744073709551616.0, -18446744073709551616.0, 1e300, -1e300, double.MaxValue,
        double.MinValue, double.Epsilon,
        double.PositiveInfinity, double.NegativeInfinity,
    ];

    [Fact]
    public void Places_of_any_score_are_those_of_the_reference()
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        var random = Seed.NewRandom();
        var scores = new List<double>(Edges);
        for (int i = 0; i < 2000; i++)
            scores.Add(BitConverter.UInt64BitsToDouble((ulong)random.NextInt64(long.MinValue, long.MaxValue)));
        for (int i = 0; i < 2000; i++) scores.Add((random.NextDouble() - 0.5) * Math.Pow(2, random.Next(1, 70)));
        scores.RemoveAll(double.IsNaN);
        for (int i = 0; i < scores.Count; i++) Both($"ZADD z {Text(scores[i])} m{i}");
        for (int i = 0; i < scores.Count; i++)
        {
            Both($"GEOPOS z m{i}");
            Both($"GEOHASH z m{i}");
            Both($"GEODIST z m{i} m{random.Next(scores.Count)} km");
        }

        void Both(string line)
        {
            string expected = theirs.Command(line).ToString(), actual = ours.Command(line).ToString();
            string member = line.StartsWith("ZADD", StringComparison.Ordinal) ? "" : line[(line.IndexOf('m') + 1)..];
            Assert.True(expected == actual, $"{line} of {member}: {expected}, ours {actual}");
        }
    }

    private static string Text(double score) =>
        double.IsInfinity(score) ? score > 0 ? "inf" : "-inf" : score.ToString("R", CultureInfo.InvariantCulture);
}
