using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Random rules and calls, for both servers.</summary>
internal static class AccessCalls
{
    private static readonly string[] Keys = ["a", "a1", "a2", "b", "b1", "b:x", "c", "c*", "abc", "zz"];
    private static readonly string[] Channels = ["n", "n1", "n:a", "m", "m1", "n*", "[mn]1", "*"];
    private static readonly string[] KeyPatterns =
        ["a", "a*", "b?", "b:*", "[ab]*", "c\\*", "*", "*1", "a?c", "zz", "[^a]*", "{*"];

    /// <summary>Calls as they may be; K is a key, C a channel.</summary>
    private static readonly string[] Calls =
    [
        "GET K", "SET K v", "SET K v GET", "SET K v NX GET EX 10", "SET K get", "GETEX K", "GETDEL K", "GETSET K v",
        "MGET K K K",
        "MSET K v K v", "MSETNX K v K v", "APPEND K v", "STRLEN K", "SETRANGE K 0 v", "GETRANGE K 0 1", "SUBSTR K 0 1",
        "INCR K", "INCRBYFLOAT K 1", "DECRBY K 1", "LCS K K", "SETEX K 10 v", "PSETEX K 10000 v", "SETNX K v",
        "DEL K K", "UNLINK K", "EXISTS K K", "TOUCH K", "TYPE K", "TTL K", "PTTL K", "EXPIRE K 100", "PERSIST K",
        "EXPIREAT K 99999999999", "EXPIRETIME K", "PEXPIRETIME K", "RENAME K K", "RENAMENX K K", "COPY K K",
        "MOVE K 1", "DUMP K", "RESTORE K 0 v", "OBJECT ENCODING K", "OBJECT FREQ K", "OBJECT HELP", "KEYS x", "SCAN 0",
        "RANDOMKEY", "DBSIZE", "SORT K", "SORT K STORE K", "SORT K LIMIT 0 1 STORE K", "SORT_RO K", "MEMORY USAGE K",
        "LPUSH K v", "RPUSHX K v", "LPOP K", "RPOP K 1", "LLEN K", "LRANGE K 0 1", "LINDEX K 0", "LSET K 0 v",
        "LINSERT K BEFORE a b", "LREM K 0 a", "LTRIM K 0 1", "LPOS K a", "RPOPLPUSH K K", "LMOVE K K LEFT RIGHT",
        "LMPOP 2 K K LEFT", "BLPOP K K 0.001", "BRPOP K 0.001", "BLMOVE K K LEFT LEFT 0.001", "BRPOPLPUSH K K 0.001",
        "BLMPOP 0.001 1 K LEFT",
        "SADD K v", "SREM K v", "SMEMBERS K", "SCARD K", "SISMEMBER K v", "SMISMEMBER K v", "SMOVE K K v", "SPOP K",
        "SRANDMEMBER K", "SINTER K K", "SINTERCARD 2 K K", "SINTERSTORE K K K", "SUNION K K", "SUNIONSTORE K K K",
        "SDIFF K K", "SDIFFSTORE K K", "SSCAN K 0",
        "HSET K f v", "HGET K f", "HGETALL K", "HDEL K f", "HLEN K", "HEXISTS K f", "HINCRBY K f 1", "HKEYS K",
        "HMGET K f", "HMSET K f v", "HRANDFIELD K", "HSCAN K 0", "HSETNX K f v", "HSTRLEN K f", "HVALS K",
        "ZADD K 1 v", "ZREM K v", "ZRANGE K 0 1", "ZRANGESTORE K K 0 1", "ZSCORE K v", "ZCARD K", "ZCOUNT K 0 1",
        "ZUNION 2 K K", "ZUNIONSTORE K 2 K K", "ZINTER 1 K", "ZINTERSTORE K 2 K K WEIGHTS 1 2", "ZINTERCARD 2 K K",
        "ZDIFF 2 K K", "ZDIFFSTORE K 2 K K", "ZPOPMIN K", "ZMPOP 1 K MIN", "BZPOPMIN K 0.001", "BZMPOP 0.001 1 K MIN",
        "ZRANDMEMBER K", "ZINCRBY K 1 v", "ZRANK K v", "ZREMRANGEBYRANK K 0 1", "ZSCAN K 0", "ZMSCORE K v",
        "GEOADD K 1 1 v", "GEODIST K a b", "GEOPOS K v", "GEOHASH K v", "GEOSEARCH K FROMMEMBER v BYRADIUS 1 m",
        "GEOSEARCHSTORE K K FROMMEMBER v BYRADIUS 1 m", "GEORADIUS K 1 1 1 m", "GEORADIUS K 1 1 1 m STORE K",
        "GEORADIUSBYMEMBER K v 1 m STOREDIST K", "GEORADIUS_RO K 1 1 1 m",
        "PFADD K v", "PFCOUNT K K", "PFMERGE K K K", "SETBIT K 1 1", "GETBIT K 1", "BITCOUNT K", "BITPOS K 1",
        "BITOP AND K K K", "BITFIELD K GET u8 0", "BITFIELD K SET u8 0 1", "BITFIELD K GET u8 0 INCRBY u8 0 1",
        "BITFIELD_RO K GET u8 0",
        "XADD K * f v", "XLEN K", "XRANGE K - +", "XREVRANGE K + -", "XREAD COUNT 1 STREAMS K K 0 0",
        "XREADGROUP GROUP g c STREAMS K >", "XDEL K 1-1", "XTRIM K MAXLEN 1", "XACK K g 1-1", "XPENDING K g",
        "XGROUP CREATE K g 0 MKSTREAM", "XGROUP DESTROY K g", "XINFO STREAM K", "XINFO GROUPS K", "XINFO HELP",
        "XCLAIM K g c 0 1-1", "XAUTOCLAIM K g c 0 0", "XSETID K 1-1",
        "PUBLISH C v", "SPUBLISH C v", "PUBSUB CHANNELS", "PUBSUB NUMSUB C", "SUBSCRIBE C C", "PSUBSCRIBE C C",
        "SSUBSCRIBE C", "UNSUBSCRIBE C", "PUNSUBSCRIBE C", "SUNSUBSCRIBE C",
        "PING", "ECHO K", "SELECT 0", "SELECT 1", "CLIENT ID", "CLIENT GETNAME", "CLIENT LIST", "CLIENT INFO",
        "CLIENT SETNAME K", "CONFIG GET port", "CONFIG HELP", "CONFIG RESETSTAT", "COMMAND", "COMMAND COUNT",
        "COMMAND GETKEYS GET K", "COMMAND LIST", "INFO", "TIME", "LASTSAVE", "ROLE", "SLOWLOG GET", "SLOWLOG LEN",
        "WATCH K K", "UNWATCH", "MULTI", "DISCARD", "WAIT 0 0", "SWAPDB 0 1", "FLUSHDB", "SCRIPT EXISTS x",
        "SCRIPT LOAD return", "FUNCTION LIST", "EVAL return 0", "EVAL return 2 K K", "EVAL_RO return 1 K v",
        "EVAL return 3 K K", "EVAL return x K", "EVALSHA x 1 K", "EVALSHA_RO x 2 K K v", "FCALL f 2 K K", "FCALL f 0 K",
        "FCALL_RO f 1 K", "FCALL_RO f 3 K K K v", "ACL WHOAMI", "ACL CAT", "ACL GETUSER x", "ACL LIST",
        "LOLWUT", "MODULE LIST", "MIGRATE h 1 K 0 1", "MIGRATE h 1 #EMPTY 0 1 KEYS K K", "AUTH x", "HELLO", "RESET",
        "QUIT", "READONLY", "DEBUG HELP", "CLUSTER INFO",
    ];

