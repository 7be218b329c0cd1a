namespace RespBenchmark.Workload;

/// <summary>One kind of command of a workload: what results are kept by.</summary>
/// <param name="Name">As reports print it: GET.</param>
/// <param name="Reply">What may come back.</param>
/// <param name="Ops">Operations that one command counts for: 1, or the elements of an MGET.</param>
/// <param name="ReplyBytes">What its reply is expected to take, roughly; for the bound on bytes in flight.</param>
internal sealed record CommandKind(string Name, ReplyRule Reply, int Ops = 1, int ReplyBytes = 64)
{
    /// <summary>Whether the next command of the session belongs to the same unit: its latency is not recorded, the last
    /// one's stands for the unit.</summary>
    public bool Continues { get; init; }
}
