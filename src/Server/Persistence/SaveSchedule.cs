using System.Globalization;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence;

/// <summary>Begins snapshots by itself: when as much has changed as a save point says, and when somebody has asked for
/// one as soon as possible.</summary>
/// <remarks>Threads: its timer's; any may ask.</remarks>
internal sealed class SaveSchedule : IDisposable
{
    private const long RetrySeconds = 5;
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(100);

    private readonly KvServer _server;
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private (long Seconds, long Changes)[] _points = [];
    private long _triedSeconds;
    private bool _isAsked;

    public SaveSchedule(KvServer server) => _server = server;

    /// <summary>Whether there are save points; without <see cref="ServerOptions.LoadsAtStart"/> there are
    /// none.</summary>
    public bool HasPoints => Volatile.Read(ref _points).Length != 0;

    /// <summary>Whether a snapshot is written when the process is asked to end: <c>shutdown-on-sigterm</c>.</summary>
    public bool SavesOnSignal
    {
        get
        {
            string[] words = _server.Options.ShutdownOnSigterm.Split(' ');
            return _server.Options.LoadsAtStart && !words.Contains("nosave") && (words.Contains("save") || HasPoints);
        }
    }

    /// <summary>Goes by the option <c>save</c> from here on.</summary>
    public string? Follow(ServerOptions options)
    {
        var points = new List<(long, long)>();
        foreach (string[] pair in options.Save.Split(' ', StringSplitOptions.RemoveEmptyEntries).Chunk(2))
            points.Add((long.Parse(pair[0], CultureInfo.InvariantCulture),
                long.Parse(pair[1], CultureInfo.InvariantCulture)));
        Volatile.Write(ref _points, options.LoadsAtStart ? [.. points] : []);
        if (HasPoints) Begin();
        return null;
    }

    /// <summary>Has a snapshot begun as soon as there is none being written.</summary>
    public void Ask()
    {
        Volatile.Write(ref _isAsked, true);
        Begin();
    }

    public void Dispose()
    {
        lock (_lock) _timer?.Dispose();
    }

    private void Begin()
    {
        // A look may wait for others for a while, and who asks does not.
        if (Volatile.Read(ref _timer) != null) return;
        lock (_lock)
            _timer ??= _server.Time.CreateTimer(static self => ((SaveSchedule)self!).Look(), this, Tick, Tick);
    }

    private void Look()
    {
        if (!_lock.TryEnter()) return;
        try
        {
            if (_server.WhyNotReady == null && _server.Snapshots.Job == null && IsDue()) Save();
        }
        catch (Exception exception)
        {
            // No session left, perhaps. The next look tries again.
            _server.Data.LogError(exception, "A snapshot that was due could not be begun");
        }
        finally
        {
            _lock.Exit();
        }
    }

    private bool IsDue()
    {
        var snapshots = _server.Snapshots;
        long now = _server.Time.GetUtcNow().ToUnixTimeSeconds();
        if (snapshots.HasFailed && now - _triedSeconds <= RetrySeconds) return false;
        if (Volatile.Read(ref _isAsked)) return true;
        var points = Volatile.Read(ref _points);
        if (points.Length == 0) return false;
        long changes = snapshots.Changes;
        foreach (var (seconds, least) in points)
        {
            if (changes < least || now - snapshots.LastSaveSeconds <= seconds) continue;
            _server.Data.LogInformation("{Changes} changes in {Seconds} seconds. Saving...", least, seconds);
            return true;
        }

        return false;
    }

    private void Save()
    {
        _triedSeconds = _server.Time.GetUtcNow().ToUnixTimeSeconds();
        using var guard = _server.Store.Enter();
        if (_server.Snapshots.TryBegin(guard.Session, out string? error) || error != null)
            Volatile.Write(ref _isAsked, false);
    }
}
