using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>How numbers are drawn out of 0..n−1, n up to 2^40 and more; memory and time do not depend on n.</summary>
internal abstract record Distribution
{
    public static readonly Distribution Uniform = new UniformDistribution();

    /// <summary>One sequence for all sessions.</summary>
    public static readonly Distribution Sequence = new SequenceDistribution();

    /// <summary>A sequence for each session.</summary>
    public static readonly Distribution SessionSequence = new SessionSequenceDistribution();

    /// <summary>Each session in order through a slice of its own.</summary>
    public static readonly Distribution Partitioned = new PartitionDistribution();

    public static Distribution Zipf(double theta, bool scrambled = false) => new ZipfDistribution(theta, scrambled);

    public abstract Draws Open(long n, in Seat seat);

    /// <summary>Reads uniform, zipf:θ[:scrambled], gauss:σ%, seq, part, hot:x/y, latest[:θ], and what is added to
    /// one of them: +move:DURATION, +scan:SHARE%.</summary>
    /// <exception cref="UsageException">It is none of them.</exception>
    public static Distribution Parse(string text)
    {
        string[] parts = text.Split('+');
        Distribution all = ParseOne(parts[0]);
        foreach (string added in parts.Skip(1))
        {
            all = added.Split(':') switch
            {
                ["scan", var share] => new ScanDistribution(all, Percent(share.TrimEnd('%'), text) / 100),
                ["move", var time] when DurationText.Parse("+move", time) is var period && period > TimeSpan.Zero =>
                    new MovingDistribution(all, period),
                _ => throw Wrong(text, "what is added is +scan:PERCENT or +move:DURATION"),
            };
        }

        return all;
    }

    private static Distribution ParseOne(string text)
    {
        string[] words = text.Split(':');
        return (words[0], words.Length) switch
        {
            ("uniform", 1) => Uniform,
            ("seq" or "sequence" or "sequential", 1) => Sequence,
            ("part", 1) => Partitioned,
            ("zipf" or "zipfian", 1) => Zipf(0.99),
            ("zipf" or "zipfian", 2) => Zipf(Exponent(words[1], text)),
            ("zipf" or "zipfian", 3) when words[2] == "scrambled" => Zipf(Exponent(words[1], text), scrambled: true),
            ("latest", 1) => new LatestDistribution(0.99),
            ("latest", 2) => new LatestDistribution(Exponent(words[1], text)),
            ("gauss", 2) => new GaussDistribution(Percent(words[1].TrimEnd('%'), text) / 100),
            ("hot", 2) when words[1].Split('/') is [var draws, var keys] =>
                new HotDistribution(Percent(draws, text) / 100, Percent(keys, text) / 100),
            _ => throw Wrong(text, "give uniform, zipf:THETA[:scrambled], gauss:PERCENT, seq, part, hot:X/Y or latest"),
        };
    }

    private static double Exponent(string text, string whole) =>
        double.TryParse(text, CultureInfo.InvariantCulture, out double theta) && theta is > 0 and < 5
            ? theta
            : throw Wrong(whole, "its exponent must be above 0 and below 5");

    private static double Percent(string text, string whole) =>
        double.TryParse(text, CultureInfo.InvariantCulture, out double percent) && percent is > 0 and <= 100
            ? percent
            : throw Wrong(whole, "a share must be above 0 and at most 100 percent");

    private static UsageException Wrong(string text, string why) => new($"distribution '{text}': {why}");

    private sealed record UniformDistribution : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new UniformDraws(n);
    }

    private sealed record SequenceDistribution : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new SequenceDraws(n, seat.Loop, seat.Loops);
    }

    private sealed record SessionSequenceDistribution : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new SessionSequenceDraws(n, seat.Sessions);
    }

    private sealed record PartitionDistribution : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new PartitionDraws(n, seat.Sessions);
    }

    private sealed record ZipfDistribution(double Theta, bool Scrambled) : Distribution
    {
        public override Draws Open(long n, in Seat seat)
        {
            var ranks = new ZipfDraws(n, Theta);
            return Scrambled ? new ScrambledDraws(ranks, n) : ranks;
        }
    }

    private sealed record GaussDistribution(double DeviationShare) : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new GaussDraws(n, DeviationShare);
    }

    private sealed record HotDistribution(double DrawShare, double KeyShare) : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new HotDraws(n, DrawShare, KeyShare);
    }

    private sealed record LatestDistribution(double Theta) : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new LatestDraws(n, Theta);
    }

    private sealed record ScanDistribution(Distribution Inner, double Share) : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new ScanDraws(Inner.Open(n, seat), n, seat.Sessions, Share);
    }

    private sealed record MovingDistribution(Distribution Inner, TimeSpan Period) : Distribution
    {
        public override Draws Open(long n, in Seat seat) => new MovingDraws(Inner.Open(n, seat), n, Period);
    }

    /// <summary>The second half of a cycle draws what the first drew.</summary>
    internal sealed record Paired(Distribution Inner, int Cycle, int Lane) : Distribution
    {
        public override Draws Open(long n, in Seat seat) =>
            new PairedDraws(Inner.Open(n, seat), Cycle, SplitMix.Mix(seat.Seed + SplitMix.Mix((ulong)Lane)));
    }
}
