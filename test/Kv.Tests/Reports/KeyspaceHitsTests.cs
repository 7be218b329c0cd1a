using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Reports;

/// <summary>keyspace_hits and keyspace_misses, beside the reference's.</summary>
public sealed class KeyspaceHitsTests
{
    private const string Setup = """
        SET a hello
        SET n 1
        HSET h f v
        RPUSH l 1 2 3
        SADD s 1 2
        ZADD z 1 m
        XADD x 1-1 f v
        SET gone v PX 1
        """;

    [Fact]
    public void Reads_are_counted_as_the_reference_counts_them()
    {
        using var kv = KvInstance.Start();
        using var redis = RedisServer.Start();
        using RespClient ours = kv.Connect(), theirs = redis.Connect();
        foreach (RespClient client in (RespClient[])[ours, theirs]) client.Say(Setup);
        Eventually.Holds(() => ours.Command("GET gone").IsNull && theirs.Command("GET gone").IsNull, () => "it lives");
        string[] lines =
        [
            "GET a", "GET none", "GET gone", "GET h", "STRLEN a", "STRLEN none", "GETRANGE a 0 1", "MGET a none h a",
            "SUBSTR none 0 1", "BITCOUNT a", "BITCOUNT none", "GETBIT a 1", "HGET h f", "HGET h none", "HGET none f",
            "HEXISTS h f", "HLEN h", "HLEN none", "HSTRLEN none f", "LLEN l", "LLEN none", "SISMEMBER s 1",
            "SISMEMBER none 1", "SCARD none", "ZSCORE z m", "ZSCORE none m", "ZCARD z", "ZCARD none", "XLEN x",
            "XLEN none", "PFCOUNT none", "LCS a none", "SET a v", "SET new v", "INCR n", "INCR one", "APPEND a x",
            "LPUSH l 1", "LPOP l", "LPOP none", "HSET h g v", "DEL none", "PING", "KEYS *", "SCAN 0", "DBSIZE",
        ];
        foreach (string line in lines) Assert.Equal((line, Counted(theirs, line)), (line, Counted(ours, line)));
        using RespClient other = kv.Connect();
        other.Say("MULTI\nGET a\nGET none");
        Assert.Equal((1, 1), Counted(ours, "EXEC", other));
        Assert.Equal((1, 0), Counted(ours, "EVAL \"return redis.call('GET', KEYS[1])\" 1 a"));
        ours.Ok("CONFIG RESETSTAT");
        Assert.Equal(("0", "0"), (ours.Info("keyspace_hits"), ours.Info("keyspace_misses")));
    }

    private static (long Hits, long Misses) Counted(
        RespClient client, string line, RespClient? caller = null)
    {
        (long hits, long misses) = (Number(client, "keyspace_hits"), Number(client, "keyspace_misses"));
        (caller ?? client).Command(line);
        return (Number(client, "keyspace_hits") - hits, Number(client, "keyspace_misses") - misses);
    }

    private static long Number(RespClient client, string field) =>
        long.Parse(client.Info(field), CultureInfo.InvariantCulture);
}
