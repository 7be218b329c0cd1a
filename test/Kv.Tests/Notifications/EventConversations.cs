namespace Kv.Tests.Notifications;

/// <summary>What is said to the reference and to Kv to compare the events of each line (<see cref="EventRecorder"/>).
/// Every command that writes is in one of them.</summary>
internal static class EventConversations
{
    /// <summary>Commands that write and are in no conversation.</summary>
    public static readonly Dictionary<string, string> Without = new()
    {
        ["FLUSHALL"] = "has no events, in the reference neither",
        ["FLUSHDB"] = "has no events, in the reference neither",
        ["SWAPDB"] = "has no events, in the reference neither",
        ["FUNCTION"] = "writes no key",
        ["EVAL"] = "has those of its commands (@SCRIPT)",
        ["RESTORE-ASKING"] = "is RESTORE by another name",
        ["MIGRATE"] = "needs another server; deletes as DEL does",
        ["PFDEBUG"] = "looks inside, and has none in the reference",
        ["HEXPIRE"] = "not in 7.0.15; KeyEventTests", ["HPEXPIRE"] = "not in 7.0.15; KeyEventTests",
        ["HEXPIREAT"] = "not in 7.0.15; KeyEventTests", ["HPEXPIREAT"] = "not in 7.0.15; KeyEventTests",
        ["HPERSIST"] = "not in 7.0.15; KeyEventTests",
    };

    public static readonly string[] Strings =
    [
        "SET a 1", "SET a 2 EX 100", "SET a 2 KEEPTTL", "SET a 2 XX GET", "SET a 2 NX", "SETNX a 1", "SETNX b 1",
        "SETEX a 100 v", "PSETEX a 100000 v", "GETSET a x", "GETEX a EX 10", "GETEX a PERSIST", "GETEX a PERSIST",
        "GETEX a", "GETEX a EXAT 1", "GETEX a", "SET a 1", "GETDEL a", "GETDEL a", "APPEND a x", "APPEND a \"\"",
        "SETRANGE a 0 yy", "SETRANGE a 0 \"\"", "SETRANGE nope 0 \"\"", "SET n 1", "INCR n", "DECR n", "INCRBY n 3",
        "DECRBY n 3", "INCRBY n 0", "INCRBYFLOAT n 1.5", "INCR newn", "MSET a 1 b 2", "MSETNX a 1 c 2",
        "MSETNX c1 1 c2 2", "GET miss", "GETRANGE miss 0 1", "MGET miss a miss2", "STRLEN miss", "LCS a miss",
        "SUBSTR miss 0 1", "SETBIT bits 5 1", "SETBIT bits 5 1", "BITFIELD bits SET u8 0 1 INCRBY u8 0 1",
        "BITFIELD bits GET u8 0", "BITFIELD bits SET u8 0 2", "BITFIELD bits SET u8 0 2", "BITFIELD nobits GET u8 0",
        "BITFIELD nobits SET u8 0 0", "BITFIELD_RO nobits2 GET u8 0", "BITOP AND dest bits a",
        "BITOP AND dest nope nope2", "BITOP AND dest nope nope2", "BITCOUNT miss", "GETBIT miss 0", "BITPOS miss 1",
        "PFADD hll a b c", "PFADD hll a b c", "PFADD hll2", "PFADD hll2", "PFMERGE hll3 hll hll2",
        "PFMERGE hll3 hll hll2", "PFCOUNT hll", "PFCOUNT nohll", "PFADD hll d e f g", "PFCOUNT hll",
        "PFCOUNT hll hll2",
    ];

