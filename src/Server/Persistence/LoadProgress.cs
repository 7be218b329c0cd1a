using System.Diagnostics;

namespace Kv.Server.Persistence;

/// <summary>How far the start is with what it loads, for INFO and those who ask whether the server is ready.</summary>
/// <remarks>Threads: one loads; the figures may be read by any.</remarks>
internal sealed class LoadProgress(DateTimeOffset begun)
{
    private Func<long> _position = static () => 0;
    private long _totalBytes, _doneBytes;

    public long StartSeconds { get; } = begun.ToUnixTimeSeconds();

    /// <summary>Bytes of all that is loaded.</summary>
    // Volatile, as those below: a late one is no harm.
    public long TotalBytes => Volatile.Read(ref _totalBytes);

    /// <summary>Bytes of it that have been.</summary>
    public long LoadedBytes => Math.Min(Volatile.Read(ref _doneBytes) + Volatile.Read(ref _position)(), TotalBytes);

    public double Percent => TotalBytes == 0 ? 0 : 100.0 * LoadedBytes / TotalBytes;

    /// <summary>Says how much there is.</summary>
    public void Begin(long totalBytes) => Volatile.Write(ref _totalBytes, totalBytes);

    /// <summary>Goes on with a file.</summary>
    /// <param name="position">Bytes of it that have been loaded; from any thread.</param>
    public void BeginFile(Func<long> position) => Volatile.Write(ref _position, position);

    /// <summary>It has been loaded.</summary>
    public void EndFile(long bytes)
    {
        Debug.Assert(bytes >= 0 && _doneBytes + bytes <= _totalBytes, "no more is loaded than there is");
        Volatile.Write(ref _position, static () => 0);
        Volatile.Write(ref _doneBytes, _doneBytes + bytes);
    }

    /// <summary>Seconds that are left, at the speed so far; 1 at least.</summary>
    public long LeftSeconds(DateTimeOffset now)
    {
        long loaded = LoadedBytes, took = now.ToUnixTimeSeconds() - StartSeconds;
        return loaded == 0 ? 1 : Math.Max(1, took * (TotalBytes - loaded) / loaded);
    }
}
