using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>What the options say of how small collections are kept, at random values: on two servers at once.</summary>
internal static class SmallLimits
{
    /// <summary>Options that both servers have, and at the end those of sets, which only Kv has.</summary>
    public static readonly string[] Options =
    [
        "hash-max-listpack-entries", "hash-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value",
            "set-max-intset-entries",
        "list-max-listpack-size", "stream-node-max-bytes", "stream-node-max-entries", "hll-sparse-max-bytes",
            "set-max-listpack-entries", "set-max-listpack-value",
    ];

    /// <summary>Draws a value for an option.</summary>
    public static string Draw(string option, Random random) =>
        option == "list-max-listpack-size" && random.Next(2) == 0 ? $"-{random.Next(1, 6)}" : Size(option, random);

    /// <summary>Sets an option of both servers.</summary>
    public static void Set(RespClient ours, RespClient theirs, string option, string value)
    {
        Assert.Equal("OK", ours.Ok($"CONFIG SET {option} {value}").String);
        if (!option.StartsWith("set-max-listpack", StringComparison.Ordinal)) theirs.Ok($"CONFIG SET {option} {value}");
    }

    // Small, about what a record has, about what a command brings, and numbers that overflow when they are doubled.
    private static string Size(string option, Random random) => random.Next(8) switch
    {
        0 => "0",
        1 => "1",
        2 => random.Next(100).ToString(CultureInfo.InvariantCulture),
        3 => random.Next(100, 1000).ToString(CultureInfo.InvariantCulture),
        4 or 5 => random.Next(1000, 10_000).ToString(CultureInfo.InvariantCulture),
        6 => random.Next(60_000, 70_000).ToString(CultureInfo.InvariantCulture),
        _ => (option == "list-max-listpack-size" ? int.MaxValue : long.MaxValue - random.Next(2))
            .ToString(CultureInfo.InvariantCulture),
    };
}
