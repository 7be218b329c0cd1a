using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Calls whose arguments look as if other keys were meant than those which the command uses: the user, the
/// locks of EXEC and those of scripts go by the latter.</summary>
public sealed class HiddenKeyTests
{
    private const string NoKey = "NOPERM No permissions to access a key";

    /// <summary>A call of a user who may use all keys that begin with n, and the keys that it really uses. Redis lets
    /// the first four through.</summary>
    public static TheoryData<string, string> Calls => new()
    {
        { "XREADGROUP COUNT 1 GROUP STREAMS n1 NOACK NOACK NOACK STREAMS secret >", "secret" },
        { "GEORADIUS n 1 1 10 km STORE n1 STORE secret", "n secret" },
        { "GEORADIUS n 1 1 10 km STOREDIST n1 STOREDIST secret", "n secret" },
        { "GEORADIUSBYMEMBER n m 10 km STORE n1 STOREDIST n2 STORE secret", "n secret n2" },
        { "GEORADIUSBYMEMBER n m 10 km COUNT 1 STOREDIST secret", "n secret" },
        { "MIGRATE 127.0.0.1 1 - 0 100 KEYS secret KEYS n1", "secret KEYS n1" },
        { "MIGRATE 127.0.0.1 1 - 0 100 AUTH KEYS KEYS secret", "secret" },
        { "MIGRATE 127.0.0.1 1 - 0 100 AUTH2 KEYS KEYS KEYS secret", "secret" },
        { "XREADGROUP NOACK GROUP n STREAMS COUNT 1 STREAMS secret n1 > >", "secret n1" },
        { "XREADGROUP GROUP COUNT STREAMS BLOCK 1 STREAMS secret >", "secret" },
        { "SORT n STORE n1 LIMIT STORE STORE STORE secret", "n secret" },
    };

    [Theory, MemberData(nameof(Calls))]
    public void A_key_that_is_used_is_checked_wherever_it_stands(string call, string keys)
    {
        using var kv = KvInstance.Start();
        using RespClient admin = kv.Connect(), client = kv.Connect();
        string[] words = Words(call);
        Assert.Equal(keys.Split(' ').Order(StringComparer.Ordinal),
            Say(admin, ["COMMAND", "GETKEYS", .. words]).Items!.Select(item => item.String)
                .Order(StringComparer.Ordinal));
        admin.Ok("ACL SETUSER u on nopass +@all ~n* ~KEYS");
        client.Ok("AUTH u x");
        Assert.Equal("User u has no permissions to access the 'secret' key",
            Say(admin, ["ACL", "DRYRUN", "u", .. words]).String);
        Assert.Equal("-" + NoKey, Say(client, words).ToString());
        // That it is read-only comes after.
        foreach (string eval in (string[])["EVAL", "EVAL_RO"])
            Assert.Equal("-NOPERM ACL failure in script: No permissions to access a key",
                Say(client, [eval, "return redis.pcall(unpack(ARGV))", "0", .. words]).ToString());
        client.Ok("MULTI");
        Assert.Equal("-" + NoKey, Say(client, words).ToString());
        client.Ok("DISCARD");
        admin.Ok("ACL SETUSER u allkeys");
        client.Ok("MULTI");
        Assert.Equal("+QUEUED", Say(client, words).ToString());
        admin.Ok("ACL SETUSER u resetkeys ~n* ~KEYS");
        Assert.StartsWith("-NOPERM ACLs rules changed", client.Command("EXEC").Items!.Single().ToString(),
            StringComparison.Ordinal);
    }

    [Theory, InlineData("direct"), InlineData("EXEC"), InlineData("EVAL")]
    public void What_is_given_twice_counts_as_it_was_given_last_and_is_locked(string how)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("GEOADD n 1 1 m");
        Assert.Equal("1", Made("GEORADIUS n 1 1 10 km STORE n1 STORE n2"));
        Assert.Equal("1", Made("GEORADIUSBYMEMBER n m 10 km STORE n1 STOREDIST n3"));
        Assert.Equal(["n", "n2", "n3"],
            client.Ok("KEYS *").Items!.Select(item => item.String).Order(StringComparer.Ordinal));
        client.Ok("XGROUP CREATE s STREAMS 0 MKSTREAM");
        client.Ok("XADD s 1-1 f v");
        Assert.Equal("[[\"s\" [[\"1-1\" [\"f\" \"v\"]]]]]",
            Made("XREADGROUP COUNT 1 GROUP STREAMS n1 NOACK NOACK NOACK STREAMS s >"));
        kv.Server.Store.CheckIntegrity();

        string Made(string call)
        {
            string[] words = Words(call);
            if (how == "direct") return Text(Say(client, words));
            if (how == "EVAL") return Text(Say(client, ["EVAL", "return redis.call(unpack(ARGV))", "0", .. words]));
            client.Ok("MULTI");
            Say(client, words);
            return Text(client.Ok("EXEC").Items!.Single());
        }
    }

    // - stands for an empty word.
    private static string[] Words(string call) => [.. call.Split(' ').Select(word => word == "-" ? "" : word)];

    private static string Text(Reply reply) => reply.ToString().TrimStart(':');

    private static Reply Say(RespClient client, string[] words) =>
        client.Command([.. words.Select(RespText.Bytes)]);
}
