using System.Text;
using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.RedisBenchmark;

/// <summary>Which tests a command line asks for.</summary>
internal static class TestSelection
{
    /// <param name="last">The last argument of a command of the user's own, from stdin; null: none.</param>
    public static IReadOnlyList<PlannedTest> Of(RedisBenchmarkOptions options, byte[]? last = null)
    {
        var distribution = options.Sequential ? Distribution.Sequence : Distribution.Uniform;
        if (options.Command.Length > 0) return [Custom(options, last, distribution)];

        var format = options.Extras.RedisBenchmarkFormat;
        var known = format == RedisBenchmarkFormat.Legacy ? RedisTests.Legacy : RedisTests.All;
        return [.. known.Where(test => IsAsked(test, options.Tests, format)).Select(test => new PlannedTest(
            test.Title, RedisTests.For(test, options.DataBytes, options.KeySpace, distribution), options.DataBytes))];
    }

    private static bool IsAsked(RedisTest test, string[]? names, RedisBenchmarkFormat format) => names is null
        ? test.IsDefault || format == RedisBenchmarkFormat.Eight
        : names.Any(test.IsNamed);

    private static PlannedTest Custom(RedisBenchmarkOptions options, byte[]? last, Distribution distribution)
    {
        string[] words = last is null ? options.Command : [.. options.Command, Encoding.UTF8.GetString(last)];
        var workload = RedisTests.Custom(options.Command, options.KeySpace, distribution, last);
        return new PlannedTest(string.Join(' ', words), workload, RequestBytes(options.Command, last));
    }

    /// <summary>The bytes of a request on the wire; a number is as long as the token it takes the place of.</summary>
    private static int RequestBytes(string[] words, byte[]? last)
    {
        long bytes = $"*{words.Length + (last is null ? 0 : 1)}\r\n".Length;
        foreach (string word in words) bytes += BulkBytes(Encoding.UTF8.GetByteCount(word));
        if (last is not null) bytes += BulkBytes(last.Length);
        return (int)Math.Min(int.MaxValue, bytes);
    }

    private static long BulkBytes(long length) => $"${length}\r\n".Length + length + 2;
}
