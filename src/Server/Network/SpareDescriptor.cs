namespace Kv.Server.Network;

/// <summary>A descriptor kept for the moment when there is none: a client can then be accepted and told, instead of
/// waiting unanswered.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class SpareDescriptor : IDisposable
{
    private FileStream? _spare = Open();

    /// <summary>Gives the descriptor to whoever accepts next; <see cref="Renew"/> takes one again.</summary>
    /// <returns>False when it is lent already and could not be had back: nothing can be accepted.</returns>
    public bool TryLend()
    {
        if (_spare == null) return false;
        _spare.Dispose();
        _spare = null;
        return true;
    }

    public void Renew() => _spare ??= Open();

    public void Dispose() => _spare?.Dispose();

    private static FileStream? Open()
    {
        try
        {
            return OperatingSystem.IsWindows()
                ? null : new FileStream("/dev/null", FileMode.Open, FileAccess.Read, FileShare.ReadWrite, 1);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
