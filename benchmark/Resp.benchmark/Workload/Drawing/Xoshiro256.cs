using System.Numerics;
using System.Runtime.CompilerServices;

namespace RespBenchmark.Workload;

/// <summary>The generator all requests are drawn from: xoshiro256**, 256 bits of state, a nanosecond a
/// number.</summary>
/// <remarks>A mutable struct: keep it in a field, or copy it to a local and back around a loop.
/// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018.</remarks>
internal struct Xoshiro256
{
    private ulong _a, _b, _c, _d;

    /// <summary>Equal seeds, equal numbers; the state is four steps of splitmix64, so that no seed is a bad
    /// one.</summary>
    public Xoshiro256(ulong seed)
    {
        _a = SplitMix.Next(ref seed);
        _b = SplitMix.Next(ref seed);
        _c = SplitMix.Next(ref seed);
        _d = SplitMix.Next(ref seed);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Next()
    {
        ulong result = BitOperations.RotateLeft(_b * 5, 7) * 9;
        ulong shifted = _b << 17;
        _c ^= _a;
        _d ^= _b;
        _b ^= _c;
        _a ^= _d;
        _c ^= shifted;
        _d = BitOperations.RotateLeft(_d, 45);
        return result;
    }

    /// <summary>A number in 0..<paramref name="n"/>−1, by one multiplication; n up to 2^40 favours none by more than
    /// 2^-24 of its share, which no test of this program's lengths could see.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Below(long n) => (long)Math.BigMul(Next(), (ulong)n, out _);

    /// <summary>In [0, 1), 53 bits.</summary>
    public double Unit() => (Next() >> 11) * (1.0 / (1UL << 53));

    /// <summary>In (0, 1]: a logarithm of it is finite.</summary>
    public double UnitAboveZero() => ((Next() >> 11) + 1) * (1.0 / (1UL << 53));
}

/// <summary>splitmix64: makes seeds out of seeds, and numbers out of positions.</summary>
internal static class SplitMix
{
    private const ulong Golden = 0x9E3779B97F4A7C15;        // 2^64 / golden ratio, odd

    public static ulong Next(ref ulong state)
    {
        state += Golden;
        return Finish(state);
    }

    /// <summary>A number that looks unrelated to that of any other argument.</summary>
    public static ulong Mix(ulong value) => Finish(value + Golden);

    private static ulong Finish(ulong z)
    {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
}
