namespace Kv.Tests.Commands;

/// <summary>Point operations leave the managed heap alone, from the bytes that arrive to the bytes that
/// leave.</summary>
public class AllocationTests
{
    private const int Runs = 2_000;

    [Theory]
    [InlineData("SET k v", "GET k", "GET missing")]
    [InlineData("SET k v EX 1000", "SET k w KEEPTTL", "SET k x XX GET", "SET k y NX", "GETSET k v", "GETEX k PX 100000",
        "GETEX k PERSIST")]
    [InlineData("SET k v EX 1000", "SET k w EX 100", "GET k", "SET k x px 5000", "SETEX k 10 y", "PSETEX k 10000 z",
        "SET k v", "GET k", "SET k longer-value EX 10", "GET k")]
    [InlineData("SETNX k v", "SETEX k 10 v", "PSETEX k 10000 v", "GETDEL k", "STRLEN k")]
    [InlineData("SET n 5", "INCR n", "DECR n", "INCRBY n 100", "DECRBY n 7", "GET n", "INCR other")]
    [InlineData("SET f 10.5", "INCRBYFLOAT f 0.1", "INCRBYFLOAT f -3.0e3")]
    [InlineData("SET k abc", "APPEND k def", "SETRANGE k 2 xyz", "GETRANGE k 1 -2", "GET k")]
    [InlineData("MSET a 1 b 2", "MGET a b c", "MSETNX a 1 c 2", "DEL a b c")]
    [InlineData("SET a 1", "EXISTS a b", "TOUCH a", "TYPE a", "RENAME a b", "COPY b c", "RENAMENX b a", "UNLINK a b c")]
    [InlineData("SETBIT k 100 1", "GETBIT k 100", "BITCOUNT k", "BITCOUNT k 1 -1 BIT", "BITPOS k 1",
        "BITFIELD k SET u8 0 1 INCRBY i5 20 3 GET u4 0", "BITFIELD_RO k GET u8 0")]
    [InlineData("SET a 123", "SET b xyz", "BITOP AND c a b", "BITOP NOT c a", "BITOP XOR c a b c", "DEL c")]
    [InlineData("PFADD h a b c", "PFCOUNT h", "PFADD h d", "PFADD i a z", "PFCOUNT h i", "PFMERGE j h i", "PFCOUNT j",
        "PFMERGE j h", "DEL h")]
    [InlineData("PFADD d a", "PFDEBUG TODENSE d", "SETRANGE d 16 \"\\x00\"*12288", "PFADD d b", "PFCOUNT d",
        "PFADD d b", "PFADD d c d e", "PFMERGE e d", "PFCOUNT d e")]
    [InlineData("SET k v", "EXPIRE k 100", "PEXPIREAT k 99999999999999 GT", "TTL k", "PTTL k", "EXPIRETIME k",
        "PERSIST k")]
    [InlineData("SET k v", "OBJECT ENCODING k", "OBJECT REFCOUNT k", "MEMORY USAGE k", "RANDOMKEY")]
    [InlineData("RPUSH l a b c", "LPUSH l d", "LPUSHX l e", "RPUSHX missing e", "LLEN l", "LINDEX l 1", "LSET l 1 x",
        "LRANGE l 0 -1", "LPOP l", "RPOP l 2", "DEL l")]
    [InlineData("RPUSH l a b c d", "LINSERT l BEFORE b x", "LREM l 1 x", "LPOS l c", "LPOS l c COUNT 0", "LTRIM l 0 2",
        "LMOVE l m LEFT RIGHT", "RPOPLPUSH l m",
        "LMOVE m m LEFT RIGHT", "LMPOP 2 missing m LEFT COUNT 5", "LPOP m", "DEL l m")]
    [InlineData("ZADD z 1 a 2.5 b", "ZADD z XX CH 3 a", "ZADD z 1 a", "ZINCRBY z 1.5 a", "ZSCORE z a", "ZMSCORE z a c",
        "ZCARD z", "ZRANK z b", "ZREVRANK z b", "ZCOUNT z 1 (3",
        "ZRANGE z 0 -1 WITHSCORES", "ZRANGE z 9 1 BYSCORE REV", "ZREVRANGE z 0 0", "ZRANGEBYLEX z - [b", "ZREM z b",
        "ZPOPMIN z", "DEL z")]
    [InlineData("HSET h a 1 b 2", "HSET h a 3", "HSETNX h c x", "HMSET h d 4", "HGET h a", "HMGET h a x", "HGETALL h",
        "HKEYS h", "HVALS h", "HLEN h", "HEXISTS h a", "HSTRLEN h a",
        "HINCRBY h a 5", "HINCRBYFLOAT h a 0.5", "HRANDFIELD h", "HSCAN h 0", "HDEL h c d")]
    [InlineData("HSET e a 1 b 2", "HEXPIRE e 100 FIELDS 2 a b", "HPEXPIREAT e 4000000000000 GT FIELDS 1 a", "HGET e a",
        "HINCRBY e a 1", "HTTL e FIELDS 2 a x", "HPEXPIRETIME e FIELDS 1 b", "HPERSIST e FIELDS 1 a",
        "HGETALL e", "HRANDFIELD e", "HSCAN e 0", "HSET e a 1", "HEXPIRE e 0 FIELDS 2 a b")]
    [InlineData("SADD s 1 2 3", "SISMEMBER s 2", "SADD s x", "SREM s 1", "SMISMEMBER s x y", "SCARD s", "SMEMBERS s",
        "SRANDMEMBER s", "SMOVE s t x", "SSCAN s 0", "SINTERCARD 2 s t", "SPOP s", "DEL s t")]
    [InlineData("SET k \"a\"*100", "DUMP k", "RESTORE r 0 \"\\x00\\x05hello\\n\\x00cr\\xdfve4 \\n\" REPLACE", "DUMP r",
        "RPUSH l a b 1", "DUMP l", "HSET h f v", "DUMP h", "SADD s 1 2", "DUMP s",
        "SADD t a", "DUMP t", "ZADD z 1.5 a", "DUMP z", "DUMP missing",
        "RESTORE l 0 \"\\x01\\x01\\x01a\\n\\x00\\xf5\\xb0R\\x93\\x8d\\xc0\\xe4b\" REPLACE", "DEL k r l h s t z")]
    [InlineData("GEOADD g 13.361389 38.115556 a", "GEOADD g 15.087269 37.502669 b", "GEODIST g a b km", "GEOPOS g a c",
        "GEOHASH g b", "DEL g")]
    [InlineData("XADD s * a 1 b 2", "XADD s MAXLEN ~ 100 * a 2 b 3", "XLEN s", "XRANGE s - + COUNT 2",
        "XGROUP CREATE s g 0", "XREADGROUP GROUP g c COUNT 2 STREAMS s >", "XPENDING s g", "XACK s g 1-1",
        "XGROUP DESTROY s g")]
    [InlineData("RPUSH l a", "GET l", "HGET l f", "ZADD l 1 a", "DEL l")]
    [InlineData("LPUSHX", "GET", "INCRBY k x", "SET k v EX 0")]
    public void Nothing_is_allocated_by(params string[] pipeline)
    {
        using var rig = new WindowRig(pipeline);
        bool fails = pipeline[0] == "LPUSHX";
        Assert.Equal(fails, rig.Run().Contains("-ERR", StringComparison.Ordinal));

        // Errors make their text: what counts there is that nothing stays, so they only may not grow without bound.
        Assert.InRange(rig.Allocated(Runs), 0, fails ? Runs * 2048L : 0);
    }

    [Fact]
    public void Nothing_is_allocated_by_a_large_list()
    {
        string long1 = new('x', 3000), long2 = new('y', 900);
        string[] pipeline =
        [
            $"RPUSH l a {long1} {long2} {long2} {long2} {long2} {long2} {long2} b c", $"LPUSH l d {long2}",
            $"RPUSH l {long1}", "LINDEX l 4", "LSET l 1 xyz", $"LSET l 2 {long2}",
            "LINSERT l AFTER b x", "LREM l 1 x", "LPOS l b", "LRANGE l 0 2", "LTRIM l 0 -2", "LMOVE l l LEFT RIGHT",
            "LPOP l 2", "RPOP l", "DEL l",
        ];
        using var rig = new WindowRig(pipeline);
        Assert.DoesNotContain("-ERR", rig.Run(), StringComparison.Ordinal);
        Assert.Equal(0, rig.Allocated(Runs));
    }
}