    public static readonly string[] Keys =
    [
        "DEL a b nope", "UNLINK n newn", "SET a 1", "EXPIRE a 100", "EXPIRE a 100 NX", "PEXPIRE a 100000",
        "EXPIREAT a 99999999999", "PEXPIREAT a 99999999999999", "PERSIST a", "PERSIST a", "EXPIRE a -1",
        "EXPIRE a 10", "SET a 1", "EXPIREAT a 1", "SET a 1", "SET b 2", "RENAME a b", "RENAME b b", "RENAME b a2",
        "SET b 1", "RENAMENX a2 b", "RENAMENX a2 z1", "RENAME nope x", "COPY z1 z2", "COPY z1 z2",
        "COPY z1 z2 REPLACE", "COPY z1 z2 DB 3", "COPY nope z9", "MOVE z1 1", "MOVE z1 1", "SET z1 1", "MOVE z1 1",
        "TOUCH z1 nope", "TYPE nope", "TTL nope", "EXISTS nope", "OBJECT ENCODING nope", "DUMP nope", "SORT nope",
        "RPUSH l 3 1 2", "SORT l", "SORT l STORE dst", "SORT l STORE dst", "SORT nope STORE dst",
        "SORT nope STORE dst", "SORT_RO l", "@RESTORE l l2 0", "@RESTORE l l2 0 REPLACE",
        "@RESTORE l l2 5000 REPLACE", "@RESTORE l l2 1 ABSTTL REPLACE", "@RESTORE l l2 1 ABSTTL REPLACE", "FLUSHDB",
        "FLUSHALL", "GET k", "SET k v", "DEL k", "INCR k", "EXPIRE k 10", "EXISTS k", "RENAME k k2", "FLUSHALL",
    ];

    public static readonly string[] Lists =
    [
        "LPUSH l a b", "RPUSH l c", "LPUSHX l z", "LPUSHX nol z", "RPUSHX l z", "RPUSHX nol z",
        "LINSERT l BEFORE a x", "LINSERT l BEFORE nope x", "LINSERT nol BEFORE nope x", "LSET l 0 q", "LREM l 0 q",
        "LREM l 0 nope", "LTRIM l 0 2", "LTRIM l 0 100", "LTRIM nol 0 1", "LPOP l", "RPOP l 1", "RPOP l 0",
        "LPOP nol", "LPOP l", "LTRIM l 5 6", "RPUSH l a", "LTRIM l 5 6", "RPUSH l a", "LREM l 0 a", "RPUSH l a",
        "LPOP l", "RPUSH l a b", "RPOP l 2", "RPUSH l a", "LMOVE l m LEFT RIGHT", "LMOVE m m LEFT RIGHT",
        "LMOVE m l RIGHT LEFT", "LMOVE nol l LEFT LEFT", "RPOPLPUSH l m", "RPUSH l 1 2 3 4",
        "LMPOP 2 nol l LEFT COUNT 2", "LMPOP 2 nol l RIGHT COUNT 10", "LMPOP 1 nol LEFT", "RPUSH l 1 2 3 4",
        "BLPOP nol l 1", "BRPOP l 1", "BLMOVE l m LEFT RIGHT 1", "BRPOPLPUSH l m 1", "RPUSH l 1 2",
        "BLMPOP 1 1 l LEFT COUNT 2", "LLEN nol", "LINDEX nol 0", "LRANGE nol 0 1", "LPOS nol 1", "@BLOCK BLPOP bl 0",
        "RPUSH bl x", "@BLOCK BLPOP bl 0", "RPUSH bl x y", "DEL bl", "@BLOCK BLMOVE bl bm LEFT RIGHT 0", "RPUSH bl x",
        "@BLOCK BRPOPLPUSH bl bm 0", "RPUSH bl x y", "DEL bl", "@BLOCK BLMPOP 0 1 bl LEFT COUNT 5", "RPUSH bl x y",
        "FLUSHALL",
    ];

    public static readonly string[] Hashes =
    [
        "HSET h a 1 b 2", "HSET h a 1", "HMSET h a 3", "HSETNX h a 1", "HSETNX h c 1", "HINCRBY h a 1",
        "HINCRBY h a 0", "HINCRBYFLOAT h a 1.5", "HDEL h nope", "HDEL h a nope b", "HDEL h c", "HDEL h c",
        "HGET nope a", "HMGET nope a", "HGETALL nope", "HKEYS nope", "HLEN nope", "HEXISTS nope a", "HSTRLEN nope a",
        "HRANDFIELD nope", "HRANDFIELD nope 1", "HSCAN nope 0",
    ];

