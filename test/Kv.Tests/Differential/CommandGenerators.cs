using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>How a random call of each command is drawn. A command without a row here needs a reason below.</summary>
internal static class CommandGenerators
{
    internal delegate object[] Draw(Gen g);

    /// <summary>By name; a draw's items are words (text, matched case at random) and arguments (bytes).</summary>
    internal static readonly Dictionary<string, Draw> All = new()
    {
        ["SET"] = g => g.Chance(0.05) ? [g.Key("hll"), HllValue(g)] : g.Chance(0.005) ? ["short", ShortHllValue]
            : g.Chance(0.1) ? [LcsKey(g), g.Pick("ohmytext", "mynewtext", "", "aaaa", "abcabcabc")]
            : [g.Key(), g.Value(), .. SetOptions(g)],
        ["GET"] = g => [g.Key()],
        ["SETNX"] = g => [g.Key(), g.Value()],
        ["SETEX"] = g => [g.Key(), g.Seconds(), g.Value()],
        ["PSETEX"] = g => [g.Key(), g.Milliseconds(), g.Value()],
        ["GETSET"] = g => [g.Key(), g.Value()],
        ["GETDEL"] = g => [g.Key()],
        ["GETEX"] = g => [g.Key(), .. ExpiryOptions(g, "PERSIST")],
        ["MGET"] = g => Repeat(g, 5, () => [g.Key()]),
        ["MSET"] = g => Repeat(g, 4, () => [g.Key(), g.Value()]),
        ["MSETNX"] = g => Repeat(g, 3, () => [g.Key(), g.Value()]),
        ["APPEND"] = g => [g.Key(), g.Value()],
        ["STRLEN"] = g => [g.Key()],
        ["GETRANGE"] = g => [g.Key(), g.Integer(), g.Integer()],
        ["SUBSTR"] = g => [g.Key(), g.Integer(), g.Integer()],
        ["SETRANGE"] = g => [g.Key(), Offset(g), g.Value()],
        ["INCR"] = g => [g.Key()],
        ["DECR"] = g => [g.Key()],
        ["INCRBY"] = g => [g.Key(), g.Integer()],
        ["DECRBY"] = g => [g.Key(), g.Integer()],
        ["INCRBYFLOAT"] = g => [g.Key(), g.Float()],
        ["SETBIT"] = g => [g.Key(), BitOffset(g), g.Pick("0", "1", "1", "1", "2", "x")],
        ["GETBIT"] = g => [g.Key(), BitOffset(g)],
        ["BITCOUNT"] = g => [g.Key(), .. g.Chance(0.3) ? [] : BitRange(g)],
        ["BITPOS"] = g => [g.Key(), g.Pick("0", "1"),
            .. g.Chance(0.3) ? [] : g.Chance(0.3) ? [BitPlace(g)] : BitRange(g)],
        ["BITOP"] = g => [g.Word(g.Pick("AND", "OR", "XOR", "NOT", "NAND")), g.Key(),
            .. Repeat(g, g.Chance(0.3) ? 1 : 4, () => [g.Key()])],
        ["BITFIELD"] = g => [g.Key(), .. Repeat(g, 4, () => BitFieldPart(g))],
        ["BITFIELD_RO"] = g => [g.Key(), .. Repeat(
            g, 3, () => g.Chance(0.95) ? [g.Word("GET"), BitEncoding(g), BitFieldOffset(g)] : BitFieldPart(g))],
        ["LPUSH"] = g => [g.Key("l"), .. Elements(g)],
        ["RPUSH"] = g => [g.Key("l"), .. Elements(g)],
        ["LPUSHX"] = g => [g.Key("l"), .. Elements(g)],
        ["RPUSHX"] = g => [g.Key("l"), .. Elements(g)],
        ["LPOP"] = g => [g.Key("l"), .. If(g.Chance(0.3), g.Integer())],
        ["RPOP"] = g => [g.Key("l"), .. If(g.Chance(0.3), g.Integer())],
        ["LLEN"] = g => [g.Key("l")],
        ["LINDEX"] = g => [g.Key("l"), g.Integer()],
        ["LSET"] = g => [g.Key("l"), g.Integer(), g.Value()],
        ["LRANGE"] = g => [g.Key("l"), g.Integer(), g.Integer()],
        ["LTRIM"] = g => g.Chance(0.8) ? [g.Key("l"), g.Pick("0", "1", "2"), g.Pick("-1", "-1", "-2", "1000")]
        : [g.Key("l"), g.Integer(), g.Integer()],
        ["LINSERT"] = g => [g.Key("l"), g.Word(g.Pick("BEFORE", "AFTER", "AFTER", "BAD")), g.Value(), g.Value()],
        ["LREM"] = g => [g.Key("l"), g.Integer(), g.Value()],
        ["LPOS"] = g => [g.Key("l"), g.Value(),
            .. If(g.Chance(0.4), g.Word("RANK"), g.Chance(0.8) ? g.Pick("1", "2", "3", "-1", "-2", "0") : Rank(g)),
            .. If(g.Chance(0.4), g.Word("COUNT"), g.Integer()),
            .. If(g.Chance(0.3), g.Word("MAXLEN"), g.Integer()), .. If(g.Chance(0.05), g.Pick("RANK", "BAD"))],
        ["LMOVE"] = g => [g.Key("l"), g.Key("l"), g.Word(g.Pick("LEFT", "RIGHT")),
            g.Word(g.Pick("LEFT", "RIGHT", "LEFT", "RIGHT", "UP"))],
        ["RPOPLPUSH"] = g => [g.Key("l"), g.Key("l")],
        ["LMPOP"] = LmPop,
        ["BLPOP"] = BlockingGenerators.ListPop,
        ["BRPOP"] = BlockingGenerators.ListPop,
        ["BLMOVE"] = BlockingGenerators.BLMove,
        ["BRPOPLPUSH"] = BlockingGenerators.BRPopLPush,
        ["BLMPOP"] = BlockingGenerators.BLMPop,
        ["HSET"] = g => [g.Key("h"), .. Repeat(g, g.Chance(0.1) ? 20 : 4, () => [g.Member(), g.Value()])],
        ["HMSET"] = g => [g.Key("h"), .. Repeat(g, 4, () => [g.Member(), g.Value()])],
        ["HSETNX"] = g => [g.Key("h"), g.Member(), g.Value()],
        ["HGET"] = g => [g.Key("h"), g.Member()],
        ["HMGET"] = g => [g.Key("h"), .. Repeat(g, 4, () => [g.Member()])],
        ["HGETALL"] = g => [g.Key("h")],
        ["HKEYS"] = g => [g.Key("h")],
        ["HVALS"] = g => [g.Key("h")],
        ["HLEN"] = g => [g.Key("h")],
        ["HEXISTS"] = g => [g.Key("h"), g.Member()],
        ["HSTRLEN"] = g => [g.Key("h"), g.Member()],
        ["HDEL"] = g => [g.Key("h"), .. Repeat(g, g.Chance(0.2) ? 30 : 3, () => [g.Member()])],
        ["HINCRBY"] = g => [g.Key("h"), g.Member(), g.Integer()],
        ["HINCRBYFLOAT"] = g => [g.Key("h"), g.Member(), g.Float()],
        ["HRANDFIELD"] = g => [g.Key("h"), .. If(g.Chance(0.7), Count(g)), .. If(g.Chance(0.3), g.Word("WITHVALUES"))],
        ["HSCAN"] = g => [g.Key("h"), "0", "COUNT", "100000", .. If(g.Chance(0.3), g.Word("MATCH"), g.Pattern())],

        ["SORT"] = g => [g.Key(g.Pick("l", "s", "z")), .. SortOptions(g, stores: true)],
        ["SORT_RO"] = g => [g.Key(g.Pick("l", "s", "z")), .. SortOptions(g, stores: false)],
        ["DUMP"] = g => [g.Key(g.Pick("l", "h", "s", "z", "k"))],
        ["RESTORE"] = g => [g.Key(g.Pick("l", "h", "s", "z", "k")),
            g.Chance(0.6) ? "0" : g.Pick("7200000", "99999999999", "-1", "", "x", "1.5", "9223372036854775808"),
            Payload(g), .. If(g.Chance(0.7), g.Word("REPLACE")),
            .. If(g.Chance(0.1), g.Word("IDLETIME"), g.Integer()), .. If(g.Chance(0.1), g.Word("FREQ"), g.Integer()),
            .. If(g.Chance(0.02), "BAD")],
        ["SADD"] = g => [g.Key("s"), .. Repeat(g, g.Chance(0.1) ? 30 : 5, () => [g.Member()])],
        ["SREM"] = g => [g.Key("s"), .. Repeat(g, g.Chance(0.1) ? 30 : 3, () => [g.Member()])],
        ["SMOVE"] = g => [g.Key("s"), g.Key("s"), g.Member()],
        ["SISMEMBER"] = g => [g.Key("s"), g.Member()],
        ["SMISMEMBER"] = g => [g.Key("s"), .. Repeat(g, 4, () => [g.Member()])],
        ["SCARD"] = g => [g.Key("s")],
        ["SMEMBERS"] = g => [g.Key("s")],
        ["SPOP"] = g => [g.Key("s"), g.Chance(0.9) ? "100000" : g.Pick("0", "-1", "x", "9223372036854775808")],
        ["SRANDMEMBER"] = g => [g.Key("s"), .. If(g.Chance(0.7), Count(g))],
        ["SINTER"] = g => Repeat(g, 3, () => [g.Key("s")]),
        ["SINTERCARD"] = g => [g.Pick("1", "1", "2", "2", "3", "0", "-1", "x"), .. Repeat(g, 3, () => [g.Key("s")]),
            .. If(g.Chance(0.3), g.Word("LIMIT"), g.Integer())],
        ["SINTERSTORE"] = g => [g.Key("s"), .. Repeat(g, 3, () => [g.Key("s")])],
        ["SUNION"] = g => Repeat(g, 3, () => [g.Key("s")]),
        ["SUNIONSTORE"] = g => [g.Key("s"), .. Repeat(g, 3, () => [g.Key("s")])],
        ["SDIFF"] = g => Repeat(g, 3, () => [g.Key("s")]),
        ["SDIFFSTORE"] = g => [g.Key("s"), .. Repeat(g, 3, () => [g.Key("s")])],
        ["SSCAN"] = g => [g.Key("s"), "0", "COUNT", "100000", .. If(g.Chance(0.3), g.Word("MATCH"), g.Pattern())],

        ["PFADD"] = g => g.Chance(0.05) ? ["short", HllElement(g)]
            : [g.Key("hll"), .. g.Chance(0.1) ? [] : Repeat(g, g.Chance(0.1) ? 400 : 5, () => [HllElement(g)])],
        ["PFCOUNT"] = g => Repeat(g, 3, () => [HllKey(g)]),
        ["PFMERGE"] = g => [g.Key("hll"), .. Repeat(g, 3, () => [HllKey(g)])],
        ["PFDEBUG"] = g => [g.Word(g.Pick("GETREG", "TODENSE", "ENCODING", "DECODE", "DECODE", "NOSUCH")), HllKey(g)],
        ["ZADD"] = g => g.Chance(0.15) ? [LexKey(g), .. Repeat(g, 8, () => ["0", g.Member()])]
        : [g.Key("z"), .. AddOptions(g), .. Repeat(g, g.Chance(0.1) ? 20 : 3, () => [Score(g), g.Member()])],
        ["ZINCRBY"] = g => [g.Key("z"), Score(g), g.Member()],
        ["ZREM"] = g => [g.Key("z"), .. Repeat(g, g.Chance(0.2) ? 30 : 3, () => [g.Member()])],
        ["ZSCORE"] = g => [g.Key("z"), g.Member()],
        ["ZMSCORE"] = g => [g.Key("z"), .. Repeat(g, 4, () => [g.Member()])],
        ["ZCARD"] = g => [g.Key("z")],
        ["ZCOUNT"] = g => [g.Key("z"), ScoreEnd(g), ScoreEnd(g)],
        ["ZLEXCOUNT"] = g => [LexKey(g), LexEnd(g), LexEnd(g)],
        ["ZRANK"] = g => [g.Key("z"), g.Member()],
        ["ZREVRANK"] = g => [g.Key("z"), g.Member()],
        ["ZRANGE"] = g => g.Random.Next(3) switch
        {
            0 => [g.Key("z"), g.Integer(), g.Integer(), .. If(g.Chance(0.3), g.Word("REV")), .. WithScores(g),
                .. If(g.Chance(0.03), g.Word("BYLEX"))],
            1 => [g.Key("z"), ScoreEnd(g), ScoreEnd(g), g.Word("BYSCORE"), .. If(g.Chance(0.4), g.Word("REV")),
                .. RangeLimit(g), .. WithScores(g)],
            _ => [LexKey(g), LexEnd(g), LexEnd(g), g.Word("BYLEX"), .. If(g.Chance(0.4), g.Word("REV")),
                .. RangeLimit(g)],
        },
        ["ZREVRANGE"] = g => [g.Key("z"), g.Integer(), g.Integer(), .. WithScores(g)],
        ["ZRANGEBYSCORE"] = g => [g.Key("z"), ScoreEnd(g), ScoreEnd(g), .. WithScores(g), .. RangeLimit(g)],
        ["ZREVRANGEBYSCORE"] = g => [g.Key("z"), ScoreEnd(g), ScoreEnd(g), .. RangeLimit(g), .. WithScores(g)],
        ["ZRANGEBYLEX"] = g => [LexKey(g), LexEnd(g), LexEnd(g), .. RangeLimit(g)],
        ["ZREVRANGEBYLEX"] = g => [LexKey(g), LexEnd(g), LexEnd(g), .. RangeLimit(g)],
        ["ZRANGESTORE"] = g =>
            g.Chance(0.5) ? [g.Key("z"), g.Key("z"), ScoreEnd(g), ScoreEnd(g), g.Word("BYSCORE"),
                .. If(g.Chance(0.4), g.Word("REV")), .. RangeLimit(g)]
            : [g.Key("z"), g.Key("z"), g.Integer(), g.Integer(), .. If(g.Chance(0.4), g.Word("REV"))],
        ["ZREMRANGEBYRANK"] = g => [g.Key("z"), g.Integer(), g.Integer()],
        ["ZREMRANGEBYSCORE"] = g => [g.Key("z"), ScoreEnd(g), ScoreEnd(g)],
        ["ZREMRANGEBYLEX"] = g => [LexKey(g), LexEnd(g), LexEnd(g)],
        ["ZPOPMIN"] = g => [g.Key("z"), .. If(g.Chance(0.7), Count(g))],
        ["ZPOPMAX"] = g => [g.Key("z"), .. If(g.Chance(0.7), Count(g))],
        ["ZMPOP"] = g => [.. CountedKeys(g), g.Word(g.Pick("MIN", "MAX")),
            .. If(g.Chance(0.5), g.Word("COUNT"), Count(g))],
        ["BZPOPMIN"] = BlockingGenerators.SortedSetPop,
        ["BZPOPMAX"] = BlockingGenerators.SortedSetPop,
        ["BZMPOP"] = BlockingGenerators.BZMPop,
        ["ZRANDMEMBER"] = g => [g.Key("z"), .. If(g.Chance(0.7), Count(g)), .. If(g.Chance(0.3), g.Word("WITHSCORES"))],
        ["ZSCAN"] = g => [g.Key("z"), "0", "COUNT", "100000", .. If(g.Chance(0.3), g.Word("MATCH"), g.Pattern())],
        ["ZUNION"] = g => [.. CountedKeys(g), .. Weights(g), .. WithScores(g)],
        ["ZINTER"] = g => [.. CountedKeys(g), .. Weights(g), .. WithScores(g)],
        ["ZDIFF"] = g => [.. CountedKeys(g), .. WithScores(g)],
        ["ZINTERCARD"] = g => [.. CountedKeys(g), .. If(g.Chance(0.3), g.Word("LIMIT"), g.Integer())],
        ["ZUNIONSTORE"] = g => [g.Key("z"), .. CountedKeys(g), .. Weights(g)],
        ["ZINTERSTORE"] = g => [g.Key("z"), .. CountedKeys(g), .. Weights(g)],
        ["ZDIFFSTORE"] = g => [g.Key("z"), .. CountedKeys(g)],

        ["GEOADD"] = g => [g.Key("g"), .. If(g.Chance(0.1), g.Word("NX")), .. If(g.Chance(0.1), g.Word("XX")),
            .. If(g.Chance(0.2), g.Word("CH")),
            .. Repeat(g, g.Chance(0.1) ? 20 : 3, () => [.. Place(g), Spot(g)])],
        ["GEODIST"] = g => [g.Key("g"), Spot(g), Spot(g), .. If(g.Chance(0.6), Unit(g))],
        ["GEOHASH"] = g => [g.Key("g"), .. Repeat(g, 3, () => [Spot(g)])],
        ["GEOPOS"] = g => [g.Key("g"), .. Repeat(g, 3, () => [Spot(g)])],
        ["GEOSEARCH"] = g => [g.Key("g"), .. SearchArea(g), .. SearchOptions(g)],
        ["GEOSEARCHSTORE"] = g => [g.Key("z"), g.Key("g"), .. SearchArea(g), .. If(g.Chance(0.4), g.Word("STOREDIST")),
            .. If(g.Chance(0.3), g.Word("COUNT"), "3")],
        ["GEORADIUS"] = g => [g.Key("g"), .. Place(g), Distance(g), Unit(g), .. SearchOptions(g),
            .. If(g.Chance(0.1), g.Word(g.Pick("STORE", "STOREDIST")), g.Key("z"))],
        ["GEORADIUS_RO"] = g => [g.Key("g"), .. Place(g), Distance(g), Unit(g), .. SearchOptions(g)],
        ["GEORADIUSBYMEMBER"] = g => [g.Key("g"), Spot(g), Distance(g), Unit(g), .. SearchOptions(g),
            .. If(g.Chance(0.1), g.Word(g.Pick("STORE", "STOREDIST")), g.Key("z"))],
        ["GEORADIUSBYMEMBER_RO"] = g => [g.Key("g"), Spot(g), Distance(g), Unit(g), .. SearchOptions(g)],
        ["XADD"] = StreamGenerators.XAdd,
        ["XTRIM"] = StreamGenerators.XTrim,
        ["XLEN"] = StreamGenerators.XLen,
        ["XRANGE"] = StreamGenerators.XRange,
        ["XREVRANGE"] = StreamGenerators.XRevRange,
        ["XDEL"] = StreamGenerators.XDel,
        ["XSETID"] = StreamGenerators.XSetId,
        ["XREAD"] = StreamGenerators.XRead,
        ["XREADGROUP"] = StreamGenerators.XReadGroup,
        ["XGROUP"] = StreamGenerators.XGroup,
        ["XACK"] = StreamGenerators.XAck,
        ["XPENDING"] = StreamGenerators.XPending,
        ["XCLAIM"] = StreamGenerators.XClaim,
        ["XAUTOCLAIM"] = StreamGenerators.XAutoClaim,
        ["XINFO"] = StreamGenerators.XInfo,
        ["LCS"] = g => [LcsKey(g), LcsKey(g), .. LcsOptions(g)],

        ["DEL"] = g => Repeat(g, 3, () => [g.Key()]),
        ["UNLINK"] = g => Repeat(g, 3, () => [g.Key()]),
        ["EXISTS"] = g => Repeat(g, 4, () => [g.Key()]),
        ["TOUCH"] = g => Repeat(g, 3, () => [g.Key()]),
        ["TYPE"] = g => [g.Key()],
        ["RENAME"] = g => [g.Key(), g.Key()],
        ["RENAMENX"] = g => [g.Key(), g.Key()],
        ["COPY"] = g => [g.Key(), g.Key(), .. If(g.Chance(0.3), g.Word("DB"), g.Database()),
            .. If(g.Chance(0.4), g.Word("REPLACE"))],
        ["MOVE"] = g => [g.Key(), g.Database()],
        ["KEYS"] = g => [g.Pattern()],
        ["RANDOMKEY"] = _ => [],
        ["DBSIZE"] = _ => [],
        ["SELECT"] = g => [g.Database()],
        ["SWAPDB"] = g => [g.Database(), g.Database()],
        ["FLUSHDB"] = g => g.Chance(0.5) ? [] : [g.Word(g.Pick("ASYNC", "SYNC", "BAD"))],
        ["FLUSHALL"] = g => g.Chance(0.5) ? [] : [g.Word(g.Pick("ASYNC", "SYNC", "BAD"))],
        ["SCAN"] = g => [g.Chance(0.95) ? "0" : g.Pick("x", "18446744073709551616", " 0"), "COUNT", "100000",
            .. If(g.Chance(0.3), g.Word("MATCH"), g.Pattern()),
            .. If(g.Chance(0.2), g.Word("TYPE"), g.Pick("string", "hash", "STRING", "stream")),
            .. If(g.Chance(0.1), g.Pick("COUNT", "MATCH", "TYPE", "BAD"))],
        ["OBJECT"] = g => [g.Word(g.Pick("ENCODING", "REFCOUNT", "IDLETIME", "FREQ")), g.Key()],
        ["MEMORY"] = g => ["USAGE", g.Key()],

        ["EXPIRE"] = g => [g.Key(), g.Seconds(), .. ExpireConditions(g)],
        ["PEXPIRE"] = g => [g.Key(), g.Milliseconds(), .. ExpireConditions(g)],
        ["EXPIREAT"] = g => [g.Key(), g.UnixSeconds(), .. ExpireConditions(g)],
        ["PEXPIREAT"] = g => [g.Key(), g.UnixMilliseconds(), .. ExpireConditions(g)],
        ["TTL"] = g => [g.Key()],
        ["PTTL"] = g => [g.Key()],
        ["EXPIRETIME"] = g => [g.Key()],
        ["PEXPIRETIME"] = g => [g.Key()],
        ["PERSIST"] = g => [g.Key()],

        ["PING"] = g => g.Chance(0.5) ? [] : [g.Value()],
        ["ECHO"] = g => [g.Value()],
        ["CLIENT"] = g => g.Pick<object[]>([g.Word("GETNAME")],
            [g.Word("SETNAME"), g.Pick("name", "two words", "", "bell\a", "n")],
            [g.Word("NO-EVICT"), g.Pick("ON", "OFF", "BAD")], [g.Word("GETREDIR")], [g.Word("UNBLOCK"), "99999999"]),
        ["CONFIG"] = g => [g.Word("GET"), g.Pick("maxmemory-policy", "databases", "timeout", "nosuch", "maxclients")],
        ["COMMAND"] = g => [g.Word("GETKEYS"), g.Pick("GET", "MSET", "SET", "DEL", "COPY"), g.Key(), g.Key(), g.Key()],
        ["CLUSTER"] = g => [g.Word(g.Pick("INFO", "NODES", "SLOTS"))],
        ["ROLE"] = _ => [],
        ["MULTI"] = _ => [],
        ["EXEC"] = _ => [],
        ["DISCARD"] = _ => [],
        ["WATCH"] = g => Repeat(g, 3, () => [g.Key()]),
        ["UNWATCH"] = _ => [],
        ["TIME"] = _ => [],
        ["PUBLISH"] = g => [g.Key(), g.Value()],
        ["PUBSUB"] = g => g.Pick<object[]>([g.Word("CHANNELS")], [g.Word("NUMPAT")], [g.Word("NUMSUB"), g.Key()],
            [g.Word("CHANNELS"), g.Pattern()]),
        ["MODULE"] = g => [g.Word("LIST")],
        ["NOSUCH"] = g => Repeat(g, 4, () => [g.Value()]),
        ["UNSUBSCRIBE"] = g => [g.Key()],
        ["PUNSUBSCRIBE"] = g => [g.Key()],
    };