    private static readonly string[] Names =
        [.. Calls.Select(call => call.Split(' ')[0].ToLowerInvariant()).Distinct(StringComparer.Ordinal)];

    private static readonly string[] Subcommands =
    [
        "config|get", "config|help", "client|list", "client|id", "object|encoding", "xinfo|stream", "xgroup|create",
        "acl|whoami", "memory|usage", "pubsub|channels", "command|count", "command|getkeys", "slowlog|get",
        "script|load", "function|list", "get|a", "select|0", "select|1", "publish|n", "echo|a1", "sort|b", "mget|A1",
    ];

    private static readonly string[] Categories =
    [
        "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
        "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
    ];

    /// <summary>Each of the calls, of one key and channel.</summary>
    public static IEnumerable<string[]> Each => Calls.Select(call => Words(call, () => "a", () => "n"));

    /// <summary>A call, as words.</summary>
    public static string[] Call(Random random)
    {
        string[] words = Words(Calls[random.Next(Calls.Length)], () => Pick(random, Keys),
            () => Pick(random, Channels));
        if (random.Next(4) == 0) words[0] = words[0].ToLowerInvariant();
        return words;
    }

    private static string[] Words(string call, Func<string> key, Func<string> channel)
    {
        string[] words = call.Split(' ');
        for (int i = 1; i < words.Length; i++)
        {
            if (words[i] == "K") words[i] = key();
            else if (words[i] == "C") words[i] = channel();
            else if (words[i] == "#EMPTY") words[i] = "";
        }

        return words;
    }

    /// <summary>Rules that make a user anew.</summary>
    public static string[] Rules(Random random)
    {
        var rules = new List<string> { "reset", "on", "nopass" };
        rules.AddRange(SelectorRules(random));
        for (int i = random.Next(3); i > 0; i--) rules.Add($"({string.Join(' ', SelectorRules(random))})");
        return [.. rules];
    }

    private static List<string> SelectorRules(Random random)
    {
        var rules = new List<string>();
        bool hasAllKeys = random.Next(4) == 0, hasAllChannels = random.Next(4) == 0;
        if (hasAllKeys) rules.Add(Pick(random, "~*", "allkeys"));
        if (hasAllChannels) rules.Add(Pick(random, "&*", "allchannels"));
        if (random.Next(3) > 0) rules.Add(Pick(random, "+@all", "allcommands"));
        for (int i = random.Next(8); i > 0; i--)
        {
            rules.Add((random.Next(7), random.Next(2) == 0) switch
            {
                (0, _) when !hasAllKeys => Pick(random, "~", "%R~", "%W~", "%RW~", "%w~") + Pattern(random),
                (1, _) when !hasAllChannels => "&" + Channels[random.Next(Channels.Length - 1)],
                (2, true) => "+@" + Pick(random, Categories),
                (2 or 3, false) => "-@" + Pick(random, Categories),
                (4, true) => "+" + Pick(random, Subcommands),
                (5, false) => "-" + Pick(random, Names),
                _ => "+" + Pick(random, Names),
            });
        }

        return rules;
    }

    // The one of all keys is a word of its own.
    private static string Pattern(Random random)
    {
        string pattern = Pick(random, KeyPatterns);
        return pattern == "*" ? "*a*" : pattern;
    }

    private static string Pick(Random random, params string[] of) => of[random.Next(of.Length)];
}
