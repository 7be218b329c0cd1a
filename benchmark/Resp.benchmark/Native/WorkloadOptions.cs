using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>What is sent: operations, keys, values, and what is loaded before.</summary>
internal class WorkloadOptions : TargetOptions
{
    [Option("op", HelpText = "An operation by name: GET, SET, MGET, ZADD, PFADD ... (default GET).")]
    public string? Op { get; set; }

    [Option("mix", HelpText = "GET:80,SET:20 - exact shares, shuffled.")]
    public string? Mix { get; set; }

    [Option("cmd", HelpText = "A template: 'SET {key uniform 1000} {value 64} :1'; again for a mix.")]
    public IEnumerable<string> Commands { get; set; } = [];

    [Option("cmd-file", HelpText = "A file of templates, one a line.")]
    public string? CommandFile { get; set; }

    [Option("keys", Default = 1_000_000L, HelpText = "Number of keys.")]
    public long Keys { get; set; } = 1_000_000;

    [Option("key-len", HelpText = "Bytes of a key; shorter numbers are padded.")]
    public int? KeyLength { get; set; }

    [Option("key-prefix", Default = "key:", HelpText = "What keys begin with.")]
    public string KeyPrefix { get; set; } = "key:";

    [Option("key-format", HelpText = "key:%012d, or garnet, rb, tair, memtier.")]
    public string? KeyFormat { get; set; }

    [Option("dist", Default = "uniform", HelpText =
        "uniform, zipf:0.99[:scrambled], gauss:10%, seq, part, hot:90/10, latest; +scan:10%, +move:30s.")]
    public string Distribution { get; set; } = "uniform";

    [Option("value", Default = "64", HelpText = "64, 32-1024, lognormal:m,s, 8:50,1024:50 or @file.")]
    public string Value { get; set; } = "64";

    [Option("data", Default = "random", HelpText = "random, ratio:R (compressible to R) or verify (checkable).")]
    public string Data { get; set; } = "random";

    [Option("ttl", HelpText = "Seconds, or a range A-B.")]
    public string? Ttl { get; set; }

    [Option("trace", HelpText = "Scenario cache: a file of requests, key,bytes[,ttl] a line.")]
    public string? Trace { get; set; }

    [Option("load", HelpText = "auto, none or only: fill the keys first (default auto).")]
    public string? Load { get; set; }

    [Option("load-conns", Default = 8, HelpText = "Sessions that load.")]
    public int LoadSessions { get; set; } = 8;

    [Option("load-cmd", HelpText = "Template that loads instead of SET.")]
    public string? LoadCommand { get; set; }

    [Option("load-count", HelpText = "Commands of --load-cmd (default: --keys).")]
    public long? LoadCount { get; set; }

    [Option("flush", HelpText = "FLUSHALL before loading.")]
    public bool Flush { get; set; }

    [Option("seed", Default = 1UL, HelpText = "Seed of all draws.")]
    public ulong Seed { get; set; } = 1;
}
