using System.Text;
using Kv.Server.Tracking;
using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>Which prefixes a key has: few are compared one by one, many are looked up by length.</summary>
public sealed class PrefixIndexTests
{
    [Theory, InlineData(0), InlineData(3), InlineData(8), InlineData(9), InlineData(200)]
    public void Finds_every_prefix_and_no_other(int count)
    {
        var random = Seed.NewRandom(count);
        for (int round = 0; round < TimeBudget.Count(50); round++)
        {
            var names = Enumerable.Range(0, count).Select(_ => Word(random, 6)).Distinct().ToArray();
            var index = new PrefixIndex();
            foreach (string name in names) index.Add(new BroadcastPrefix(Encoding.ASCII.GetBytes(name)));
            // Some go again: what is left is compared one by one, or looked up, as from the beginning.
            var gone = names.Where(_ => random.Next(3) == 0).ToArray();
            foreach (string name in gone)
            {
                Assert.True(index.TryGet(Encoding.ASCII.GetBytes(name), out var prefix), Seed.Hint);
                index.Remove(prefix);
                Assert.False(index.TryGet(Encoding.ASCII.GetBytes(name), out _), Seed.Hint);
            }

            names = [.. names.Except(gone)];
            Assert.Equal(names.Length, index.Count);
            for (int i = 0; i < 100; i++)
            {
                string key = Word(random, 9);
                byte[] bytes = Encoding.ASCII.GetBytes(key);
                string[] expected = [.. names.Where(name => key.StartsWith(name, StringComparison.Ordinal))
                    .Order(StringComparer.Ordinal)];
                List<(BroadcastPrefix Of, int Key)> found = [];
                index.AddAll(bytes, 7, found);
                // The shorter ones are first, of one key that is the order of their bytes.
                Assert.Equal(expected, found.Select(one => Encoding.ASCII.GetString(one.Of.Name)));
                Assert.All(found, one => Assert.Equal(7, one.Key));
                Assert.True(index.HasAny(bytes) == expected.Length > 0, Seed.Hint);
                // What writers ask first may take a key for one of these, and never the other way round.
                bool mayHave = index.Beginnings?.MayHave(bytes) ?? false;
                if (expected.Length > 0) Assert.True(mayHave, Seed.Hint);
                else if (names.Length <= 8 && bytes.Length > 0) Assert.False(mayHave, Seed.Hint);
            }
        }
    }

    private static string Word(Random random, int lengthMax) =>
        new([.. Enumerable.Range(0, random.Next(lengthMax)).Select(_ => (char)('a' + random.Next(2)))]);
}
