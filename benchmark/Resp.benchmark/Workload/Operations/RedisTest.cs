namespace RespBenchmark.Workload;

/// <summary>One test of redis-benchmark.</summary>
/// <param name="Names">That -t knows it by.</param>
/// <param name="Title">As results print it.</param>
/// <param name="Words">Its command: __rand_int__ is a random number, __data__ the value; one word PING\r\n is sent
/// raw.</param>
internal sealed record RedisTest(IReadOnlyList<string> Names, string Title, ReplyRule Reply,
    IReadOnlyList<string> Words)
{
    /// <summary>Run when no test is named.</summary>
    public bool IsDefault { get; init; } = true;

    public bool IsRaw { get; init; }

    /// <summary>Lines of a list that its reply holds.</summary>
    public int Elements { get; init; }

    public bool IsNamed(string name) => Names.Contains(name, StringComparer.OrdinalIgnoreCase);
}
