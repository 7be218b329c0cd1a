using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Index;

public sealed class KeyHashTests
{
    // Keys as people make them; every part of the hash that the index uses has to look random: bucket bits and tag
    // bits.
    [Theory]
    [InlineData("{0}")]
    [InlineData("key:{0}")]
    [InlineData("key:{0:D12}")]
    [InlineData("user:{0:X8}:session:profile:1234567890")]
    public void Keys_spread_evenly_over_buckets_and_tags(string format)
    {
        const int count = 100_000, cells = 1024;
        KeyHash hash = KeyHash.FromSeed(Seed.Value);
        foreach (int shift in new[] { 0, 10, 20, 44 })
        {
            var counts = new int[cells];
            for (int i = 0; i < count; i++)
                counts[
                    (hash.Of(
                        TestStore.Bytes(string.Format(CultureInfo.InvariantCulture, format, i))) >> shift) % cells]++;
            double expected = (double)count / cells;
            double chiSquare = counts.Sum(found => (found - expected) * (found - expected) / expected);
            // Mean 1023, deviation 45: seven deviations.
            Assert.True(chiSquare is > 1023 - 320 and < 1023 + 320, $"{chiSquare:F0} at bit {shift}; {Seed.Hint}");
        }
    }

    [Fact]
    public void Every_length_and_every_byte_counts()
    {
        KeyHash hash = KeyHash.FromSeed(Seed.Value);
        var seen = new HashSet<ulong>();
        byte[] key = new byte[100];
        for (int length = 0; length <= key.Length; length++)
        {
            Assert.True(seen.Add(hash.Of(key.AsSpan(0, length))), $"length {length}; {Seed.Hint}");
            for (int at = 0; at < length; at++)
            {
                key[at] = 1;
                Assert.True(seen.Add(hash.Of(key.AsSpan(0, length))), $"byte {at} of {length}; {Seed.Hint}");
                key[at] = 0;
            }
        }
    }

    // S12: what collides under a hash that everybody knows (FNV-1a here) spreads under ours.
    [Fact]
    public void Known_S12_keys_that_collide_under_an_unkeyed_hash_are_as_good_as_others()
    {
        using var test = new TestStore();
        foreach (byte[] key in FnvCollisions.Names(65_536))
            Assert.Equal(StoreStatus.Ok, test.Session.Set(test.Session.Key(key), "v"u8));
        HashIndex index = test.Store.Table[0]!.Index;
        Assert.Equal(65_536, test.Store.Count(0));
        // An even spread leaves about one bucket in eight with a chain; a flood would have made one chain of 9,000.
        Assert.InRange(index.Overflow.InUse, 0, index.BucketCount / 4);
        test.Check();
    }
}
