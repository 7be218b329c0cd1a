using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>Draws commands as files have them: few keys, so that they meet, times that have passed as well as such that
/// have not, and values that look like options.</summary>
internal sealed class ReplayedCommands(Random random)
{
    private const int Keys = 14, Databases = 3;

    private const long Past = 1_700_000_000_000, Ahead = 4_000_000_000_000;

    private static readonly string[] Words =
    [
        "px", "ex", "PX", "EX", "pxat", "EXAT", "fields", "FIELDS", "get", "nx", "xx", "keepttl", "persist", "", "1",
        "-5", "3.5", "1e3", "abc", "store", "db", "replace", "weights", "limit", "absttl", "*", "~", "(1", "[a", "+",
        "-", "inf", "0x10", " 1", "\0\xff", new('x', 70), new('y', 5000),
    ];

    /// <summary>DUMP of the string "px".</summary>
    private const string Dumped = "\0\x02px\n\0\x1c\x45\x39\x8f\xea\xdd\xda\x75";

    private Func<object[]>[]? _rows;

    /// <summary>Some commands, among them whole transactions and changes of the database.</summary>
    public byte[][][] Draw(int count)
    {
        var drawn = new List<byte[][]> { Bytes(["SELECT", 0]) };
        while (drawn.Count < count)
        {
            double which = random.NextDouble();
            if (which < 0.02) drawn.Add(Bytes(["SELECT", random.Next(Databases)]));
            else if (which < 0.05)
            {
                drawn.Add(Bytes(["MULTI"]));
                for (int i = random.Next(1, 5); i > 0; i--) drawn.Add(One());
                drawn.Add(Bytes(["EXEC"]));
            }
            else drawn.Add(One());
        }

        return [.. drawn];
    }

    private byte[][] One()
    {
        _rows ??= [.. Times(), .. Strings(), .. KeyCommands(), .. Lists(), .. Sets(), .. SortedSets(), .. Others()];
        return Bytes(_rows[random.Next(_rows.Length)]());
    }

    private Func<object[]>[] Times() =>
    [
        () => ["SET", Key(), Word(), "PXAT", Time()],
        () => ["SET", Key(), Word(), "EXAT", Time() / 1000],
        () => ["SET", Key(), Word(), "KEEPTTL"],
        () => ["SET", Key(), Word(), Pick("NX", "XX"), "PXAT", Time()],
        () => ["GETEX", Key(), "PXAT", Time()],
        () => ["GETEX", Key(), "PERSIST"],
        () => ["PEXPIREAT", Key(), Time()],
        () => ["PEXPIREAT", Key(), Time(), Pick("NX", "XX", "GT", "LT")],
        () => ["PERSIST", Key()],
        () => ["PERSIST", Key()],
        () => ["PERSIST", Key()],
        () => ["RESTORE", Key(), Time(), Dumped, "ABSTTL", "REPLACE"],
    ];

    private Func<object[]>[] Strings() =>
    [
        () => ["SET", Key(), Word()],
        () => ["APPEND", Key(), Word()],
        () => ["SETRANGE", Key(), random.Next(200), Word()],
        () => ["INCRBY", Key(), random.Next(-9, 9)],
        () => ["BITOP", Pick("AND", "OR", "XOR"), Key(), Key(), Key()],
        () => ["BITOP", "NOT", Key(), Key()],
        () => ["BITFIELD", Key(), "SET", "u8", random.Next(100), random.Next(255)],
        () => ["MSET", Key(), Word(), Key(), Word()],
        () => ["MSETNX", Key(), Word(), Key(), Word()],
        () => ["SETNX", Key(), Word()],
        () => ["GETSET", Key(), Word()],
        () => ["PFADD", Key(), Word(), Word()],
        () => ["PFMERGE", Key(), Key(), Key()],
    ];

