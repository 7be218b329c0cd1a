using BenchmarkDotNet.Attributes;
using Kv.Storage;

namespace Kv.Microbenchmarks;

/// <summary>Reading and overwriting random keys, plainly and with a look-ahead of 32; a result is for one
/// key.</summary>
/// <remarks>1,024 keys stay in the first cache. 16 M keys miss it with bucket and record: about 1 GB.</remarks>
[MemoryDiagnoser]
public unsafe class IndexBenchmarks
{
    private const int Batch = 4096, Window = 32;

    private readonly long[] _numbers = new long[Batch];
    private FilledStore? _filled;
    private Random _random = new(1);

    [Params(1024, 16_777_216)]
    public int Keys { get; set; }

    [GlobalSetup]
    public void Setup() => _filled = new FilledStore(Keys);

    [GlobalCleanup]
    public void Cleanup() => _filled!.Dispose();

    [IterationSetup]
    public void Draw()
    {
        // A thousand batches of the same keys would have them in the cache: each iteration has its own.
        _random = new Random(_random.Next());
    }

    private void Next()
    {
        for (int i = 0; i < Batch; i++) _numbers[i] = _random.Next(Keys);
        _filled!.Begin();
    }

    /// <summary>What drawing the keys costs: to be taken off the others.</summary>
    [Benchmark(OperationsPerInvoke = Batch * 64, Baseline = true)]
    public void DrawOnly()
    {
        for (int round = 0; round < 64; round++) Next();
    }

    [Benchmark(OperationsPerInvoke = Batch * 64)]
    public long Get()
    {
        StoreSession session = _filled!.Session;
        var take = default(TakeLong);
        for (int round = 0; round < 64; round++)
        {
            Next();
            fixed (long* numbers = _numbers)
            {
                for (int i = 0; i < Batch; i++)
                    session.Read(session.Key(new ReadOnlySpan<byte>(numbers + i, 8)), DataType.String, ref take);
            }
        }

        return take.Sum;
    }

    [Benchmark(OperationsPerInvoke = Batch * 64)]
    public long GetAhead()
    {
        StoreSession session = _filled!.Session;
        ulong* hashes = stackalloc ulong[Window], hints = stackalloc ulong[Window];
        var take = default(TakeLong);
        for (int round = 0; round < 64; round++)
        {
            Next();
            fixed (long* numbers = _numbers)
            {
                for (int from = 0; from < Batch; from += Window)
                {
                    LookAhead(session, numbers + from, hashes, hints);
                    for (int i = 0; i < Window; i++)
                        session.Read(session.Key(new ReadOnlySpan<byte>(numbers + from + i, 8), hashes[i], hints[i]),
                            DataType.String, ref take);
                }
            }
        }

        return take.Sum;
    }

    [Benchmark(OperationsPerInvoke = Batch * 64)]
    public void Set()
    {
        StoreSession session = _filled!.Session;
        for (int round = 0; round < 64; round++)
        {
            Next();
            fixed (long* numbers = _numbers)
            {
                for (int i = 0; i < Batch; i++)
                {
                    var bytes = new ReadOnlySpan<byte>(numbers + i, 8);
                    session.Set(session.Key(bytes), bytes);
                }
            }
        }
    }

    [Benchmark(OperationsPerInvoke = Batch * 64)]
    public void SetAhead()
    {
        StoreSession session = _filled!.Session;
        ulong* hashes = stackalloc ulong[Window], hints = stackalloc ulong[Window];
        for (int round = 0; round < 64; round++)
        {
            Next();
            fixed (long* numbers = _numbers)
            {
                for (int from = 0; from < Batch; from += Window)
                {
                    LookAhead(session, numbers + from, hashes, hints);
                    for (int i = 0; i < Window; i++)
                    {
                        var bytes = new ReadOnlySpan<byte>(numbers + from + i, 8);
                        session.Set(session.Key(bytes, hashes[i], hints[i]), bytes);
                    }
                }
            }
        }
    }

    private static void LookAhead(StoreSession session, long* numbers, ulong* hashes, ulong* hints)
    {
        var index = session.LookAheadIndex(0)!;
        for (int i = 0; i < Window; i++)
        {
            hashes[i] = session.HashKey((byte*)(numbers + i), 8);
            index.Prefetch(hashes[i]);
        }

        for (int i = 0; i < Window; i++) hints[i] = index.Probe(hashes[i]);
        for (int i = 0; i < Window; i++)
            if (hints[i] == HashIndex.InChain) hints[i] = index.ProbeChain(hashes[i]);
    }
}
