using System.Security.Cryptography;
using System.Text;

namespace RespBenchmark.Workload;

/// <summary>All operations of Garnet's benchmark; the native grammar knows them by the same names.</summary>
internal static class GarnetOps
{
    private const int PfMergeShare = 1000, PfMergeFew = 256;
    private const string SetScript = "return redis.call('set', KEYS[1], ARGV[1])";
    private const string GetScript = "return redis.call('get', KEYS[1])";
    private const string KeyScript = "return KEYS[1]";

    /// <summary>Of throughput mode, in the order of the documentation.</summary>
    public static readonly IReadOnlyList<GarnetOp> All =
    [
        new("GET", o => [Unit.Of(Value("GET", o), "GET", o.Keys.Key())]),
        new("SET", o => [Set(o)]),
        new("SETEX", o => [SetEx(o)]) { Load = LoadKind.None, NeedsTtl = true },
        new("DEL", o => [Unit.Of(Number("DEL"), "DEL", o.Keys.Key())]),
        new("INCR", o => [Unit.Of(Number("INCR"), "INCR", o.Keys.Key())]) { Load = LoadKind.Digits },
        new("MGET", o => [MGet(o)]) { TakesBatch = true },
        new("MSET", o => [MSet(o)]) { TakesBatch = true },
        new("PING", _ => [InlinePing()]) { Load = LoadKind.None },
        new("DBSIZE", _ => [Unit.Of(Number("DBSIZE"), "DBSIZE")]),
        new("ZADD", o => [Unit.Of(Number("ZADD"), "ZADD", o.Keys.Key(), o.Keys.Number(), o.Keys.Number())])
            { Load = LoadKind.None },
        new("ZREM", o => [Unit.Of(Number("ZREM"), "ZREM", o.Keys.Key(), o.Keys.Number())]) { Load = LoadKind.None },
        new("ZADDREM", ZAddRem) { Load = LoadKind.None, IsHalves = true },
        new("ZCARD", o => [ZCard(o)]) { Load = LoadKind.None },
        new("ZADDCARD", o =>
            [Unit.Of(Number("ZADD"), "ZADD", o.Keys.Key(), o.Keys.Number(), o.Keys.Number()), ZCard(o)])
            { Load = LoadKind.None, IsHalves = true },
        new("GEOADD", o =>
            [Unit.Of(Number("GEOADD"), "GEOADD", o.Keys.Key(), Longitude(), Latitude(), o.Keys.Number())])
            { Load = LoadKind.None },
        new("GEOADDREM", GeoAddRem) { Load = LoadKind.None, IsHalves = true },
        new("PFADD", o => [PfAdd(o, 1)]) { Load = LoadKind.HyperLogLogs },
        new("MPFADD", o => [PfAdd(o, o.Batch)]) { Load = LoadKind.HyperLogLogs, TakesBatch = true },
        new("PFCOUNT", o => [Unit.Of(Number("PFCOUNT"), "PFCOUNT", o.Keys.Key())])
            { Load = LoadKind.HyperLogLogs, NeedsLoad = true },
        new("PFMERGE", o => [PfMerge(o)]) { Load = LoadKind.HyperLogLogs, NeedsLoad = true },
        new("SETBIT", o => [Unit.Of(Number("SETBIT"), "SETBIT", o.Keys.Key(), BitOffset(o), Bit())]),
        new("GETBIT", o => [Unit.Of(Number("GETBIT"), "GETBIT", o.Keys.Key(), BitOffset(o))]),
        new("BITCOUNT", o => [Unit.Of(Number("BITCOUNT"), "BITCOUNT", o.Keys.Key())]),
        new("BITPOS", o => [Unit.Of(Number("BITPOS"), "BITPOS", o.Keys.Key(), Bit())]),
        new("BITOP_AND", o => [BitOp(o, "AND")]),
        new("BITOP_OR", o => [BitOp(o, "OR")]),
        new("BITOP_XOR", o => [BitOp(o, "XOR")]),
        new("BITOP_NOT", o => [Unit.Of(Number("BITOP_NOT"), "BITOP", "NOT", o.Keys.Key(), o.Keys.OtherKey())]),
        new("BITFIELD", o => [BitField("BITFIELD", o, "SET", "INCRBY", "GET")]),
        new("BITFIELD_GET", o => [BitField("BITFIELD_GET", o, "GET")]),
        new("BITFIELD_SET", o => [BitField("BITFIELD_SET", o, "SET")]),
        new("BITFIELD_INCR", o => [BitField("BITFIELD_INCR", o, "INCRBY")]),
        new("PUBLISH", o => [Publish("PUBLISH", o)]) { Load = LoadKind.None },
        new("SPUBLISH", o => [Publish("SPUBLISH", o)]) { Load = LoadKind.None },
        new("SCRIPTSET", ScriptSet) { Script = SetScript },
        new("SCRIPTGET", o => [Script(Value("SCRIPTGET", o), GetScript, o.Keys.Key())]) { Script = GetScript },
        new("SCRIPTRETKEY", o => [Script(new CommandKind("SCRIPTRETKEY", ReplyRule.Bulk), KeyScript, o.Keys.Key())])
            { Script = KeyScript },
        new("SETIFPM", SetIfPrefix) { IsExtension = true },
        new("MYDICTSET", MyDictSet) { IsExtension = true },
        new("MYDICTGET", MyDictGet) { IsExtension = true },
    ];