    private Func<object[]>[] KeyCommands() =>
    [
        () => ["COPY", Key(), Key()],
        () => ["COPY", Key(), Key(), "DB", random.Next(Databases), "REPLACE"],
        () => ["RENAME", Key(), Key()],
        () => ["RENAMENX", Key(), Key()],
        () => ["MOVE", Key(), random.Next(Databases)],
        () => random.Next(5) == 0 ? ["SWAPDB", random.Next(Databases), random.Next(Databases)] : ["DEL", Key()],
        () => ["UNLINK", Key(), Key()],
        () => ["SORT", Key(), "ALPHA", "STORE", Key()],
    ];

    private Func<object[]>[] Lists() =>
    [
        () => [Pick("LPUSH", "RPUSH"), Key(), Member(), Member(), Member()],
        () => [Pick("LPUSH", "RPUSH"), Key(), Member(), Member(), Member()],
        () => ["LMOVE", Key(), Key(), Pick("LEFT", "RIGHT"), Pick("LEFT", "RIGHT")],
        () => ["LINSERT", Key(), Pick("BEFORE", "AFTER"), Member(), Member()],
        () => ["LTRIM", Key(), 0, random.Next(5)],
        () => ["LREM", Key(), random.Next(-2, 3), Member()],
    ];

    private Func<object[]>[] Sets() =>
    [
        () => ["SADD", Key(), Member(), Member(), Member()],
        () => ["SADD", Key(), random.Next(40), random.Next(40), random.Next(40)],
        () => ["SMOVE", Key(), Key(), Member()],
        () => [Pick("SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"), Key(), Key(), Key()],
        () => ["SREM", Key(), Member(), Member()],
    ];

    private Func<object[]>[] SortedSets() =>
    [
        () => ["ZADD", Key(), Score(), Member(), Score(), Member()],
        () => ["ZADD", Key(), Score(), Member(), Score(), Member()],
        () => ["ZADD", Key(), Pick("NX", "XX", "GT", "LT"), "CH", Score(), Member()],
        () => ["ZUNIONSTORE", Key(), 2, Key(), Key(), "WEIGHTS", 2, "3.5"],
        () => ["ZINTERSTORE", Key(), 2, Key(), Key(), "AGGREGATE", "MAX"],
        () => ["ZRANGESTORE", Key(), Key(), 0, -1],
        () => ["ZINCRBY", Key(), "1.5", Member()],
        () => ["ZREMRANGEBYRANK", Key(), 0, 1],
        () => ["GEOADD", Key(), random.Next(-170, 170), random.Next(-80, 80), Member()],
        () => ["GEOSEARCHSTORE", Key(), Key(), "FROMLONLAT", 0, 0, "BYRADIUS", 9000, "km"],
    ];

    private Func<object[]>[] Others() =>
    [
        () => ["HSET", Key(), Member(), Word(), Member(), Word()],
        () => ["HSET", Key(), Member(), Word(), Member(), Word()],
        () => ["HINCRBY", Key(), Member(), 3],
        () => ["HDEL", Key(), Member()],
        () => ["XADD", Key(), $"{random.Next(1, 1_000_000)}-{random.Next(9)}", Member(), Word()],
        () => ["XTRIM", Key(), "MAXLEN", random.Next(4)],
        () => ["XGROUP", "CREATE", Key(), "g", 0, "MKSTREAM"],
    ];

    private string Key() => $"k{random.Next(Keys)}";

    private string Word() => Words[random.Next(Words.Length)];

    private string Member() => random.Next(10) == 0 ? Pick("a", "b", "c", "d") : Word();

    private string Score() => Pick("1", "2.5", "-inf", "inf", "1e10", "0", "-3");

    private long Time() => (random.NextDouble() < 0.6 ? Past : Ahead) + random.Next(1_000_000);

    private string Pick(params string[] choices) => choices[random.Next(choices.Length)];

    private static byte[][] Bytes(object[] words) =>
        [.. words.Select(word => RespText.Bytes(Convert.ToString(word, CultureInfo.InvariantCulture)!))];
}