    /// <summary>Commands that are not drawn, and what tests them instead.</summary>
    internal static readonly Dictionary<string, string> NotDrawn = new()
    {
        ["AUTH"] = "each failure from the third on is answered late, up to a second; transcripts",
        ["HELLO"] = "switches the protocol; transcripts and handshakes",
        ["RESET"] = "switches the protocol; transcripts",
        ["QUIT"] = "ends the connection; transcripts",
        ["MIGRATE"] = "needs another server; MigrationTests",
        ["SUBSCRIBE"] = "changes what the connection may do; transcripts",
        ["PSUBSCRIBE"] = "changes what the connection may do; transcripts",
        ["SSUBSCRIBE"] = "changes what the connection may do; transcripts",
        ["SUNSUBSCRIBE"] = "belongs to SSUBSCRIBE",
        ["SPUBLISH"] = "belongs to SSUBSCRIBE",
        ["ASKING"] = "always refused without a cluster; transcripts",
        ["READONLY"] = "always refused without a cluster; transcripts",
        ["READWRITE"] = "always refused without a cluster; transcripts",
        ["INFO"] = "differs in content; transcripts look for the fields",
        ["LOLWUT"] = "differs in content; transcripts",
        ["LASTSAVE"] = "differs in content; transcripts",
        ["BGREWRITEAOF"] = "writes files; AppendOnlyTests",
        ["SAVE"] = "writes a file; SnapshotTests",
        ["BGSAVE"] = "writes a file; BackgroundSnapshotTests",
        ["ACL"] = "UserRuleTests, LiveUserTests and AccessFuzzTests compare users and verdicts",
        ["SLOWLOG"] = "differs in content; transcripts",
        ["LATENCY"] = "differs in content; transcripts",
        ["MONITOR"] = "changes what the connection may do; MonitorTests and transcripts",
        ["FAILOVER"] = "always refused without replicas; transcripts",
        ["PSYNC"] = "refused, where the reference makes a replica of the connection; transcripts",
        ["SYNC"] = "likewise",
        ["REPLCONF"] = "likewise",
        ["REPLICAOF"] = "likewise",
        ["SLAVEOF"] = "likewise",
        ["RESTORE-ASKING"] = "RESTORE by another name; transcripts",
        ["KV.HOTKEYS"] = "our own; HotKeyCommandTests",
        ["KV.BIGKEYS"] = "our own; BigKeyTests",
        ["WAIT"] = "takes its time; transcripts",
        ["WAITAOF"] = "of 7.2, which the reference is not; transcripts",
        ["SHUTDOWN"] = "ends the server; tests of the program",
        ["DEBUG"] = "differs in content; transcripts",
        ["HEXPIRE"] = "of 7.4, which the reference is not; a model and transcripts",
        ["HPEXPIRE"] = "likewise",
        ["HEXPIREAT"] = "likewise",
        ["HPEXPIREAT"] = "likewise",
        ["HTTL"] = "likewise",
        ["HPTTL"] = "likewise",
        ["HEXPIRETIME"] = "likewise",
        ["HPEXPIRETIME"] = "likewise",
        ["HPERSIST"] = "likewise",
        ["EVAL"] = "EvalReferenceTests compares scripts",
        ["EVAL_RO"] = "likewise",
        ["EVALSHA"] = "likewise",
        ["EVALSHA_RO"] = "likewise",
        ["SCRIPT"] = "likewise",
        ["FUNCTION"] = "FunctionReferenceTests compares libraries and calls",
        ["FCALL"] = "likewise",
        ["FCALL_RO"] = "likewise",
        ["PFSELFTEST"] = "has nothing to compare, and takes half a second; transcripts",
    };

