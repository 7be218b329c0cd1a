namespace RespBenchmark.Suites;

/// <summary>All suites, a row each, sizes as published.</summary>
internal static class SuiteTable
{
    private const int Mebibyte = 1 << 20;
    private const long LargeKeys = 256_000_000;
    private const string Inferred = "its 64 sessions are inferred: the document does not say";
    private const string TwoWays = "published with io-threads 32 on the Redis side; a second target with io-threads of "
        + "half the cores is the fair one: "
        + "--target published=... --target fair=...";

    internal static readonly int[] ToAHundredAndTwentyEight = [1, 2, 4, 8, 16, 32, 64, 128];
    private static readonly int[] Batches = [1, 4, 16, 64, 256, 1024, 4096], ShortBatches = [1, 4, 16, 64, 256];
    private static readonly int[] TairSessions = [32, 64, 128, 192, 256];

    // Kept in the order of publication, and each suite of panels below before those that gather them.
    private static readonly Suite[] Single =
    [
        new("m2-get", "000", "GET of 128 B, sessions 1 to 128", [Garnet("GET", 16_777_216, 128)]) { Notes = [TwoWays] },
        new("m2-set", "000", "SET of 128 B, sessions 1 to 128", [Garnet("SET", 16_777_216, 128)]) { Notes = [TwoWays] },
        new("m2-lat", "000", "latency of 80 % GET, 20 % SET, sessions 1 to 128",
            [Online(80, 128, ToAHundredAndTwentyEight, [1])]) {
                Notes = [TwoWays, "as printed, the original ran its first session count only"] },
        new("m2-lat-high", "000", "the same with 64 and 128 sessions",
            [Online(80, 128, [64, 128], [1])]) { Notes = [TwoWays] },
        new("m2-lat-write", "000", "latency of 20 % GET, 80 % SET with 64 sessions",
            [Online(20, 128, [64], [1])]) { Notes = [TwoWays] },
        new("rudis-table", "001",
            "redis-benchmark -t set,get,rpush,lpop,lrange,hset -n 1000000 -r 100000 -c 1000 --threads 4", Rudis()),
        new("garnet-fig1", "002", "GET in batches of 4096, sessions 1 to 128, small and large database",
            BothDatabases(keys => Garnet("GET", keys, 8) with { Depths = [4096] })),
        new("garnet-fig2", "002", "GET, batch 1 to 4096, small and large database",
            BothDatabases(keys => Garnet("GET", keys, 8) with { Sessions = [64], Depths = Batches })) {
                Notes = [Inferred] },
        new("garnet-fig3", "002", "latency of 80 % GET, 20 % SET, sessions 1 to 128",
            [Online(80, 8, ToAHundredAndTwentyEight, [1])])
            { Notes = ["its values of 8 B are inferred"] },
        new("garnet-fig4", "002", "latency of the same with 1 to 64 operations outstanding in each of 128 sessions",
            [Online(80, 8, [128], [1, 4, 16, 64])])
            { Notes = ["its values of 8 B are inferred"] },
        new("garnet-fig5", "002", "PFADD in batches of 4096 to 1024 keys: sessions 1 to 128, elements of 8 B to 1 KiB",
            Sketches(1024)) { Notes = [Inferred] },
        new("garnet-fig6", "002", "the same to 1,048,576 keys", Sketches(1_048_576)) { Notes = [Inferred] },
        new("garnet-fig7", "002", "PFADD of 128 B, batch 1 to 256, 64 sessions",
            [.. ((long[])[1024, 1_048_576])
                .Select(keys => Sketch(keys, 128) with { Sessions = [64], Depths = ShortBatches })]),
        new("garnet-fig8", "002", "GETBIT and SETBIT, sessions 1 to 128", [Bits("GETBIT"), Bits("SETBIT")]),
        new("garnet-fig9", "002", "BITOP NOT and AND, sessions 1 to 128", [Bits("BITOP_NOT"), Bits("BITOP_AND")]),
        new("garnet-fig10", "002", "GETBIT and SETBIT, batch 1 to 256, 64 sessions",
            [BitBatches("GETBIT"), BitBatches("SETBIT")]),
        new("garnet-fig11", "002", "BITOP NOT and AND, batch 1 to 256, 64 sessions",
            [BitBatches("BITOP_NOT"), BitBatches("BITOP_AND")]),
        new("ryzen-default", "003", "redis-benchmark without options",
            [.. Workload.RedisTests.Legacy.Select(
                test => Plain(test.Elements > 0 ? test.Names[^1] : test.Names[0], 3) with
            {
                Title = test.Title, KeepsData = !test.IsNamed("ping_inline"),
            })]),
        new("ryzen-set-8k", "003", "redis-benchmark -t set -n 100000 -d 8192",
            [Plain("set", 8192) with { KeepsData = false }]),
        new("ryzen-set-16k", "003", "redis-benchmark -t set -n 100000 -d 16384",
            [Plain("set", 16384) with { KeepsData = false }]),
        new("ryzen-get-2b", "003", "redis-benchmark -t get -d 2",
            [Plain("get", 2) with { KeepsData = false, SkipsLoad = false }]),
        new("ryzen-perf", "003", "redis-benchmark -t get and -t set under perf stat",
            [Plain("get", 3) with { KeepsData = false, SkipsLoad = false }, Plain("set", 3)])
            { ShowsCounters = true, Notes =
                ["the counters are of the measurement alone; perf stat also counts how the program starts"] },
        Tair("set", "SET {key uniform $keys} {value 64}"),
        Tair("get", "GET {key uniform $keys}", "SET {key sequence $keys} {value 64}"),
        Tair("zadd", "ZADD {key uniform $outer} {rand 70000} {key uniform $members}"),
        Tair("zscore", "ZSCORE {key uniform $outer} {key uniform $inner}",
            "ZADD {key sequence $outer} {rand 70000} {key sequence $inner}", LoadSize.Pairs),
        Tair("hset", "HSET {key uniform $outer} {key uniform $members} {value 64}"),
        Tair("hget", "HGET {key uniform $outer} {key uniform $inner}",
            "HSET {key sequence $outer} {key sequence $inner} {value 64}", LoadSize.Pairs),
        Tair("lpush", "LPUSH {key uniform $outer} {value 64}", grows: true),
        Tair("lindex", "LINDEX {key uniform $outer} {rand $members}", "LPUSH {key sequence $outer} {value 64}",
            LoadSize.Lists),
        Tair("sadd", "SADD {key uniform $outer} {value 64}", grows: true),
        Tair("sismember", "SISMEMBER {key uniform $outer} {key uniform $inner}",
            "SADD {key sequence $outer} {key sequence $inner}", LoadSize.Pairs),
        Tair("evalsha", $"EVALSHA {{sha \"{TairScript}\"}} 1 {{key uniform $keys}} {{value 64}}"),
    ];

