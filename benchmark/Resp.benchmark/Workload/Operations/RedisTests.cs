namespace RespBenchmark.Workload;

/// <summary>The tests of redis-benchmark in the order they run, and commands of the user's own.</summary>
internal static class RedisTests
{
    /// <summary>What a random number takes the place of.</summary>
    public const string RandomToken = "__rand_int__";

    /// <summary>What the value takes the place of.</summary>
    public const string DataToken = "__data__";

    private const string Key = "key:" + RandomToken, Element = "element:" + RandomToken, Member = "__score__";

    /// <summary>Of releases 6 to 7.</summary>
    public static readonly IReadOnlyList<RedisTest> All =
    [
        new(["ping_inline", "ping"], "PING_INLINE", ReplyRule.Status, ["PING\r\n"]) { IsRaw = true },
        new(["ping_mbulk", "ping"], "PING_MBULK", ReplyRule.Status, ["PING"]),
        new(["set"], "SET", ReplyRule.Status, ["SET", Key, DataToken]),
        new(["get"], "GET", ReplyRule.Bulk | ReplyRule.Nil, ["GET", Key]),
        new(["incr"], "INCR", ReplyRule.Integer, ["INCR", "counter:" + RandomToken]),
        new(["lpush"], "LPUSH", ReplyRule.Integer, ["LPUSH", "mylist", DataToken]),
        new(["rpush"], "RPUSH", ReplyRule.Integer, ["RPUSH", "mylist", DataToken]),
        new(["lpop"], "LPOP", ReplyRule.Bulk | ReplyRule.Nil, ["LPOP", "mylist"]),
        new(["rpop"], "RPOP", ReplyRule.Bulk | ReplyRule.Nil, ["RPOP", "mylist"]),
        new(["sadd"], "SADD", ReplyRule.Integer, ["SADD", "myset", Element]),
        new(["hset"], "HSET", ReplyRule.Integer, ["HSET", "myhash", Element, DataToken]),
        new(["spop"], "SPOP", ReplyRule.Bulk | ReplyRule.Nil, ["SPOP", "myset"]),
        new(["zadd"], "ZADD", ReplyRule.Integer, ["ZADD", "myzset", Member, Element]),
        new(["zpopmin"], "ZPOPMIN", ReplyRule.Array, ["ZPOPMIN", "myzset"]),
        Filling("LRANGE"),
        Range("lrange_100", 100, 99),
        Range("lrange_300", 300, 299),
        Range("lrange_500", 500, 499),
        Range("lrange_600", 600, 599),
        TenKeys(),
        new(["xadd"], "XADD", ReplyRule.Bulk, ["XADD", "mystream", "*", "myfield", DataToken]) { IsDefault = false },
    ];

    /// <summary>Of release 3: fewer tests, other titles.</summary>
    public static readonly IReadOnlyList<RedisTest> Legacy =
    [
        Of("ping_inline"), Of("ping_mbulk") with { Title = "PING_BULK" },
        Of("set"), Of("get"), Of("incr"), Of("lpush"), Of("lpop"), Of("sadd"), Of("spop"),
        Filling("LRANGE"),
        Range("lrange_100", 100, 99),
        Range("lrange_300", 300, 299),
        Range("lrange_500", 450, 449),
        Range("lrange_600", 600, 599),
        TenKeys(),
    ];

    /// <summary>The test of a name among all: the one that is called so; of those that only answer to it, the
    /// first.</summary>
    public static RedisTest? Find(string name) =>
        All.FirstOrDefault(test => test.Title.Split(' ')[0].Equals(name, StringComparison.OrdinalIgnoreCase)
            && !test.Title.Contains("needed to", StringComparison.Ordinal))
        ?? All.FirstOrDefault(test => test.IsNamed(name));

    /// <param name="dataBytes">Of the value.</param>
    /// <param name="keySpace">Random numbers are below it; 0: the tokens are sent as they are.</param>
    public static ShapedWorkload For(RedisTest test, int dataBytes, long keySpace, Distribution? distribution = null)
    {
        if (test.IsRaw)
            return new ShapedWorkload(
                [Unit.Of(new Command(KindOf(test, dataBytes), []) { Raw = "PING\r\n"u8.ToArray() })]);
        byte[] data = Data(dataBytes);
        string score = keySpace > 0 ? RandomToken : "0";
        Argument[] arguments = [.. test.Words.Select(word => word switch
        {
            DataToken => new Argument([data]),
            Member => Arguments(score, keySpace, distribution),
            _ => Arguments(word, keySpace, distribution),
        })];
        return new ShapedWorkload([Unit.Of(KindOf(test, dataBytes), arguments)]);
    }

    /// <summary>A command of the user's own; every token in it is a number of its own.</summary>
    /// <param name="last">One more argument, as it is (-x); null: none.</param>
    public static ShapedWorkload Custom(IReadOnlyList<string> words, long keySpace = 0,
        Distribution? distribution = null,
        byte[]? last = null)
    {
        List<Argument> arguments = [.. words.Select(word => Arguments(word, keySpace, distribution))];
        if (last is not null) arguments.Add(new Argument([last]));
        string name = words.Count > 0 ? words[0] : "";
        return new ShapedWorkload(
            [Unit.Of(new CommandKind(name.ToUpperInvariant(), ReplyRules.Of(name)), [.. arguments])]);
    }

    /// <summary>The value, constant for a run: letters '0' to 'o' of a generator of 32 bits.</summary>
    public static byte[] Data(int bytes)
    {
        var data = new byte[bytes];
        uint state = 1234;
        foreach (ref byte letter in data.AsSpan())
        {
            state = unchecked((state * 1103515245) + 12345);
            letter = (byte)('0' + ((state >> 16) & 63));
        }

        return data;
    }

    private static Argument Arguments(string word, long keySpace, Distribution? distribution)
    {
        if (keySpace <= 0) return word;
        var parts = new List<Part>();
        string[] between = word.Split(RandomToken);
        for (int index = 0; index < between.Length; index++)
        {
            if (index > 0)
                parts.AddRange(new KeyFormat("", 12)
                    .Argument(distribution ?? Distribution.Uniform, keySpace, index == 1).Parts);
            if (between[index].Length > 0) parts.Add(between[index]);
        }

        return new Argument(parts);
    }

    private static CommandKind KindOf(RedisTest test, int dataBytes) => new(test.Words[0].TrimEnd(), test.Reply,
        ReplyBytes: (int)Math.Min(int.MaxValue, 16 + ((long)Math.Max(1, test.Elements) * (dataBytes + 8))));

    private static RedisTest Of(string name) => All!.First(test => test.IsNamed(name));

    private static RedisTest Filling(string what) =>
        new([what.ToLowerInvariant(), "lrange_100", "lrange_300", "lrange_500", "lrange_600"],
            $"LPUSH (needed to benchmark {what})", ReplyRule.Integer, ["LPUSH", "mylist", DataToken]);

    private static RedisTest Range(string name, int elements, int last) =>
        new(["lrange", name], $"{name.ToUpperInvariant()} (first {elements} elements)", ReplyRule.Array,
            ["LRANGE", "mylist", "0", $"{last}"]) { Elements = elements };

    private static RedisTest TenKeys() => new(["mset"], "MSET (10 keys)", ReplyRule.Status,
        ["MSET", .. Enumerable.Repeat<string[]>([Key, DataToken], 10).SelectMany(pair => pair)]);
}