    private static string Count(Gen g) =>
        g.Chance(0.8) ? g.Random.Next(-20, 20).ToString() : g.Pick("0", "-9223372036854775808", "x", "", "1.5");

    private static string Spot(Gen g) => "p" + g.Random.Next(30);

    // Mostly near each other; no two the same, as the order of what is equally far is nobody's promise.
    private static object[] Place(Gen g) => g.Chance(0.03) ? [g.Float(), g.Float()] : g.Chance(0.2)
        ? [Degrees(g, -180, 360), Degrees(g, -85, 170)] : [Degrees(g, 10, 10), Degrees(g, 35, 10)];

    private static string Degrees(Gen g, double least, double span) =>
        (least + (g.Random.NextDouble() * span)).ToString("F9", CultureInfo.InvariantCulture);

    private static string Distance(Gen g) =>
        g.Chance(0.95) ? g.Pick("1", "50", "200.5", "1000", "5000", "20000", "1e6") : g.Pick("0", "-1", "x", "inf", "");

    private static string Unit(Gen g) => g.Word(g.Pick("M", "KM", "KM", "FT", "MI", g.Chance(0.1) ? "YD" : "KM"));

    private static object[] SearchArea(Gen g) => [.. g.Chance(0.4)
        ? [g.Word("FROMMEMBER"), Spot(g)] : (object[])[g.Word("FROMLONLAT"), .. Place(g)],
        .. g.Chance(0.5) ? [g.Word("BYRADIUS"), Distance(g), Unit(g)]
        : (object[])[g.Word("BYBOX"), Distance(g), Distance(g), Unit(g)]];

