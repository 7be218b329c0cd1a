namespace RespBenchmark.Workload;

/// <summary>An operation that Garnet's benchmark names, and what running it takes.</summary>
internal sealed record GarnetOp(string Name, Func<OpSettings, IReadOnlyList<Unit>> Units)
{
    public LoadKind Load { get; init; } = LoadKind.Strings;

    /// <summary>One command holds the whole batch (MGET, MSET, MPFADD).</summary>
    public bool TakesBatch { get; init; }

    /// <summary>Two units, the halves of a batch.</summary>
    public bool IsHalves { get; init; }

    public bool NeedsTtl { get; init; }

    /// <summary>PFCOUNT and PFMERGE mean nothing without their load.</summary>
    public bool NeedsLoad { get; init; }

    /// <summary>The Lua script that EVALSHA names; null: none.</summary>
    public string? Script { get; init; }

    /// <summary>A command that only servers of the Garnet family have.</summary>
    public bool IsExtension { get; init; }

    /// <summary>Commands of a batch.</summary>
    public int CommandsPerBatch(int batch) => TakesBatch ? 1 : batch;
}

/// <summary>What an operation finds in the database.</summary>
internal enum LoadKind
{
    None,
    Strings,

    /// <summary>Strings that are numbers.</summary>
    Digits,
    HyperLogLogs,
}