    public static readonly string[] Sets =
    [
        "SADD s a b c d", "SADD s a", "SREM s a nope", "SREM s nope", "SPOP s", "SPOP s 0", "SPOP s 100", "SPOP s",
        "SPOP s 2", "SADD s a", "SPOP s", "SADD s a", "SREM s a", "SADD s a b", "SMOVE s t a", "SMOVE s t nope",
        "SMOVE s t b", "SMOVE s t b", "SMOVE t t a", "SADD s a b", "SINTERSTORE d s t", "SINTERSTORE d s t",
        "SINTERSTORE d s nope", "SINTERSTORE d s nope", "SUNIONSTORE d s t", "SDIFFSTORE d s t", "SADD s2 x",
        "SDIFFSTORE d s2 nope", "SDIFFSTORE d nope s2", "SINTERSTORE s s t", "SMEMBERS nope", "SINTER nope s",
        "SUNION nope s", "SDIFF nope s", "SINTERCARD 2 nope s", "SISMEMBER nope a", "SMISMEMBER nope a", "SCARD nope",
        "SRANDMEMBER nope", "SRANDMEMBER nope 2", "SSCAN nope 0", "FLUSHALL",
    ];

    public static readonly string[] SortedSets =
    [
        "ZADD z 1 a 2 b 3 c", "ZADD z 1 a", "ZADD z CH 2 a", "ZADD z XX 9 nope", "ZADD z INCR 1 a",
        "ZADD z NX INCR 1 a", "ZADD z XX INCR 0 a", "ZADD z XX GT 1 a", "ZINCRBY z 1 a", "ZINCRBY z 0 a",
        "ZINCRBY zz 0 a", "ZREM z a nope", "ZREM z nope", "ZREM zz a", "ZREMRANGEBYSCORE z 2 2",
        "ZREMRANGEBYSCORE z 20 20", "ZREMRANGEBYRANK z 0 -1", "ZREMRANGEBYRANK z 0 -1", "ZADD z 0 a 0 b",
        "ZREMRANGEBYLEX z [a [a", "ZREMRANGEBYLEX z - +", "ZADD z 1 a 2 b 3 c 4 d", "ZPOPMIN z", "ZPOPMAX z 1",
        "ZPOPMAX z 0", "ZPOPMIN z 5", "ZPOPMIN z", "ZADD z 1 a 2 b 3 c 4 d", "ZMPOP 1 z MIN",
        "ZMPOP 1 z MAX COUNT 10", "ZMPOP 1 z MAX COUNT 10", "ZADD z 1 a 2 b 3 c 4 d", "BZPOPMIN z 1", "BZPOPMAX z 1",
        "BZMPOP 1 1 z MIN", "BZMPOP 1 1 z MAX", "ZADD z 1 a 2 b", "ZADD y 1 a 2 b", "ZUNIONSTORE d 2 z y",
        "ZINTERSTORE d 2 z y", "ZDIFFSTORE d 2 z y", "ZDIFFSTORE d 2 z y", "ZUNIONSTORE d 1 nope",
        "ZRANGESTORE d z 0 -1", "ZRANGESTORE d z 5 9", "ZRANGESTORE d z 5 9", "ZRANGESTORE d nope 0 -1",
        "ZRANGE nope 0 1", "ZSCORE nope a", "ZMSCORE nope a", "ZRANK nope a", "ZCARD nope", "ZCOUNT nope 0 1",
        "ZLEXCOUNT nope - +", "ZUNION 2 nope z", "ZINTER 2 nope z", "ZDIFF 2 nope z", "ZINTERCARD 2 nope z",
        "ZRANDMEMBER nope", "ZSCAN nope 0", "ZRANGEBYSCORE nope 0 1", "@BLOCK BZPOPMIN bz 0", "ZADD bz 1 a",
        "@BLOCK BZPOPMAX bz 0", "ZADD bz 1 a 2 b", "DEL bz", "@BLOCK BZMPOP 0 1 bz MIN COUNT 4", "ZADD bz 1 a 2 b",
        "@BLOCK BZMPOP 0 1 bq MIN COUNT 4", "ZADD bq 1 a 2 b",
        "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", "GEOADD g 13.361389 38.115556 Palermo",
        "GEORADIUS g 15 37 200 km STORE gd", "GEORADIUS g 15 37 200 km STOREDIST gd", "GEORADIUS g 0 0 1 km STORE gd",
        "GEORADIUS g 0 0 1 km STORE gd", "GEORADIUS nope 0 0 1 km STORE gd",
        "GEORADIUSBYMEMBER g Palermo 300 km STORE gd", "GEOSEARCHSTORE gd2 g FROMMEMBER Palermo BYRADIUS 300 km ASC",
        "GEOSEARCHSTORE gd2 g FROMLONLAT 0 0 BYRADIUS 1 km ASC", "GEOPOS nope a", "GEODIST nope a b",
        "GEOHASH nope a", "GEOSEARCH nope FROMLONLAT 0 0 BYRADIUS 1 km", "FLUSHALL",
    ];

