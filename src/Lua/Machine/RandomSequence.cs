namespace Kv.Lua;

/// <summary>The numbers of math.random: the 48-bit linear congruence of drand48, as the reference's.</summary>
/// <remarks>Facts: x' = x * 0x5DEECE66D + 11 modulo 2^48; a seed is the upper 32 bits, 0x330E the lower 16; a draw is
/// the upper 31 bits.</remarks>
public sealed class RandomSequence
{
    /// <summary>The largest draw.</summary>
    public const int Max = int.MaxValue;

    private const ulong Factor = 0x5DEECE66D, Addend = 0xB, Mask = (1UL << 48) - 1, Low = 0x330E;

    private ulong _state = Low;

    public void Seed(int seed) => _state = ((ulong)(uint)seed << 16) | Low;

    public int Next()
    {
        _state = ((_state * Factor) + Addend) & Mask;
        return (int)(_state >> 17);
    }
}
