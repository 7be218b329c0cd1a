namespace Kv.Server.Families;

/// <summary>What ends a migration before its end.</summary>
/// <param name="error">The answer to the client, with its code.</param>
internal sealed class MigrationException(string error, Exception? inner = null) : Exception(error, inner)
{
    /// <summary>A target that does not answer in time, or is not there any more.</summary>
    /// <param name="action">What it was in the middle of, as in Redis' error: "reading to target instance".</param>
    public static MigrationException Lost(string action, Exception? inner = null) =>
        new($"IOERR error or timeout {action}", inner);
}