    /// <summary>Those of online mode.</summary>
    public static readonly IReadOnlyList<string> Online =
        ["PING", "GET", "SET", "SETEX", "DEL", "SETBIT", "GETBIT", "PUBLISH", "SPUBLISH", "ZADD", "ZREM", "ZCARD"];

    /// <summary>The operation of a name, written in any case; null: there is none.</summary>
    public static GarnetOp? Find(string name) =>
        All.FirstOrDefault(op => op.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    /// <summary>The operation at the batch of its settings.</summary>
    public static ShapedWorkload Throughput(GarnetOp op, OpSettings settings) =>
        new(op.Units(settings), op.IsHalves ? seat => new HalvesSchedule(CycleOf(settings)) : null)
        {
            ScriptsToLoad = op.Script is null ? [] : [op.Script],
            Verifier = op.Name == "GET" ? settings.Value.Verifier : null,
        };

    /// <summary>A mix of online operations, each as often as its percentage says in every 100 of a session.</summary>
    /// <param name="mix">Names of <see cref="Online"/>.</param>
    public static ShapedWorkload OnlineMix(IReadOnlyList<(GarnetOp Op, int Percent)> mix, OpSettings settings) =>
        ShapedWorkload.Mix([.. mix.Select(part => (OnlineUnit(part.Op, settings), part.Percent))]);

    /// <summary>The op as a part of a mix, where halves of a batch have no meaning: its first unit.</summary>
    public static Unit MixUnit(GarnetOp op, OpSettings settings) => op.Units(settings)[0];

    public static string ShaOf(string script) =>
        Convert.ToHexStringLower(SHA1.HashData(Encoding.UTF8.GetBytes(script)));

    private static Unit OnlineUnit(GarnetOp op, OpSettings settings) => op.Name switch
    {
        "ZADD" => SortedSetAdd(settings),
        "ZREM" => Unit.Of(Number("ZREM"), "ZREM", SortedSetKey(settings), settings.Keys.Key()),
        "ZCARD" => Unit.Of(Number("ZCARD"), "ZCARD", SortedSetKey(settings)),
        "SPUBLISH" or "PUBLISH" => Publish(op.Name, settings),
        _ => op.Units(settings)[0],
    };

    /// <summary>The set of a member's number: that modulo the sets; the key and the member are drawn apart, which gives
    /// the same shares.</summary>
    private static Argument SortedSetKey(OpSettings o) => o.SortedSets <= 0
        ? "sskey"
        : new Argument(["sskey", new NumberField(Distribution.Uniform, o.SortedSets)]);

    private static Unit SortedSetAdd(OpSettings o)
    {
        Argument set = SortedSetKey(o);
        Command add = Command.Of(Number("ZADD"), "ZADD", set, "1.0", o.Keys.Key());
        if (o.Ttl is null) return Unit.Of(add);
        // The operation is both commands; it counts once.
        CommandKind expire = Number("EXPIRE") with { Ops = 0 };
        return new Unit([add, Command.Of(expire, "EXPIRE", set.Again(), o.Seconds())]);
    }

    private static int CycleOf(OpSettings o) => o.Batch == 1 ? 2 : o.Batch;

    private static CommandKind Number(string name) => new(name, ReplyRule.Integer, ReplyBytes: 8);

    private static CommandKind Done(string name) => new(name, ReplyRule.Status, ReplyBytes: 8);

    private static CommandKind Value(string name, OpSettings o) =>
        new(name, ReplyRule.Bulk | ReplyRule.Nil, ReplyBytes: o.ValueReplyBytes);

    private static Unit InlinePing() => Unit.Of(new Command(Done("PING"), []) { Raw = "PING\r\n"u8.ToArray() });

    private static Unit Set(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return Unit.Of(Done("SET"), "SET", key, o.ValueFor(key));
    }

    private static Unit SetEx(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return Unit.Of(Done("SETEX"), "SETEX", key, o.Seconds(), o.ValueFor(key));
    }

    private static Unit MGet(OpSettings o)
    {
        var kind = new CommandKind("MGET", ReplyRule.Array, o.Batch,
            (int)Math.Min(int.MaxValue, (long)o.Batch * o.ValueReplyBytes));
        return Unit.Of(new Command(kind, [new Repeated(["MGET"]), new Repeated([o.Keys.OtherKey()], o.Batch)]));
    }

    private static Unit MSet(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return Unit.Of(new Command(Done("MSET") with { Ops = o.Batch },
            [new Repeated(["MSET"]), new Repeated([key, o.ValueFor(key)], o.Batch)]));
    }

    private static Unit PfAdd(OpSettings o, int elements)
    {
        Argument key = o.Keys.Key();
        string name = elements > 1 ? "MPFADD" : "PFADD";
        if (elements == 1) return Unit.Of(Number(name), "PFADD", key, o.ValueFor(key));
        return Unit.Of(new Command(Number(name) with { Ops = elements },
            [new Repeated(["PFADD", key]), new Repeated([o.ValueFor(key)], elements)]));
    }

    /// <summary>Keys that PFMERGE merges into.</summary>
    public static long MergeKeys(long keys) => keys >= PfMergeShare ? keys / PfMergeShare : PfMergeFew;

    private static Unit PfMerge(OpSettings o)
    {
        KeySpace into = o.Keys with { Count = MergeKeys(o.Keys.Count), Distribution = Distribution.Uniform };
        return Unit.Of(Done("PFMERGE"), "PFMERGE", into.OtherKey(), o.Keys.Key());
    }

    private static Unit BitOp(OpSettings o, string how) => Unit.Of(Number("BITOP_" + how),
        "BITOP", how, o.Keys.Key(), o.Keys.OtherKey(), o.Keys.OtherKey());

    private static Field Bit() => new NumberField(Distribution.Uniform, 2);

    private static Field BitOffset(OpSettings o) => new NumberField(Distribution.Uniform, o.Bits);

    /// <summary>Each part on the same bits of the key, 1 to 63 of them.</summary>
    private static Unit BitField(string name, OpSettings o, params string[] parts)
    {
        var width = new Argument(["i", new NumberField(Distribution.Uniform, 63, from: 1)]);
        Argument offset = BitOffset(o);
        List<Argument> arguments = ["BITFIELD", o.Keys.Key()];
        for (int part = 0; part < parts.Length; part++)
        {
            arguments.AddRange([parts[part], part == 0 ? width : width.Again(), part == 0 ? offset : offset.Again()]);
            if (parts[part] != "GET") arguments.Add(o.Keys.Number());
        }

        return Unit.Of(new CommandKind(name, ReplyRule.Array, ReplyBytes: 4 + (24 * parts.Length)), [.. arguments]);
    }

    private static Unit ZCard(OpSettings o) => Unit.Of(Number("ZCARD"), "ZCARD", o.Keys.Key());

    private static Unit[] ZAddRem(OpSettings o)
    {
        (KeySpace keys, Func<Field> member) = Paired(o);
        return
        [
            Unit.Of(Number("ZADD"), "ZADD", keys.Key(), o.Keys.Number(), member()),
            Unit.Of(Number("ZREM"), "ZREM", keys.Key(), member()),
        ];
    }

    private static Unit[] GeoAddRem(OpSettings o)
    {
        (KeySpace keys, Func<Field> member) = Paired(o);
        return
        [
            Unit.Of(Number("GEOADD"), "GEOADD", keys.Key(), Longitude(), Latitude(), member()),
            Unit.Of(Number("ZREM"), "ZREM", keys.Key(), member()),
        ];
    }

    /// <summary>Keys and members that the second half of a batch draws like the first.</summary>
    private static (KeySpace Keys, Func<Field> Member) Paired(OpSettings o)
    {
        var member = new Distribution.Paired(Distribution.Uniform, CycleOf(o), Lane: 2);
        return (o.Keys with { Distribution = new Distribution.Paired(o.Keys.Distribution, CycleOf(o), Lane: 1) },
            () => new NumberField(member, o.Keys.Count));
    }

    private static DecimalField Longitude() => new(-180, 180);

    private static DecimalField Latitude() => new(-85, 85);        // what a geohash of Redis reaches: 85.05112878

    private static Unit Publish(string name, OpSettings o)
    {
        Argument channel = o.Keys.OtherKey();
        return Unit.Of(Number(name), name, channel, o.ValueFor(channel));
    }

    private static Unit Script(CommandKind kind, string script, Argument key, params Argument[] arguments) =>
        Unit.Of(kind, ["EVALSHA", ShaOf(script), "1", key, .. arguments]);

    private static Unit[] ScriptSet(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return [Script(Done("SCRIPTSET"), SetScript, key, o.ValueFor(key))];
    }

    private static Unit[] SetIfPrefix(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return [Unit.Of(Done("SETIFPM"), "SETIFPM", key, o.ValueFor(key), o.Value.Slice(1))];
    }

    private static Unit[] MyDictSet(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return [Unit.Of(Done("MYDICTSET"), "MYDICTSET", key, key.Again(), o.ValueFor(key))];
    }

    private static Unit[] MyDictGet(OpSettings o)
    {
        Argument key = o.Keys.Key();
        return [Unit.Of(Value("MYDICTGET", o), "MYDICTGET", key, key.Again())];
    }
}
