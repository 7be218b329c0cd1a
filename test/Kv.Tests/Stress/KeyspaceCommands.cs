namespace Kv.Tests.Stress;

/// <summary>Random commands on small collections, such as <see cref="Keyspace"/> knows.</summary>
internal static class KeyspaceCommands
{
    public static IEnumerable<string> Kinds => ["list", "set", "hash", "sorted set"];

    /// <summary>A command on one key.</summary>
    /// <param name="unique">A number that nobody else has: what is written is known by it.</param>
    public static string OnOne(string kind, string key, int unique, Random random)
    {
        if (random.Next(40) == 0) return $"DEL {key}";
        return kind switch
        {
            "list" => List(key, unique, random),
            "set" => Set(key, random),
            "hash" => Hash(key, unique, random),
            _ => Scores(key, random),
        };
    }

    /// <summary>A command on both of two keys of one kind.</summary>
    public static string OnBoth(string kind, string one, string other, Random random)
    {
        if (random.Next(2) == 0) (one, other) = (other, one);
        int choice = random.Next(kind is "list" or "set" ? 8 : 4);
        return choice switch
        {
            0 => $"RENAME {one} {other}",
            1 => $"COPY {one} {other} REPLACE",
            2 => $"EXISTS {one} {other}",
            3 => $"DEL {one} {other}",
            _ when kind
            == "list" => $"LMOVE {one} {(random.Next(4) == 0 ? one : other)} "
                + $"{(random.Next(2) == 0 ? "LEFT" : "RIGHT")} {(random.Next(2) == 0 ? "LEFT" : "RIGHT")}",
            7 => $"SUNIONSTORE {one} {one} {other}",
            _ => $"SMOVE {one} {other} {Member(random)}",
        };
    }

    private static string List(string key, int unique, Random random) => random.Next(12) switch
    {
        0 or 1 => $"LPUSH {key} v{unique}",
        2 => $"RPUSH {key} v{unique}",
        3 => $"RPUSH {key} v{unique} w{unique}",
        4 => $"LPUSH {key} v{unique} w{unique} x{unique}",
        5 or 6 => $"LPOP {key}",
        7 => $"RPOP {key}",
        8 => $"LLEN {key}",
        9 => $"LINDEX {key} {random.Next(-3, 3)}",
        10 => $"LMOVE {key} {key} RIGHT LEFT",
        _ => $"LRANGE {key} 0 -1",
    };

    // Integers, so that a set may be an array of them, then packed, then large.
    private static string Member(Random random) =>
        random.Next(3) == 0 ? "m" + random.Next(3) : random.Next(4).ToString();

    private static string Set(string key, Random random) => random.Next(11) switch
    {
        0 or 1 => $"SADD {key} {Member(random)}",
        2 => $"SADD {key} {Member(random)} {Member(random)} {Member(random)}",
        3 => $"SREM {key} {Member(random)}",
        4 => $"SREM {key} {Member(random)} {Member(random)}",
        5 => $"SISMEMBER {key} {Member(random)}",
        6 => $"SMISMEMBER {key} {Member(random)} {Member(random)}",
        7 => $"SCARD {key}",
        8 => $"SPOP {key}",
        9 => $"SRANDMEMBER {key}",
        _ => $"SMEMBERS {key}",
    };

    private static string Field(Random random) => "f" + random.Next(5);

    // Values are numbers: HINCRBY may come behind any of them.
    private static string Hash(string key, int unique, Random random) => random.Next(11) switch
    {
        0 => $"HSET {key} {Field(random)} {unique}000",
        1 => $"HSET {key} f{random.Next(3)} {unique}000 f{random.Next(3, 5)} {unique}000",
        2 => $"HSETNX {key} {Field(random)} {unique}000",
        3 => $"HDEL {key} {Field(random)}",
        4 => $"HDEL {key} {Field(random)} {Field(random)}",
        5 => $"HGET {key} {Field(random)}",
        6 => $"HMGET {key} {Field(random)} {Field(random)}",
        7 or 8 => $"HINCRBY {key} {Field(random)} {random.Next(1, 3)}",
        9 => $"HLEN {key}",
        _ => $"HGETALL {key}",
    };

    private static string Scores(string key, Random random) => random.Next(12) switch
    {
        0 or 1 => $"ZADD {key} {random.Next(9)} {Field(random)}",
        2 => $"ZADD {key} {random.Next(9)} f{random.Next(3)} {random.Next(9)} f{random.Next(3, 5)}",
        3 or 4 => $"ZINCRBY {key} {random.Next(-3, 4)} {Field(random)}",
        5 => $"ZSCORE {key} {Field(random)}",
        6 => $"ZRANK {key} {Field(random)}",
        7 => $"ZPOPMIN {key}",
        8 => $"ZCARD {key}",
        9 => $"ZREM {key} {Field(random)}",
        10 => $"ZPOPMAX {key}",
        _ => $"ZRANGE {key} 0 -1 WITHSCORES",
    };
}