    public static readonly string[] Streams =
    [
        "XADD x 1-1 f v", "XADD x MAXLEN 1 2-1 f v", "XADD x MAXLEN 100 3-1 f v", "XADD nox NOMKSTREAM 3-1 f v",
        "XADD x MAXLEN 0 9-1 f v", "XADD x 10-1 f v", "XADD x 11-1 f v", "XDEL x 11-1", "XDEL x 11-1",
        "XDEL nox 11-1", "XTRIM x MAXLEN 0", "XTRIM x MAXLEN 0", "XADD x 12-1 f v", "XSETID x 20-1",
        "XGROUP CREATE x g 0", "XGROUP CREATE x2 g 0 MKSTREAM", "XGROUP CREATE x g 0", "XGROUP SETID x g 0",
        "XGROUP CREATECONSUMER x g c", "XGROUP CREATECONSUMER x g c", "XREADGROUP GROUP g c2 STREAMS x >",
        "XREADGROUP GROUP g c2 STREAMS x >", "XREADGROUP GROUP g c2 STREAMS x 0", "XACK x g 12-1",
        "XADD x 21-1 f v", "XADD x 22-1 f v", "XREADGROUP GROUP g c STREAMS x >",
        "XCLAIM x g c5 0 21-1", "XCLAIM x g c5 0 99-1", "XAUTOCLAIM x g c6 0 0", "XAUTOCLAIM x g c6 0 99",
        "XGROUP DELCONSUMER x g c6", "XGROUP DELCONSUMER x g nope", "XGROUP DESTROY x g", "XGROUP DESTROY x g",
        "XREAD STREAMS nope 0", "XREAD STREAMS x 0", "XRANGE nope - +", "XREVRANGE nope + -", "XLEN nope",
        "XINFO STREAM nope", "XPENDING nope g", "XGROUP CREATE x g $",
        "XGROUP CREATECONSUMER x g newc",
        "@BLOCK XREADGROUP GROUP g newc BLOCK 0 STREAMS x >", "XADD x 30-1 f v", "@BLOCK XREAD BLOCK 0 STREAMS x $",
        "XADD x 31-1 f v",
    ];

    public static readonly string[] Together =
    [
        "@TX SET a 1;EXPIRE a 10;LPUSH el 1;LPOP el;GET nokey", "@SCRIPT set ek 1;expire ek 10;del ek", "FLUSHALL",
        "SET a 1", "SETRANGE nk 3 x", "SET a 1", "RPUSH a2 1", "SET a2 1", "SUNIONSTORE a2 nope", "SADD s 1",
        "SUNIONSTORE a s", "GEOADD g2 CH 13.361389 38.115556 Palermo", "GEOADD g2 XX 13 38 Palermo",
        "GETSET brandnew 1",
    ];

    public static IEnumerable<(string Name, string[] Lines)> All =>
    [
        ("Strings", Strings),
        ("Keys", Keys),
        ("Lists", Lists),
        ("Hashes", Hashes),
        ("Sets", Sets),
        ("SortedSets", SortedSets),
        ("Streams", Streams),
        ("Together", Together),
    ];
}
