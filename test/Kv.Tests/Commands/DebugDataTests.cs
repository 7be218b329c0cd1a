using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>DEBUG POPULATE, RELOAD and LOG: what suites of clients prepare and check data with.</summary>
public sealed class DebugDataTests
{
    [Fact]
    public void RELOAD_leaves_everything_as_it_was()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--worker-threads", "2");
        using var client = kv.Connect();
        client.Say(
            "SET s v\nSET i 12\nSET e \"\"\nSETRANGE large 300000 x\nRPUSH l a b 3\nSADD is 1 2\nSADD ss a b\nHSET h f "
            + "v g w\nHPEXPIREAT h 9999999999999 FIELDS 1 f\nZADD z 1 a 2 b\nPEXPIREAT z 9999999999998");
        client.Say(
            "XADD x 5-1 f v\nXGROUP CREATE x g 0\nXREADGROUP GROUP g c STREAMS x >\nPFADD p a b\nSELECT 9\nSET other "
            + "v\nSELECT 0");
        for (int i = 0; i < 5000; i += 500)
        {
            var numbers = Enumerable.Range(i, 500).ToArray();
            client.Ok("RPUSH long-list " + string.Join(' ', numbers.Select(n => $"element{n}")));
            client.Ok("ZADD long-zset " + string.Join(' ', numbers.Select(n => $"{n} member{n}")));
            client.Ok("HSET long-hash " + string.Join(' ', numbers.Select(n => $"field{n} value{n}")));
        }

        string before = client.Ok("DEBUG DIGEST").ToString();
        string[] keys = ["s", "i", "large", "l", "is", "ss", "h", "z", "long-list", "long-zset", "long-hash"];
        string[] encodings = [.. keys.Select(key => client.Ok($"OBJECT ENCODING {key}").String)];
        for (int i = 0; i < 2; i++) Assert.Equal("+OK", client.Ok("DEBUG RELOAD").ToString());
        Assert.Equal(before, client.Ok("DEBUG DIGEST").ToString());
        Assert.Equal(encodings, keys.Select(key => client.Ok($"OBJECT ENCODING {key}").String));
        Assert.Equal(":9999999999998", client.Ok("PEXPIRETIME z").ToString());
        Assert.Equal("[:9999999999999 :-1]", client.Ok("HPEXPIRETIME h FIELDS 2 f g").ToString());
        Assert.Equal(":1", client.Ok("XPENDING x g").Items![0].ToString());
        Assert.InRange(client.Ok("DEBUG INTEGRITY").Integer, 1, long.MaxValue);
    }

    // A value is kept as its size asks for when it is read, as when it is loaded.
    [Fact]
    public void RELOAD_keeps_values_by_the_limits_of_now()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say(
            "HSET h f v g w\nZADD z 1 a 2 b\nSADD i 1 2\nCONFIG SET hash-max-listpack-entries 1 "
            + "zset-max-listpack-entries 1 set-max-intset-entries 1 set-max-listpack-entries 1\nMULTI\nDEBUG RELOAD");
        Assert.Equal("[+\"OK\"]", client.Ok("EXEC").ToString());
        Assert.Equal("hashtable", client.Ok("OBJECT ENCODING h").String);
        Assert.Equal("skiplist", client.Ok("OBJECT ENCODING z").String);
        Assert.Equal("hashtable", client.Ok("OBJECT ENCODING i").String);
        Assert.StartsWith("-ERR Error trying to load the RDB dump", client.Command("DEBUG RELOAD NOSAVE").ToString(),
            StringComparison.Ordinal);
        Assert.Equal("-ERR syntax error", client.Command("DEBUG RELOAD NOW").ToString());
    }

    [Fact]
    public void POPULATE_adds_keys_that_are_not_there()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say(
            "SET key:3 mine\nDEBUG POPULATE 5000\nDEBUG POPULATE 3 p 9\nDEBUG POPULATE 2 long 100000\nDEBUG "
            + "POPULATE 0 none");
        Assert.Equal(":5005", client.Ok("DBSIZE").ToString());
        Assert.Equal("[\"value:0\" \"mine\" \"value:4999\" $-1]",
            client.Ok("MGET key:0 key:3 key:4999 key:5000").ToString());
        Assert.Equal("\"value:2\\x00\\x00\"", client.Ok("GET p:2").ToString());
        Assert.Equal(":100000", client.Ok("STRLEN long:1").ToString());
        client.Say("MULTI\nDEBUG POPULATE 2000 in");
        Assert.Equal("[+\"OK\"]", client.Ok("EXEC").ToString());
        Assert.Equal(":7005", client.Ok("DBSIZE").ToString());
        foreach (string line in new[] { "DEBUG POPULATE x", "DEBUG POPULATE -1", "DEBUG POPULATE 1 p -1",
            "DEBUG POPULATE 1 p 600000000", "DEBUG POPULATE 1 p 1 1", "DEBUG POPULATE" })
            Assert.True(client.Command(line).IsError, line);
        Assert.Equal("+OK", client.Ok("DEBUG LOG hello").ToString());
        Assert.True(client.Command("DEBUG LOG").IsError);
    }
}
