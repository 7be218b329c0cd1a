using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Random numbers of a nanosecond each, for draws by the dozen. None of them is a secret.</summary>
/// <remarks>SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).</remarks>
internal struct Dice(ulong seed)
{
    private ulong _state = seed;

    /// <summary>Dice with a random seed.</summary>
    public static Dice New() => new((ulong)Random.Shared.NextInt64());

    /// <summary>A number from 0 to <paramref name="end"/> - 1, all equally likely (but for one in 2^32).</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Below(long end) => (long)Math.BigMul(Next(), (ulong)end, out _);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ulong Next()
    {
        ulong mixed = _state += 0x9E3779B97F4A7C15;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }
}
