using BenchmarkDotNet.Attributes;
using Kv.Storage;

namespace Kv.Microbenchmarks;

/// <summary>Counting and combining bitmaps of 1 MB, beside copying the same bytes.</summary>
public class BitmapBenchmarks
{
    private const int Bytes = 1 << 20;

    private readonly byte[] _first = new byte[Bytes], _second = new byte[Bytes], _destination = new byte[Bytes];

    [GlobalSetup]
    public void Setup()
    {
        var random = new Random(1);
        random.NextBytes(_first);
        random.NextBytes(_second);
    }

    /// <summary>What COUNT and NOT are measured by.</summary>
    [Benchmark(Baseline = true)]
    public void CopyOne() => _first.CopyTo(_destination, 0);

    /// <summary>What AND, OR and XOR are measured by: they read as much.</summary>
    [Benchmark]
    public void CopyTwo()
    {
        _first.CopyTo(_destination, 0);
        _second.CopyTo(_destination, 0);
    }

    [Benchmark]
    public long Count() => Bitmap.Count(_first);

    [Benchmark]
    public void Not() => Bitmap.Not(_destination, _first);

    [Benchmark]
    [Arguments(BitOperation.And)]
    [Arguments(BitOperation.Or)]
    [Arguments(BitOperation.Xor)]
    public void Combine(BitOperation operation) => Bitmap.Combine(operation, _destination, _first, _second);
}
