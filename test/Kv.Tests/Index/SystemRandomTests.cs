using System.Numerics;
using Kv.Storage;

namespace Kv.Tests.Index;

/// <summary>Secrets from the system's random source.</summary>
public sealed class SystemRandomTests
{
    // A bit that is always the same has one chance in 2^255 to be so by accident, and there are 64.
    [Fact]
    public void Every_bit_is_random_and_no_word_comes_twice()
    {
        ulong[] words = new ulong[256];
        SystemRandom.Fill(words);
        Assert.Equal(ulong.MaxValue, words.Aggregate(0UL, (all, word) => all | word));
        Assert.Equal(0UL, words.Aggregate(ulong.MaxValue, (all, word) => all & word));
        Assert.Equal(words.Length, words.Distinct().Count());
        Assert.InRange(words.Sum(BitOperations.PopCount), 7680, 8704);     // 8 standard deviations from 8,192
    }
}
