namespace Kv.Server.Sessions;

/// <summary>CLIENT PAUSE: commands of all clients wait for a while, or those that write.</summary>
/// <remarks>
/// Threads: any sets it, workers look at <see cref="IsActive"/> for each command. Volatile: a worker notices at its next
/// command; a command that is running already is not held up.
/// </remarks>
internal sealed class ClientPause(KvServer server)
{
    private readonly Lock _guard = new();
    private long _untilTickMs;
    private bool _writesOnly;
    private volatile bool _active;

    /// <summary>Whether some commands may have to wait.</summary>
    public bool IsActive => _active;

    /// <summary>Begins a pause or changes it; a longer or stricter one in force stays so.</summary>
    public void Begin(long milliseconds, bool writesOnly)
    {
        lock (_guard)
        {
            long now = server.TickMs;
            long until = milliseconds > long.MaxValue - now - 1 ? long.MaxValue : now + milliseconds;
            bool running = _active && _untilTickMs > now;
            _untilTickMs = running ? Math.Max(_untilTickMs, until) : until;
            _writesOnly = writesOnly && (!running || _writesOnly);
            _active = true;
        }
    }

    /// <summary>Ends the pause; everyone who waits goes on.</summary>
    public void End()
    {
        lock (_guard)
        {
            _active = false;
            _untilTickMs = 0;
        }

        foreach (var session in server.Connections.Snapshot())
            if (session.IsParked) session.Unpark();
    }

    /// <summary>Until when a command has to wait; 0 when it need not.</summary>
    public long WaitUntil(bool writes)
    {
        lock (_guard)
        {
            if (_active && server.TickMs >= _untilTickMs) _active = false;
            return _active && (writes || !_writesOnly) ? _untilTickMs : 0;
        }
    }
}
