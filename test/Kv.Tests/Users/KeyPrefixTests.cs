using System.Text;
using Kv.Server.Users;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>The comparison of a key with a pattern's prefix in two words.</summary>
public sealed class KeyPrefixTests
{
    [Fact]
    public void Says_of_keys_of_a_word_or_more_what_their_bytes_say()
    {
        var random = Seed.NewRandom(1730);
        int fitting = 0;
        for (int round = TimeBudget.Count(100_000); round > 0; round--)
        {
            byte[] text = Bytes(random, random.Next(KeyPrefix.BytesMax + 1));
            byte[] key = Bytes(random, random.Next(24));
            if (random.Next(2) == 0) text.AsSpan(0, Math.Min(text.Length, key.Length)).CopyTo(key);
            var pattern = new KeyPattern([.. text, (byte)'*'], KeyRights.All);
            Assert.True(pattern.IsShortPrefix);
            bool isSaid = pattern.Prefix.Begins(key);
            bool fits = key.AsSpan().StartsWith(text);
            Assert.Equal(fits, pattern.Allows(key, KeyRights.Read));
            bool isLong = key.Length >= Math.Max(text.Length, 8);
            Assert.True(isSaid == (fits && isLong),
                $"{Encoding.Latin1.GetString(text)}* {Encoding.Latin1.GetString(key)}. {Seed.Hint}");
            if (isSaid) fitting++;
        }

        Assert.True(fitting > 1000, $"only {fitting} fit");
        Assert.False(new KeyPattern("12345678901234567*"u8.ToArray(), KeyRights.All).IsShortPrefix);
        Assert.False(new KeyPattern("a?*"u8.ToArray(), KeyRights.All).IsShortPrefix);
        Assert.False(new KeyPattern("a"u8.ToArray(), KeyRights.All).IsShortPrefix);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Each_key_of_a_pipeline_is_judged_by_its_own_bytes_and_rights(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using RespClient admin = kv.Connect(), client = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass +get +set %R~read:* ~cache:items:* %W~write* ~a-prefix-that-is-longer:*");
        client.Ok("AUTH u x");
        string[] starts = ["read:", "cache:items:", "cache:item", "write", "a-prefix-that-is-longer:", "a-prefix", "x"];
        var random = Seed.NewRandom(1731);
        (string Command, string Key)[] calls = [.. Enumerable.Range(0, 2000).Select(_ =>
            (random.Next(2) == 0 ? "GET" : "SET",
                starts[random.Next(starts.Length)] + new string('k', random.Next(12))))];
        client.Send([.. calls.SelectMany(call => RespText.Encode(Line(call)))]);
        foreach (var call in calls)
        {
            bool isAllowed = admin.Ok($"ACL DRYRUN u {Line(call)}").ToString() == "+OK";
            string reply = client.Read().ToString();
            Assert.True(isAllowed != (reply == "-NOPERM No permissions to access a key"),
                $"{Line(call)}: {reply}. {Seed.Hint}");
        }
    }

    private static string Line((string Command, string Key) call) =>
        call.Command == "GET" ? $"GET {call.Key}" : $"SET {call.Key} v";

    // Few different ones, so that they are often equal.
    private static byte[] Bytes(Random random, int count) =>
        [.. Enumerable.Range(0, count).Select(_ => (byte)"ab"[random.Next(2)])];
}
