using BenchmarkDotNet.Attributes;
using Kv.Storage;

namespace Kv.Microbenchmarks;

/// <summary>Hashing one key.</summary>
public class HashBenchmarks
{
    private readonly KeyHash _hash = KeyHash.FromSeed(1);
    private byte[] _key = [];

    [Params(3, 8, 16, 32, 64, 256)]
    public int Length { get; set; }

    [GlobalSetup]
    public void Setup() => new Random(1).NextBytes(_key = new byte[Length]);

    [Benchmark]
    public ulong Hash() => _hash.Of(_key);
}