    private static object[] SearchOptions(Gen g) => [.. If(g.Chance(0.6), g.Word(g.Pick("ASC", "DESC"))),
        .. If(g.Chance(0.3), g.Word("WITHDIST")),
        .. If(g.Chance(0.3), g.Word("WITHCOORD")), .. If(g.Chance(0.2), g.Word("WITHHASH")),
        .. If(g.Chance(0.3), g.Word("COUNT"), Count(g)), .. If(g.Chance(0.05), g.Word("ANY"))];

    private static string Score(Gen g) => g.Random.Next(10) < 6 ? g.Random.Next(-10, 10).ToString() : g.Float();

    private static string ScoreEnd(Gen g) => g.Random.Next(10) switch
    {
        < 3 => g.Pick("-inf", "+inf", "inf", "(-inf", "(inf"),
        < 6 => g.Random.Next(-10, 10).ToString(),
        < 8 => "(" + g.Random.Next(-10, 10),
        _ => g.Float(),
    };

    // Keys of their own, all of whose scores are 0: of others Redis does not say what a range of bytes is.
    private static string LexKey(Gen g) => "lex" + g.Random.Next(3);

    private static object LexEnd(Gen g) => g.Random.Next(10) switch
    {
        < 3 => g.Pick("-", "+"),
        9 => g.Pick("", "x", "-x", "[", "("),
        _ => RespText.Bytes(g.Pick("[", "(")).Concat(g.Member()).ToArray(),
    };

