using System.Text;
using Kv.Server.Patterns;
using Kv.Server.Users;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Many patterns of keys: the index says what each pattern says.</summary>
public sealed class KeyPatternIndexTests
{
    private static readonly KeyRights[] Needs = [KeyRights.None, KeyRights.Read, KeyRights.Write, KeyRights.All];

    [Fact]
    public void Allows_what_one_of_its_patterns_allows()
    {
        var random = Seed.NewRandom(1740);
        int allowed = 0, refused = 0;
        for (int round = TimeBudget.Count(3_000); round > 0; round--)
        {
            KeyPattern[] patterns = [.. Enumerable.Range(0, random.Next(1, 12))
                .Select(_ => Text(random, "ab:**?[\\", 6))
                .Distinct().Select(text => new KeyPattern(Encoding.Latin1.GetBytes(text),
                    (KeyRights)random.Next(1, 4)))];
            var index = new KeyPatternIndex(patterns);
            for (int i = 0; i < 40; i++)
            {
                byte[] key = Encoding.Latin1.GetBytes(Text(random, "ab:*", 7));
                var needed = Needs[random.Next(Needs.Length)];
                bool expected = Array.Exists(patterns, pattern => (pattern.Rights & needed) == needed
                    && GlobPattern.IsMatch(pattern.Text, key));
                Assert.True(expected == index.Allows(key, needed), $"{Encoding.Latin1.GetString(key)} {needed}: "
                    + $"{string.Join(' ', patterns.Select(one => Encoding.Latin1.GetString(one.Text)))}. {Seed.Hint}");
                if (expected) allowed++;
                else refused++;
            }
        }

        Assert.True(allowed > 1000 && refused > 1000, $"{allowed} allowed, {refused} refused");
    }

    [Theory]
    [InlineData("tenant:{0}:*")]
    [InlineData("tenant:{0}")]
    [InlineData("t:{0}:*:x")]
    [InlineData("*:x:{0}")]
    [InlineData("*:{0}:*")]
    public void A_user_of_many_patterns_may_use_the_keys_of_each_and_no_others(string form)
    {
        using var kv = KvInstance.Start();
        using RespClient admin = kv.Connect(), client = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass +mget "
            + string.Join(' ', Enumerable.Range(0, 300).Select(i => "~" + Name(form, i))));
        client.Ok("AUTH u x");
        Assert.False(client.Command("MGET " + Keys(form, 300)).IsError);
        Assert.StartsWith("-NOPERM ", client.Command("MGET " + Keys(form, 301)).ToString(), StringComparison.Ordinal);
        admin.Ok("ACL SETUSER u ~" + Name(form, 300));
        Assert.False(client.Command("MGET " + Keys(form, 301)).IsError);
    }

    private static string Keys(string form, int count) =>
        string.Join(' ', Enumerable.Range(0, count).Select(i => Name(form, i).Replace("*", "k")));

    private static string Name(string form, int number) => string.Format(null, form, number);

    private static string Text(Random random, string letters, int lengthMax) => string.Concat(
        Enumerable.Range(0, random.Next(1, lengthMax)).Select(_ => letters[random.Next(letters.Length)]));
}
