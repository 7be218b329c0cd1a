namespace Kv.Server.Network;

/// <summary>A descriptor kept for the moment when there is no other: a client can then be accepted and sent an error,
/// instead of waiting for ever.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class SpareDescriptor : IDisposable
{
    private FileStream? _spare = Open();

    /// <summary>Frees the descriptor for the next accept; <see cref="Renew"/> takes one again.</summary>
    /// <returns>False when there is none, since <see cref="Renew"/> has failed: nothing can be accepted.</returns>
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