    private static object[] AddOptions(Gen g) => [.. If(g.Chance(0.1), g.Word("NX")),
        .. If(g.Chance(0.15), g.Word("XX")), .. If(g.Chance(0.1), g.Word("GT")),
        .. If(g.Chance(0.1), g.Word("LT")), .. If(g.Chance(0.2), g.Word("CH")), .. If(g.Chance(0.1), g.Word("INCR"))];

    private static object[] WithScores(Gen g) => If(g.Chance(0.5), g.Word("WITHSCORES"));

    private static object[] RangeLimit(Gen g) =>
        If(g.Chance(0.4), g.Word("LIMIT"), g.Chance(0.9) ? g.Random.Next(0, 5).ToString() : g.Integer(), g.Integer());

    private static object[] CountedKeys(Gen g)
    {
        int count = g.Random.Next(1, 4);
        return [g.Chance(0.95) ? count.ToString() : g.Integer(),
            .. Enumerable.Range(0, count).Select(_ => (object)(g.Chance(0.1) ? g.Key("s") : g.Key("z")))];
    }

    private static object[] Weights(Gen g) => [
        .. If(g.Chance(0.2), g.Word("AGGREGATE"), g.Word(g.Pick("SUM", "MIN", "MAX", "MAX", "AVG"))),
        .. If(g.Chance(0.2),
            [g.Word("WEIGHTS"), .. Enumerable.Range(0, g.Random.Next(1, 4)).Select(_ => (object)Score(g))])];

