using BenchmarkDotNet.Attributes;
using RespBenchmark.Measure;

namespace Kv.Microbenchmarks;

/// <summary>One latency into the histogram.</summary>
public class HistogramBenchmarks
{
    private const int Values = 1024;

    private readonly Histogram _histogram = new();
    private readonly long[] _latencies = new long[Values];

    /// <summary>Drawn between 1 us and 16 ms, evenly over the magnitudes, as latencies of a loaded server are not
    /// foreseeable.</summary>
    [GlobalSetup]
    public void Setup()
    {
        var random = new Random(1);
        for (int index = 0; index < Values; index++)
            _latencies[index] = (long)(1000 * Math.Pow(2, random.NextDouble() * 14));
    }

    [Benchmark(OperationsPerInvoke = Values)]
    public void Record()
    {
        foreach (long latency in _latencies) _histogram.Record(latency);
    }
}
