namespace Kv.Server.Configuration;

/// <summary>What became of a CONFIG SET.</summary>
/// <param name="Error">The error to answer, without the leading minus; null when every pair was set.</param>
internal readonly record struct SetResult(string? Error)
{
    public bool IsOk => Error is null;

    public static SetResult Failed(string error) => new(error);
}