    private static object[] If(bool yes, params object[] words) => yes ? words : [];

    /// <summary>One random call: the name, its arguments, now and then with one too few or too many; ahead of it what
    /// it needs.</summary>
    internal static byte[][][] Next(Gen g, string name)
    {
        List<byte[]> words = [.. Gen.Words([g.Word(name), .. All[name](g)])];
        // SPOP without its count takes any member: the servers would go apart.
        if (g.Chance(0.02) && words.Count > 1 && name != "SPOP") words.RemoveAt(g.Random.Next(1, words.Count));
        // 7.2 takes a third argument of ZRANK; behind a time-out another one would be that, and 0 for ever.
        if (g.Chance(0.01) && !name.EndsWith("SUBSCRIBE", StringComparison.Ordinal)
            && name is not ("ZRANK" or "ZREVRANK" or ['B', 'L' or 'R' or 'Z', ..])) words.Add(
            RespText.Bytes(g.Pick("x", "NX", "", "0")));
        return [.. g.TakeAhead(), [.. words]];
    }

    private static object[] Elements(Gen g) => Repeat(g, g.Chance(0.05) ? 60 : 4, () => [g.Value()]);

    // The least integer: an error as in 7.2, where 7.0 overflows.
    private static string Rank(Gen g) =>
        g.Integer() is var rank && rank == "-9223372036854775808" ? "-9223372036854775807" : rank;