    /// <summary>The script that the document names by its hash, d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37.</summary>
    internal const string TairScript = "return redis.call('SET', KEYS[1], ARGV[1])";

    private const string Garnets = "garnet-fig";

    public static readonly IReadOnlyList<Suite> All =
    [
        // The figures of latency are linear.
        .. Single.Select(suite => suite with { IsLogarithmic = suite.Name.StartsWith(Garnets, StringComparison.Ordinal)
            && !suite.Panels[0].IsOnline }),
        Gather("m2-all", "000", "all of m2-, as published and with io-threads of at most half the cores", "m2-") with
        {
            Passes = [new("as published", _ => 32), new("fair", cores => Math.Max(1, cores / 2), IsMost: true)],
            Notes =
                ["io-threads can only be set when a server starts: --start NAME=command lets the suite start it twice"],
        },
        Gather("garnet-all", "002", "figures 1 to 11", Garnets) with { Notes = [Inferred] },
        Gather("tair-all", "004", "all eleven commands", "tair-"),
    ];

    /// <summary>The suite of a name; null: there is none.</summary>
    public static Suite? Find(string name) =>
        All.FirstOrDefault(suite => suite.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    private static Suite Gather(string name, string seed, string shows, string prefix) =>
        new(name, seed, shows, [.. Single.Where(suite => suite.Name.StartsWith(prefix, StringComparison.Ordinal))
            .SelectMany(suite => suite.Panels)])
        {
            IsLogarithmic = prefix == Garnets,
        };

    private static SuitePanel Garnet(string op, long keys, int valueBytes) =>
        new(op) { Keys = keys, ValueBytes = valueBytes };

    private static SuitePanel Online(int reads, int valueBytes, int[] sessions, int[] outstanding) =>
        new($"GET:{reads},SET:{100 - reads}")
    {
        Mix = $"GET:{reads},SET:{100 - reads}", ValueBytes = valueBytes, Sessions = sessions, Depths = outstanding,
            Seconds = 70,
        IsOnline = true, SkipsLoad = true,
    };

    private static SuitePanel[] BothDatabases(Func<long, SuitePanel> panel) => [panel(1024), panel(LargeKeys)];

    private static SuitePanel Sketch(long keys, int valueBytes) =>
        Garnet("PFADD", keys, valueBytes) with { SkipsLoad = true, IsHyperLogLog = true };

    // Sessions with the smallest element, then elements with the sessions that the text of figure 7 names.
    private static SuitePanel[] Sketches(long keys) =>
    [
        Sketch(keys, 8) with { Depths = [4096] },
        .. ((int[])[8, 16, 32, 64, 128, 256, 512, 1024])
            .Select(bytes => Sketch(keys, bytes) with { Sessions = [64], Depths = [4096] }),
    ];

    private static SuitePanel Bits(string op) => Garnet(op, 1024, Mebibyte) with { Depths = [4096] };

    private static SuitePanel BitBatches(string op) =>
        Garnet(op, 1024, Mebibyte) with { Sessions = [64], Depths = ShortBatches };

    private static SuitePanel[] Rudis() =>
    [
        .. ((string[])["set", "get", "rpush", "lpop", "hset", "lrange", "lrange_100", "lrange_300", "lrange_500",
            "lrange_600"]).Select((test, place) =>
            new SuitePanel(test)
            {
                Title = Workload.RedisTests.Find(test)!.Title, Keys = 100_000, KeyFormat = "rb", KeyBytes = 16,
                    ValueBytes = 3, Sessions = [1000], Commands = 1_000_000, Loops = 4, SkipsLoad = true,
                KeepsData = place > 0, Grows = test is "rpush" or "lrange",
            }),
    ];

    // Without -r all requests name the one key.
    private static SuitePanel Plain(string test, int valueBytes) => new(test)
    {
        // What other operations of the same names do not do alike.
        Template = test switch
        {
            "incr" => "INCR counter:000000000000",
            "lrange_500" => "LRANGE mylist 0 449",      // so it was in release 3
            "mset" => "MSET" + string.Concat(Enumerable.Repeat(" {key uniform $keys} {value 3}", 10)),
            _ => null,
        },
        Keys = 1, KeyFormat = "rb", KeyBytes = 16, ValueBytes = valueBytes, Sessions = [50], Commands = 100_000,
        SkipsLoad = true, KeepsData = true,
    };

    private static Suite Tair(string command, string template, string? load = null, LoadSize size = LoadSize.Keys,
        bool grows = false) =>
        new($"tair-{command}", "004", $"{command.ToUpperInvariant()}, QPS, mean and p99",
        [
            new SuitePanel(command.ToUpperInvariant())
            {
                Template = template, LoadTemplate = load, LoadSize = size, SkipsLoad = load is null, Keys = 10_000_000,
                    KeyFormat = "tair", KeyBytes = 14,
                ValueBytes = 64, Sessions = TairSessions, Seconds = 20, IsBatch = false, Grows = grows,
            },
        ]);
}
