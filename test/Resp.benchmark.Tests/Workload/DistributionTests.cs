using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class DistributionTests
{
    private const int DrawCount = 200_000;

    [Fact]
    public void Xoshiro_gives_the_numbers_of_its_definition()
    {
        // The state after four steps of splitmix64 from 0, and the first outputs that follow from the published rule.
        var generator = new Xoshiro256(0);
        ulong[] state = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC];
        for (int draw = 0; draw < 1000; draw++)
        {
            ulong expected = ulong.RotateLeft(state[1] * 5, 7) * 9;
            ulong t = state[1] << 17;
            state[2] ^= state[0];
            state[3] ^= state[1];
            state[1] ^= state[2];
            state[0] ^= state[3];
            state[2] ^= t;
            state[3] = ulong.RotateLeft(state[3], 45);
            Assert.Equal(expected, generator.Next());
        }
    }

    [Theory]
    [InlineData("uniform", 100)]
    [InlineData("uniform", 7)]
    [InlineData("zipf:0.1", 100)]
    [InlineData("zipf:0.99", 100)]
    [InlineData("zipf:1", 100)]
    [InlineData("zipf:1.03", 100)]
    [InlineData("zipf:2.5", 50)]
    [InlineData("zipf:4.9", 10)]
    [InlineData("zipf:0.99", 1)]
    [InlineData("zipf:0.99", 2)]
    [InlineData("gauss:10%", 100)]
    [InlineData("gauss:100%", 100)]
    [InlineData("hot:80/20", 100)]
    [InlineData("hot:99/1", 100)]
    [InlineData("latest", 100)]
    public void Draws_come_as_often_as_the_theory_says(string text, int n)
    {
        double[] theory = Theory(text, n);
        long[] seen = Draw(Distribution.Parse(text), n, Seed.Value);
        AssertFits(theory, seen, text);
    }

    [Fact]
    public void Scrambling_gives_each_rank_one_number_of_its_own()
    {
        foreach (int n in (int[])[1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097])
        {
            var scrambled = new ScrambledDraws(new UniformDraws(n), n);
            Assert.Equal(n, Enumerable.Range(0, n).Select(rank => scrambled.Scramble(rank)).Distinct().Count());
            Assert.All(Enumerable.Range(0, n), rank => Assert.InRange(scrambled.Scramble(rank), 0, n - 1));
        }

        const int Numbers = 1000;
        var order = new ScrambledDraws(new UniformDraws(Numbers), Numbers);
        double[] ranks = Theory("zipf:0.99", Numbers), theory = new double[Numbers];
        for (int rank = 0; rank < Numbers; rank++) theory[order.Scramble(rank)] = ranks[rank];
        AssertFits(theory, Draw(Distribution.Parse("zipf:0.99:scrambled"), Numbers, Seed.Value), "zipf:0.99:scrambled");
        Assert.True(Math.Abs(order.Scramble(0) - order.Scramble(1)) > 1, "the two hottest are neighbours");
    }

    [Theory]
    [InlineData("uniform")]
    [InlineData("zipf:0.5")]
    [InlineData("zipf:1")]
    [InlineData("zipf:0.99:scrambled")]
    [InlineData("zipf:4.99")]
    [InlineData("gauss:1%")]
    [InlineData("hot:90/10")]
    [InlineData("latest")]
    [InlineData("seq")]
    [InlineData("part")]
    public void Every_draw_is_in_range_up_to_2_to_the_40(string text)
    {
        foreach (long n in (long[])[1, 2, 10, 1L << 31, (1L << 40) - 1, 1L << 40])
        {
            Draws draws = Distribution.Parse(text).Open(n, new Seat(0, 1, 4, 1));
            var generator = new Xoshiro256(Seed.Value);
            var session = default(SessionStream);
            for (int draw = 0; draw < 2000; draw++) Assert.InRange(draws.Next(ref generator, ref session), 0, n - 1);
        }
    }

    [Fact]
    public void Zipf_over_a_billion_keys_gives_the_first_ranks_their_theoretical_share()
    {
        const long N = 1L << 30;
        const double Theta = 0.99;
        // The harmonic sum: its first terms added up, the rest by the integral with its first correction.
        double sum = 0;
        for (int rank = 1; rank <= 100_000; rank++) sum += Math.Pow(rank, -Theta);
        sum += ((Math.Pow(N + 0.5, 1 - Theta) - Math.Pow(100_000.5, 1 - Theta)) / (1 - Theta));
        var theory = new double[21];
        for (int rank = 0; rank < 20; rank++) theory[rank] = Math.Pow(rank + 1, -Theta) / sum;
        theory[20] = 1 - theory.Sum();
        var seen = new long[21];
        Draws draws = Distribution.Zipf(Theta).Open(N, new Seat(0, 1, 1, 1));
        var generator = new Xoshiro256(Seed.Value);
        var session = default(SessionStream);
        for (int draw = 0; draw < DrawCount; draw++) seen[Math.Min(20, draws.Next(ref generator, ref session))]++;
        AssertFits(theory, seen, "zipf over 2^30");
    }

    [Fact]
    public void A_sequence_gives_each_number_once_over_all_loops()
    {
        const int Loops = 3, N = 1000;
        var seen = new List<long>();
        var session = default(SessionStream);
        var generator = new Xoshiro256(1);
        for (int loop = 0; loop < Loops; loop++)
        {
            Draws draws = Distribution.Sequence.Open(N, new Seat(loop, Loops, Loops, 1));
            var share = new LoopShare(loop, Loops);
            while (share.Position < N)
            {
                seen.Add(draws.Next(ref generator, ref session));
                share.Advance(1);
            }
        }

        seen.Sort();
        Assert.Equal(Enumerable.Range(0, N).Select(number => (long)number), seen);
    }

    [Fact]
    public void Partitioned_sessions_go_through_slices_of_their_own()
    {
        Draws draws = Distribution.Partitioned.Open(10, new Seat(0, 1, 3, 1));
        var generator = new Xoshiro256(1);
        long[] Of(int number)
        {
            var session = new SessionStream { Session = number };
            return [.. Enumerable.Range(0, 5).Select(_ => draws.Next(ref generator, ref session))];
        }

        Assert.Equal([0L, 1, 2, 3, 0], Of(0));
        Assert.Equal([4L, 5, 6, 4, 5], Of(1));
        Assert.Equal([7L, 8, 9, 7, 8], Of(2));
        Assert.All(Of(7), number => Assert.InRange(number, 0, 9));
    }

    [Theory]
    [InlineData("zipf:0")]
    [InlineData("zipf:5")]
    [InlineData("zipf:x")]
    [InlineData("hot:80")]
    [InlineData("hot:0/20")]
    [InlineData("gauss:101%")]
    [InlineData("uniform:1")]
    [InlineData("pareto")]
    [InlineData("")]
    public void What_is_no_distribution_is_refused_by_name(string text)
    {
        var refused = Assert.Throws<UsageException>(() => Distribution.Parse(text));
        Assert.Contains($"'{text}'", refused.Message);
    }

    private static long[] Draw(Distribution distribution, int n, ulong seed)
    {
        var seen = new long[n];
        Draws draws = distribution.Open(n, new Seat(0, 1, 1, 1));
        var generator = new Xoshiro256(seed);
        var session = default(SessionStream);
        var column = new long[1000];
        for (int done = 0; done < DrawCount; done += column.Length)
        {
            draws.Fill(ref generator, ref session, column);
            foreach (long draw in column) seen[draw]++;
        }

        return seen;
    }

    private static double[] Theory(string text, int n)
    {
        string[] words = text.Split(':');
        double[] weights = words[0] switch
        {
            "uniform" => [.. Enumerable.Repeat(1.0, n)],
            "zipf" => [.. Enumerable.Range(1, n).Select(rank => Math.Pow(rank, -double.Parse(words[1])))],
            "latest" => [.. Enumerable.Range(1, n).Select(rank => Math.Pow(rank, -0.99)).Reverse()],
            "gauss" => [.. Enumerable.Range(0, n)
                .Select(x => Bell(x, n, double.Parse(words[1].TrimEnd('%')) / 100 * n))],
            "hot" when words[1].Split('/') is [var draws, var keys] => Hot(
                n, double.Parse(draws), (int)(n * double.Parse(keys) / 100)),
            _ => throw new ArgumentException(text),
        };
        double sum = weights.Sum();
        return [.. weights.Select(weight => weight / sum)];
    }

    private static double[] Hot(int n, double percent, int hot) =>
        [.. Enumerable.Range(0, n).Select(key => key < hot ? percent / hot : (100 - percent) / (n - hot))];

    /// <summary>The bell's area over x to x+1, by Simpson's rule.</summary>
    private static double Bell(int x, int n, double deviation)
    {
        double At(double z) => Math.Exp(-Math.Pow((z - (n / 2.0)) / deviation, 2) / 2);
        return (At(x) + (4 * At(x + 0.5)) + At(x + 1)) / 6;
    }

    /// <summary>χ² against its limit at five standard deviations (cells expecting few are joined with their
    /// neighbours).</summary>
    internal static void AssertFits(double[] theory, long[] seen, string what)
    {
        double draws = seen.Sum(), statistic = 0, expected = 0, got = 0;
        int cells = 0;
        for (int cell = 0; cell < theory.Length; cell++)
        {
            expected += theory[cell] * draws;
            got += seen[cell];
            if (expected < 10 && cell < theory.Length - 1) continue;
            if (expected > 0) statistic += (got - expected) * (got - expected) / expected;
            if (expected == 0) Assert.Equal(0, got);
            expected = got = 0;
            cells++;
        }

        double freedom = Math.Max(1, cells - 1);
        double limit = freedom + (5 * Math.Sqrt(2 * freedom)) + 15;
        Assert.True(statistic <= limit,
            $"{what}: χ² {statistic:F1} of {freedom} degrees exceeds {limit:F1}; {Seed.Hint}");
    }

    [Fact]
    public void A_scan_beside_others_goes_through_every_number_once_in_its_share_of_the_draws()
    {
        const int n = 1000;
        Draws draws = Distribution.Parse("hot:100/1+scan:25%").Open(n, new Seat(0, 1, 2, 1));
        var generator = new Xoshiro256(7);
        var seen = new int[n];
        for (int session = 0; session < 2; session++)
        {
            var stream = new SessionStream { Session = session };
            for (int draw = 0; draw < 2000; draw++) seen[draws.Next(ref generator, ref stream)]++;
        }

        // 4,000 draws, some 1,000 of them the scan's: the first ten numbers have the rest.
        Assert.InRange(seen.Take(10).Sum(), 2700, 3300);
        Assert.True(seen.Skip(10).All(count => count <= 2));
        Assert.True(seen.Skip(10).Count(count => count > 0) > n / 2);
    }

    [Fact]
    public void A_popularity_that_moves_is_a_permutation_by_a_step_each_period()
    {
        var draws = new MovingDraws(new SequenceDraws(100, 0, 1), 100, TimeSpan.FromSeconds(30));
        long second = 1_000_000_000;
        Assert.Equal([0, 0, 61, 61, 22, 83], new[] { 0, 29, 30, 59, 60, 90 }.Select(at => draws.Moved(at * second)));
    }
}
