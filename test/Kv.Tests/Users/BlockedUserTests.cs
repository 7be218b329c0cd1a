using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Clients that wait for a key while the rules of their user change: what they get is what they may have
/// then.</summary>
public sealed class BlockedUserTests
{
    private const string NoKey = "-NOPERM No permissions to access a key";

    /// <summary>What a client waits for, how its user changes, what wakes it, and what it reads.</summary>
    public static TheoryData<string, string, string, string> Waits => new()
    {
        { "BLPOP x l 0", "-blpop", "RPUSH l v", NoCommand("blpop") },
        { "BLPOP x l 0", "resetkeys ~x", "RPUSH l v", NoKey },
        { "BRPOP l x 0", "resetkeys ~l", "RPUSH l v", NoKey },
        { "BLMPOP 0 2 x l LEFT", "resetkeys ~x %R~l", "RPUSH l v", NoKey },
        { "BLMOVE l to LEFT LEFT 0", "resetkeys ~l", "RPUSH l v", NoKey },
        { "BLMOVE l to LEFT LEFT 0", "resetkeys ~l %R~to", "RPUSH l v", NoKey },
        { "BRPOPLPUSH l to 0", "-@list", "RPUSH l v", NoCommand("brpoplpush") },
        { "BZPOPMIN z 0", "-bzpopmin +bzpopmin|y", "ZADD z 1 v", NoCommand("bzpopmin") },
        { "BZMPOP 0 1 z MAX", "resetkeys", "ZADD z 1 v", NoKey },
        { "XREAD BLOCK 0 STREAMS s t $ $", "resetkeys ~s", "XADD s 1-1 f v", NoKey },
        { "XREADGROUP GROUP g c BLOCK 0 STREAMS g >", "-xreadgroup", "XADD g 1-1 f v", NoCommand("xreadgroup") },
        { "XREADGROUP GROUP g c BLOCK 0 STREAMS g >", "resetkeys ~s", "DEL g", NoKey },
        // LONG is a key in a block of its own.
        { "BLPOP LONG 0", "resetkeys ~x", "RPUSH LONG v", NoKey },
        { "BLPOP x l 0", "resetkeys ~x ~l", "RPUSH l v", "[\"l\" \"v\"]" },
        { "BLPOP x l 0", "-@all +blpop|X", "RPUSH l v", "[\"l\" \"v\"]" },
        { "BLMOVE l to LEFT LEFT 0", "resetkeys (+blmove %RW~l %W~t*)", "RPUSH l v", "\"v\"" },
        { "BLPOP LONG 0", "resetkeys ~kk*", "RPUSH LONG v", "[\"LONG\" \"v\"]" },
    };

    [Theory, MemberData(nameof(Waits))]
    public void Who_waits_is_served_by_the_rules_of_the_moment(string wait, string rules, string arrival, string reply)
    {
        using var kv = KvInstance.Start();
        using var admin = kv.Connect();
        admin.Ok("XGROUP CREATE g g $ MKSTREAM");
        using var client = Restricted(kv, admin, "~* +@all");
        string longKey = new('k', 100_000);
        kv.Block(client, wait.Replace("LONG", longKey, StringComparison.Ordinal));
        admin.Ok($"ACL SETUSER u {rules}");
        Assert.Equal(1, kv.Server.Blocked.Count);
        admin.Ok(arrival.Replace("LONG", longKey, StringComparison.Ordinal));
        Assert.Equal(reply, client.Read().ToString().Replace(longKey, "LONG", StringComparison.Ordinal));
        Assert.Equal(0, kv.Server.Blocked.Count);
        admin.Ok("ACL SETUSER u allkeys +@all");
        Assert.Equal("$-1", client.Command("GET a").ToString());
        kv.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void What_one_may_no_longer_have_is_for_the_next_in_the_queue(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using RespClient admin = kv.Connect(), next = kv.Connect(), last = kv.Connect();
        using RespClient first = Restricted(kv, admin, "~l %R~s +@all"), second = Restricted(kv, admin, "");
        kv.Block(first, "BLPOP l 0");
        kv.Block(second, "BLMOVE l l LEFT RIGHT 0");
        kv.Block(next, "BLMOVE l other LEFT RIGHT 0");
        kv.Block(last, "BRPOP l 0");
        admin.Ok("ACL SETUSER u -blpop");
        admin.Ok("ACL SETUSER u resetkeys %R~l");
        admin.Ok("RPUSH l 1 2");
        Assert.Equal(NoCommand("blpop"), first.Read().ToString());
        Assert.Equal(NoKey, second.Read().ToString());
        Assert.Equal("\"1\"", next.Read().ToString());
        Assert.Equal("[\"l\" \"2\"]", last.Read().ToString());
        Assert.Equal(0, admin.Ok("EXISTS l").Integer);
        string[] log = [.. admin.Ok("ACL LOG").Items!.Select(entry => $"{entry.Items![3].String} "
            + $"{entry.Items![5].String} {entry.Items![7].String} {entry.Items![9].String}")];
        Assert.Equal(["key toplevel l u", "command toplevel blpop u"], log);
        // Who may call it again by the time that something comes is served.
        admin.Ok("ACL SETUSER u allkeys +@all");
        kv.Block(second, "BLPOP l 0");
        admin.Ok("ACL SETUSER u -blpop");
        admin.Ok("ACL SETUSER u +blpop");
        admin.Ok("RPUSH l 3");
        Assert.Equal("[\"l\" \"3\"]", second.Read().ToString());
    }

    private static string NoCommand(string name) => $"-NOPERM User u has no permissions to run the '{name}' command";

    private static RespClient Restricted(KvInstance kv, RespClient admin, string rules)
    {
        admin.Ok($"ACL SETUSER u on nopass {rules}");
        var client = kv.Connect();
        client.Ok("AUTH u x");
        return client;
    }
}
