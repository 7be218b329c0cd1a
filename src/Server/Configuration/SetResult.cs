namespace Kv.Server.Configuration;

/// <summary>What became of a CONFIG SET.</summary>
/// <param name="Error">The error to answer, without the leading minus; null when every pair was set.</param>
/// <param name="Warnings">Lines to log: options that were set and have no effect.</param>
internal readonly record struct SetResult(string? Error, IReadOnlyList<string> Warnings)
{
    public bool IsOk => Error is null;

    public static SetResult Failed(string error) => new(error, []);
}
