using Kv.Tests.Harness;

namespace Kv.Tests.Eviction;

/// <summary>CLIENT NO-TOUCH: whoever looks through a cache does not say by that what is worth keeping.</summary>
public sealed class NoTouchTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_leaves_no_trace_makes_no_key_hotter_but_by_TOUCH(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--maxmemory-policy", "allkeys-lfu",
            "--lfu-log-factor", "0", "--worker-threads", "1");
        using var looking = kv.Connect();
        using var user = kv.Connect();
        user.Ok("SET k value");
        user.Ok("HSET h f v");
        long first = HeatOf("k");
        looking.Ok("GET k");
        long used = HeatOf("k");
        Assert.Equal(first + 1, used);

        looking.Ok("CLIENT NO-TOUCH ON");
        long hash = HeatOf("h");
        foreach (string line in new[] { "GET k", "STRLEN k", "MGET k k", "SET k other", "GETRANGE k 0 1", "APPEND k x",
            "HGET h f", "HGETALL h", "HSET h f w", "EVAL \"return redis.call('GET', KEYS[1])\" 1 k" })
            looking.Ok(line);
        looking.Ok("MULTI");
        looking.Ok("GET k");
        looking.Ok("EXEC");
        Assert.Equal((used, hash), (HeatOf("k"), HeatOf("h")));

        // Its worker's other clients are no part of it.
        user.Ok("GET k");
        looking.Ok("GET k");
        Assert.Equal(used + 1, HeatOf("k"));
        looking.Ok("TOUCH k");
        looking.Ok("GET k");
        Assert.Equal(used + 2, HeatOf("k"));
        looking.Ok("CLIENT NO-TOUCH OFF");
        looking.Ok("GET k");
        looking.Ok("CLIENT NO-TOUCH ON");
        looking.Ok("RESET");
        looking.Ok("GET k");
        Assert.Equal(used + 4, HeatOf("k"));

        // OBJECT FREQ is its 255 / 31 times as much, rounded down.
        long HeatOf(string key) => ((user.Ok($"OBJECT FREQ {key}").Integer * 31) + 254) / 255;
    }

    /// <summary>Tools that look through all keys say nothing of which of them are worth keeping.</summary>
    [Fact]
    public void What_only_looks_at_a_key_is_no_use_of_it()
    {
        using var kv = KvInstance.Start("--maxmemory-policy", "allkeys-lfu", "--lfu-log-factor", "0",
            "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET k value");
        client.Ok("HSET h f v");
        foreach (string key in new[] { "k", "h" })
        {
            long before = client.Ok($"OBJECT FREQ {key}").Integer;
            foreach (string line in new[] { "OBJECT ENCODING", "OBJECT REFCOUNT", "OBJECT FREQ", "TYPE", "TTL", "PTTL",
                "EXPIRETIME", "PEXPIRETIME", "EXISTS", "DEBUG OBJECT", "MEMORY USAGE", "WATCH" })
                client.Ok($"{line} {key}");
            foreach (string line in new[] { "RANDOMKEY", "SCAN 0", "SCAN 0 TYPE string", "KEYS *" }) client.Ok(line);
            Assert.Equal(before, client.Ok($"OBJECT FREQ {key}").Integer);
            client.Ok(key == "k" ? "GET k" : "HGET h f");
            Assert.NotEqual(before, client.Ok($"OBJECT FREQ {key}").Integer);
        }
    }
}