    private static object[] LmPop(Gen g)
    {
        int count = g.Random.Next(1, 4);
        object[] keys = [.. Enumerable.Range(0, count).Select(_ => (object)g.Key("l"))];
        return [g.Chance(0.95) ? count.ToString() : g.Integer(), .. keys, g.Word(g.Pick("LEFT", "RIGHT")),
            .. If(g.Chance(0.4), g.Word("COUNT"), g.Integer())];
    }

    private static object[] SetOptions(Gen g)
    {
        var options = new List<object>();
        if (g.Chance(0.2)) options.Add(g.Word(g.Pick("NX", "XX")));
        if (g.Chance(0.2)) options.Add(g.Word("GET"));
        if (g.Chance(0.3)) options.AddRange(ExpiryOptions(g, "KEEPTTL"));
        if (g.Chance(0.03)) options.Add(g.Pick("NX", "KEEPTTL", "BAD", "EX", "PERSIST"));
        if (g.Chance(0.2)) options.Reverse(0, Math.Min(2, options.Count));
        return IsSafe(options) ? [.. options] : [];
    }

    // Reversing may set a number apart from its unit: "7200000 PX" is a syntax error, but "EX" must not get another's.
    private static bool IsSafe(List<object> options) =>
        options.Count(o => o is string s && long.TryParse(s, out _)) <= 1;

    private static object[] ExpiryOptions(Gen g, string other)
    {
        switch (g.Random.Next(7))
        {
            case 0: return [g.Word("EX"), g.Seconds()];
            case 1: return [g.Word("PX"), g.Milliseconds()];
            case 2: return [g.Word("EXAT"), g.UnixSeconds()];
            case 3: return [g.Word("PXAT"), g.UnixMilliseconds()];
            case 4: return [g.Word(other)];
            case 5: return [g.Word(other), g.Word("EX"), g.Seconds()];
            default: return [];
        }
    }

    private static object[] ExpireConditions(Gen g) => g.Random.Next(6) switch
    {
        0 or 1 => [g.Word(g.Pick("NX", "XX", "GT", "LT"))],
        2 => [g.Word(g.Pick("NX", "XX")), g.Word(g.Pick("GT", "LT", "XX", "BAD"))],
        _ => [],
    };

    // Keys of their own with short values: LCS takes time and memory of one length times the other.
    private static string LcsKey(Gen g) => g.Pick("lcs0", "lcs1", "lcs2");

    private static object HllElement(Gen g) => g.Chance(0.1) ? g.Value() : g.Random.Next(5000).ToString();

    private static object HllKey(Gen g) => g.Chance(0.03) ? "short" : g.Key("hll");

    // It lacks the last register. PFADD of several elements that meets its end leaves other bytes in the reference
    // (docs/compatibility.md), so only one at a time is added to it.
    private static byte[] ShortHllValue => [.. "HYLL"u8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFE];

    // Empty, without opcodes, with a known cardinality, of another encoding, dense but too short.
    private static byte[] HllValue(Gen g) =>
    [
        .. "HYLL"u8, g.Pick<byte>(1, 1, 1, 0, 2), 0, 0, 0, g.Pick<byte>(0, 5), 0, 0, 0, 0, 0, 0, g.Pick<byte>(0, 128),
        .. g.Pick<byte[]>([0x7F, 0xFF], [0x7F, 0xFF], [], [0x84, 0x7F, 0xFE], [0x83, 0x7F, 0xFB],
            [0x40, 0, 0x7F, 0xFE]),
    ];

