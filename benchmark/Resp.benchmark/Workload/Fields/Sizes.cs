using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>How long values are, in bytes.</summary>
internal abstract class Sizes
{
    /// <summary>What a bulk string may have at most: 1 GiB.</summary>
    public const long BytesMax = 1L << 30;

    public abstract long Max { get; }

    public virtual bool IsConstant => false;

    /// <summary>On average, for estimates.</summary>
    public abstract double Mean { get; }

    public abstract long Next(ref Xoshiro256 generator);

    public static Sizes Of(long bytes) => new Constant(bytes);

    /// <summary>Reads 64, 32-1024 (all alike), lognormal:m,s (of the length's logarithm), 8:50,1024:50
    /// (weights).</summary>
    /// <exception cref="UsageException">It is none of them.</exception>
    public static Sizes Parse(string text)
    {
        if (text.StartsWith("lognormal:", StringComparison.Ordinal)
            && text[10..].Split(',') is [var mean, var deviation])
            return new LogNormal(Real(mean, text), Real(deviation, text));
        if (text.Contains(':')) return Weighted.Read(text);
        if (text.Split('-') is [var low, var high])
        {
            (long least, long most) = (Length(low, text), Length(high, text));
            if (least > most) throw Wrong(text, "the first length is above the second");
            return new Range(least, most);
        }

        return new Constant(Length(text, text));
    }

    private static long Length(string text, string whole) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long bytes) && bytes <= BytesMax
            ? bytes
            : throw Wrong(whole, "give bytes up to 1 GiB, A-B, lognormal:M,S or BYTES:WEIGHT,BYTES:WEIGHT");

    private static double Real(string text, string whole) =>
        double.TryParse(text, CultureInfo.InvariantCulture, out double value) && double.IsFinite(value) && value >= 0
            ? value
            : throw Wrong(whole, "lognormal needs two numbers, mean and deviation of the logarithm of the bytes");

    private static UsageException Wrong(string text, string why) => new($"value '{text}': {why}");

    private sealed class Constant(long bytes) : Sizes
    {
        public override long Max => bytes;

        public override bool IsConstant => true;

        public override double Mean => bytes;

        public override long Next(ref Xoshiro256 generator) => bytes;
    }

    private sealed class Range(long least, long most) : Sizes
    {
        public override long Max => most;

        public override double Mean => (least + most) / 2.0;

        public override long Next(ref Xoshiro256 generator) => least + generator.Below(most - least + 1);
    }

    /// <summary>Long tails end at 16 MiB: what is beyond is that long.</summary>
    private sealed class LogNormal(double mean, double deviation) : Sizes
    {
        public override long Max => 16 * 1024 * 1024;

        public override double Mean => Math.Exp(mean + (deviation * deviation / 2));

        public override long Next(ref Xoshiro256 generator) =>
            (long)Math.Clamp(Math.Exp(mean + (deviation * GaussDraws.Normal(ref generator))), 1, Max);
    }

    private sealed class Weighted : Sizes
    {
        private readonly long[] _bytes;
        private readonly long[] _below;     // sums of the weights up to and with each

        private Weighted(long[] bytes, long[] weights)
        {
            _bytes = bytes;
            _below = new long[weights.Length];
            long sum = 0;
            for (int index = 0; index < weights.Length; index++) _below[index] = sum += weights[index];
            Mean = bytes.Zip(weights, (length, weight) => (double)length * weight).Sum() / sum;
        }

        public override long Max => _bytes.Max();

        public override double Mean { get; }

        public static Weighted Read(string text)
        {
            string[][] pairs = [.. text.Split(',').Select(pair => pair.Split(':'))];
            if (pairs.Any(pair => pair.Length != 2)) throw Wrong(text, "give BYTES:WEIGHT,BYTES:WEIGHT");
            long[] weights = [.. pairs.Select(pair => Length(pair[1], text))];
            if (weights.Sum() == 0) throw Wrong(text, "all weights are 0");
            return new Weighted([.. pairs.Select(pair => Length(pair[0], text))], weights);
        }

        public override long Next(ref Xoshiro256 generator)
        {
            long at = generator.Below(_below[^1]);
            int index = 0;
            while (_below[index] <= at) index++;
            return _bytes[index];
        }
    }
}
