using System.Globalization;
using System.Security.Cryptography;

namespace Kv.Tests.Harness;

/// <summary>The seed of this run's random tests: from KV_SEED, else fresh. Whoever fails prints it.</summary>
/// <remarks>A test asks for its own stream by name or thread, so that one test's draws never shift another's.</remarks>
public static class Seed
{
    /// <summary>The seed all streams of this process come from.</summary>
    public static ulong Value { get; } = FromEnvironment() ?? Fresh();

    /// <summary>What a failing test appends to its message.</summary>
    public static string Hint => HintFor(Value);

    /// <summary>True when the seed was asked for: the run repeats an earlier one.</summary>
    public static bool IsGiven { get; } = FromEnvironment() is not null;

    public static string HintFor(ulong seed) =>
        string.Create(CultureInfo.InvariantCulture, $"KV_SEED={seed} repeats it");

    /// <summary>A seed nobody had before.</summary>
    public static ulong Fresh() => BitConverter.ToUInt64(RandomNumberGenerator.GetBytes(8)) >> 16;

    /// <summary>A random stream of this process' seed; equal <paramref name="stream"/>, equal numbers.</summary>
    public static Random NewRandom(int stream = 0) => NewRandom(Value, stream);

    /// <summary>A random stream of a given seed.</summary>
    public static Random NewRandom(ulong seed, int stream = 0)
    {
        // Random takes 32 bits: fold all 64 of the seed and the stream in (multiplier of a splitmix step).
        ulong mixed = unchecked((seed + (ulong)stream + 1) * 0x9E3779B97F4A7C15UL);
        mixed ^= mixed >> 29;
        return new Random(unchecked((int)(mixed ^ (mixed >> 32))));
    }

    private static ulong? FromEnvironment() =>
        ulong.TryParse(Environment.GetEnvironmentVariable("KV_SEED"), CultureInfo.InvariantCulture, out ulong seed)
            ? seed
            : null;
}