    // Stored is only what is sorted by bytes: of numbers the reference may know none any more (ReplyComparer).
    private static object[] SortOptions(Gen g, bool stores)
    {
        var options = new List<object>();
        stores &= g.Chance(0.4);
        if (stores || g.Chance(0.5)) options.Add(g.Word("ALPHA"));
        if (!stores && g.Chance(0.3))
            options.AddRange([g.Word("BY"), g.Pick("k*", "h*->m1", "nosort", "*", "h*->", "#")]);
        if (g.Chance(0.3)) options.Add(g.Word(g.Pick("ASC", "DESC")));
        if (g.Chance(0.3)) options.AddRange([g.Word("LIMIT"), g.Integer(), g.Integer()]);
        for (int gets = g.Random.Next(4) - 1; gets > 0; gets--)
            options.AddRange([g.Word("GET"), g.Pick("#", "k*", "h*->m1", "*", "none", "k1")]);
        if (stores) options.AddRange([g.Word("STORE"), g.Key("l")]);
        if (g.Chance(0.03)) options.Add(g.Pick("BAD", "LIMIT", "GET", "STORE"));
        return [.. options];
    }

    // What a real server dumped: a string, a list, a hash, two sets, two sorted sets; and what is none.
    private static byte[] Payload(Gen g)
    {
        byte[] content = g.Pick<byte[]>(
            [0, 5, .. "hello"u8], [0, 0xC1, 0x2C, 0x01], [1, 2, 1, (byte)'b', 1, (byte)'a'],
            [4, 1, 1, (byte)'f', 0xC0, 7], [2, 2, 1, (byte)'x', 0xC0, 3],
            [11, 12, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 3, 0], [5, 1, 1, (byte)'m', .. BitConverter.GetBytes(1.5)],
            [17, 13, 13, 0, 0, 0, 2, 0, 0x81, (byte)'m', 2, 2, 1, 0xFF],
            [18, 1, 2, 11, 11, 0, 0, 0, 1, 0, 0x82, (byte)'a', (byte)'b', 3, 0xFF], [1, 0], [99]);
        byte[] versioned = [.. content, 10, 0],
            whole = [.. versioned, .. BitConverter.GetBytes(Crc64.Append(0, versioned))];
        if (g.Chance(0.05)) whole[g.Random.Next(whole.Length)] ^= 1;        // the checksum is wrong then
        return whole;
    }

    private static object[] LcsOptions(Gen g)
    {
        var options = new List<object>();
        if (g.Chance(0.3)) options.Add(g.Word("LEN"));
        if (g.Chance(0.4)) options.Add(g.Word("IDX"));
        if (g.Chance(0.2)) options.AddRange([g.Word("MINMATCHLEN"), g.Integer()]);
        if (g.Chance(0.2)) options.Add(g.Word("WITHMATCHLEN"));
        return [.. options];
    }

    private static string Offset(Gen g) =>
        g.Chance(0.7) ? g.Random.Next(0, 200).ToString() : g.Chance(0.9) ? g.Integer()
        : g.Pick("1048575", "1048576", "1000000", "536870911", "536870912");

    private static string BitOffset(Gen g) =>
        g.Chance(0.9) ? g.Random.Next(0, 700).ToString() : g.Chance(0.8) ? g.Integer()
        : g.Pick("8388607", "8388608", "4294967295", "4294967296");

    private static string BitPlace(Gen g) => g.Chance(0.8) ? g.Random.Next(-70, 70).ToString()
        : g.Pick("0", "-1", "9223372036854775807", "-9223372036854775808", "4294967296", "1000");

    private static object[] BitRange(Gen g) =>
        [BitPlace(g), BitPlace(g), .. g.Chance(0.5) ? [] : new object[] { g.Word(g.Pick("BIT", "BYTE")) }];

    private static object[] BitFieldPart(Gen g) => g.Random.Next(5) switch
    {
        0 => [g.Word("GET"), BitEncoding(g), BitFieldOffset(g)],
        1 => [g.Word("SET"), BitEncoding(g), BitFieldOffset(g), g.Integer()],
        2 or 3 => [g.Word("INCRBY"), BitEncoding(g), BitFieldOffset(g), g.Integer()],
        _ => g.Chance(0.4) ? FailOverflow(g) : [g.Word("OVERFLOW"), g.Word(g.Pick("WRAP", "SAT", "NEVER"))],
    };

    // Behind a SET that succeeds: where all fail, the reference makes the key longer all the same, and tells nobody who
    // watches it (docs/compatibility.md).
    private static object[] FailOverflow(Gen g) => [g.Word("SET"), "u1", "0", "0", g.Word("OVERFLOW"), g.Word("FAIL")];

    private static string BitEncoding(Gen g) => g.Chance(0.9) ? g.Pick("u", "i") + g.Random.Next(1, 64)
        : g.Pick("i64", "i64", "u64", "i65", "u0", "i0", "x8", "u", "");

    private static string BitFieldOffset(Gen g) =>
        g.Chance(0.4) ? "#" + g.Random.Next(0, 12) : g.Chance(0.95) ? g.Random.Next(0, 500).ToString()
        : g.Pick("#-1", "#x", "-1", "8388607", "8388608", "#9223372036854775807");

    private static object[] Repeat(Gen g, int most, Func<object[]> draw)
    {
        var all = new List<object>();
        for (int i = g.Random.Next(1, most + 1); i > 0; i--) all.AddRange(draw());
        return [.. all];
    }
}
