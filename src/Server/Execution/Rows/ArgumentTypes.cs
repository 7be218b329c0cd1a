namespace Kv.Server.Execution;

/// <summary>The type of an argument in COMMAND DOCS, which follows from its name: a usage line has names only, and a
/// name means the same nearly everywhere.</summary>
internal static class ArgumentTypes
{
    private static readonly HashSet<string> Keys =
        ["key", "key1", "key2", "keys", "source", "destination", "newkey", "destkey", "sourcekey", "dst", "src",
            "storekey", "storedistkey"];

    private static readonly HashSet<string> Integers =
    [
        "bit", "bits", "client-id", "cluster-bus-port", "config-epoch", "count", "cursor", "db", "decrement",
        "destination-db", "end", "end-slot",
        "entries-added", "entries-read", "entriesread", "frequency", "increment", "index", "index1", "index2", "len",
        "limit", "milliseconds",
        "min-match-len", "ms", "num-matches", "numfields", "numkeys", "numlocal", "numreplicas", "offset", "port",
        "protover", "rank", "seconds",
        "slot", "start", "start-slot", "stop", "timeout", "ttl", "version", "weight",
    ];

    private static readonly HashSet<string> Doubles =
        ["height", "latitude", "longitude", "max", "min", "radius", "score", "width"];

    /// <summary>Where a name means something else: "command argument", lower case.</summary>
    private static readonly Dictionary<string, string> Exceptions = new()
    {
        ["bitfield value"] = "integer",
        ["blmove timeout"] = "double",
        ["blmpop timeout"] = "double",
        ["blpop timeout"] = "double",
        ["brpop timeout"] = "double",
        ["brpoplpush timeout"] = "double",
        ["bzmpop timeout"] = "double",
        ["bzpopmax timeout"] = "double",
        ["bzpopmin timeout"] = "double",
        ["hincrbyfloat increment"] = "double",
        ["incrbyfloat increment"] = "double",
        ["setbit value"] = "integer",
        ["xautoclaim start"] = "string",
        ["xpending end"] = "string",
        ["xpending min-idle-time"] = "integer",
        ["xpending start"] = "string",
        ["xrange end"] = "string",
        ["xrange start"] = "string",
        ["xrevrange end"] = "string",
        ["xrevrange start"] = "string",
        ["zlexcount max"] = "string",
        ["zlexcount min"] = "string",
        ["zrange start"] = "string",
        ["zrange stop"] = "string",
        ["zrangebylex max"] = "string",
        ["zrangebylex min"] = "string",
        ["zrangestore max"] = "string",
        ["zrangestore min"] = "string",
        ["zremrangebylex max"] = "string",
        ["zremrangebylex min"] = "string",
        ["zrevrangebylex max"] = "string",
        ["zrevrangebylex min"] = "string",
    };

    /// <summary>Whether an argument is a key that one of the command's key specs finds.</summary>
    public static bool IsKey(Command command, UsageArgument argument) =>
        argument.Kind == UsageKind.Value && command.Keys.Length > 0 && Keys.Contains(argument.Name);

    /// <summary>The type, as COMMAND DOCS calls it.</summary>
    public static string Of(Command command, UsageArgument argument) => argument.Kind switch
    {
        UsageKind.Word => "pure-token",
        UsageKind.OneOf => "oneof",
        UsageKind.Block => "block",
        _ when IsKey(command, argument) => "key",
        _ when Exceptions.TryGetValue($"{command.FullName} {argument.Name}", out string? type) => type,
        _ when Integers.Contains(argument.Name) => "integer",
        _ when Doubles.Contains(argument.Name) => "double",
        _ when argument.Name.EndsWith("pattern", StringComparison.Ordinal) => "pattern",
        _ when argument.Name.StartsWith("unix-time", StringComparison.Ordinal) => "unix-time",
        _ => "string",
    };
}
