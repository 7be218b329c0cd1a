namespace RespBenchmark.Workload;

/// <summary>What well-known commands answer, by name; of a command that is not here any reply is right.</summary>
internal static class ReplyRules
{
    private static readonly Dictionary<string, ReplyRule> ByName = Table();

    public static ReplyRule Of(string command) =>
        ByName.GetValueOrDefault(command.ToUpperInvariant(), ReplyRule.Any);

    private static Dictionary<string, ReplyRule> Table()
    {
        var table = new Dictionary<string, ReplyRule>(StringComparer.Ordinal);
        void Add(ReplyRule rule, string names)
        {
            foreach (string name in names.Split(' ')) table.Add(name, rule);
        }

        Add(ReplyRule.Status,
            "MSET SETEX PSETEX HMSET LSET LTRIM PFMERGE FLUSHALL FLUSHDB SELECT RENAME MULTI WATCH UNWATCH");
        Add(ReplyRule.Integer,
            "DEL UNLINK EXISTS EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST TTL PTTL INCR DECR INCRBY DECRBY "
            + "APPEND STRLEN SETNX SETRANGE MSETNX LPUSH RPUSH LPUSHX RPUSHX LLEN LREM SADD SREM SCARD SISMEMBER "
            + "HSET HSETNX HDEL HLEN HEXISTS HINCRBY HSTRLEN ZREM ZCARD ZCOUNT ZLEXCOUNT ZREMRANGEBYSCORE "
                + "ZREMRANGEBYRANK "
            + "ZREMRANGEBYLEX PFADD PFCOUNT SETBIT GETBIT BITCOUNT BITPOS BITOP PUBLISH SPUBLISH DBSIZE GEOADD XLEN "
                + "XDEL XACK "
            + "TOUCH COPY RENAMENX SINTERCARD SINTERSTORE SUNIONSTORE SDIFFSTORE");
        Add(ReplyRule.Bulk | ReplyRule.Nil, "GET GETDEL GETEX GETSET HGET LINDEX RPOPLPUSH LMOVE RANDOMKEY");
        Add(ReplyRule.Bulk, "GETRANGE SUBSTR ECHO INCRBYFLOAT HINCRBYFLOAT DUMP");
        Add(ReplyRule.Bulk | ReplyRule.Nil | ReplyRule.Double, "ZSCORE");
        Add(ReplyRule.Bulk | ReplyRule.Double, "ZINCRBY");
        Add(ReplyRule.Integer | ReplyRule.Bulk | ReplyRule.Nil | ReplyRule.Double, "ZADD");
        Add(ReplyRule.Bulk | ReplyRule.Nil | ReplyRule.Array, "LPOP RPOP SPOP SRANDMEMBER XADD");
        Add(ReplyRule.Array, "MGET HMGET HKEYS HVALS LRANGE SMEMBERS SINTER SUNION SDIFF SMISMEMBER ZRANGE ZREVRANGE "
            + "ZRANGEBYSCORE ZREVRANGEBYSCORE ZPOPMIN ZPOPMAX ZMSCORE BITFIELD BITFIELD_RO KEYS SCAN HSCAN SSCAN ZSCAN "
            + "XRANGE XREVRANGE GEOSEARCH GEOPOS GEOHASH");
        Add(ReplyRule.Array | ReplyRule.Map, "HGETALL");
        Add(ReplyRule.Array | ReplyRule.Map | ReplyRule.Nil, "XREAD XREADGROUP");
        Add(ReplyRule.Status | ReplyRule.Nil | ReplyRule.Bulk, "SET");
        Add(ReplyRule.Status, "TYPE");
        Add(ReplyRule.Status | ReplyRule.Bulk | ReplyRule.Array, "PING");
        Add(ReplyRule.Integer | ReplyRule.Nil, "ZRANK ZREVRANK LPOS");
        return table;
    }
}
