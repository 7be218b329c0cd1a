using System.Diagnostics;

namespace Kv.Server.Sessions;

/// <summary>CLIENT PAUSE: for a while the commands of all clients wait, or only those that write.</summary>
/// <remarks>
/// Threads: any sets it, workers look at <see cref="IsActive"/> for each command. Volatile: a worker notices at its
/// next command; a command that is running already is not held up.
/// Cost: one timer, whose end wakes those who wait; until then nobody looks at them, however many they are.
/// </remarks>
internal sealed class ClientPause : IDisposable
{
    private readonly KvServer _server;
    private readonly Lock _guard = new();
    private readonly Timer _timer;
    private long _untilTickMs;
    private bool _writesOnly;
    private volatile bool _active;
    private int _held;

    public ClientPause(KvServer server)
    {
        _server = server;
        _timer = new Timer(static pause => ((ClientPause)pause!).EndWhenOver(), this, Timeout.Infinite,
            Timeout.Infinite);
    }

    /// <summary>Whether some commands may have to wait.</summary>
    public bool IsActive => _active;

    /// <summary>Clients whose command waits for the end of a pause.</summary>
    public int HeldCount => Math.Max(0, Volatile.Read(ref _held));

    /// <summary>Counts a client whose command begins to wait (1), or runs after all or never will (-1).</summary>
    // Interlocked: any worker; nothing is ordered by it.
    public void CountHeld(int change)
    {
        Debug.Assert(change is 1 or -1, "one client at a time");
        Interlocked.Add(ref _held, change);
    }

    /// <summary>Begins a pause. A pause in force becomes neither shorter nor less strict.</summary>
    public void Begin(long milliseconds, bool writesOnly)
    {
        Debug.Assert(milliseconds >= 0, "a pause does not end before it begins");
        lock (_guard)
        {
            long now = _server.TickMs;
            long until = milliseconds > long.MaxValue - now - 1 ? long.MaxValue : now + milliseconds;
            bool running = _active && _untilTickMs > now;
            _untilTickMs = running ? Math.Max(_untilTickMs, until) : until;
            _writesOnly = writesOnly && (!running || _writesOnly);
            _active = true;
            SetTimerLatched(now);
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

        Wake();
    }

    /// <summary>Whether a command has to wait now.</summary>
    public bool Holds(bool writes)
    {
        lock (_guard)
        {
            if (_active && _server.TickMs >= _untilTickMs) _active = false;
            return _active && (writes || !_writesOnly);
        }
    }

    public void Dispose() => _timer.Dispose();

    private void EndWhenOver()
    {
        lock (_guard)
        {
            if (_untilTickMs == 0) return;      // ended by somebody, who woke them
            long now = _server.TickMs;
            if (now < _untilTickMs)
            {
                SetTimerLatched(now);
                return;
            }

            _active = false;
            _untilTickMs = 0;
        }

        Wake();
    }

    // A timer takes at most 49 days; a longer pause sets it again then.
    private void SetTimerLatched(long now)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && _active, "the timer is that of a pause in force");
        _timer.Change(Math.Clamp(_untilTickMs - now, 1, int.MaxValue), Timeout.Infinite);
    }

    // Sessions that wait for something else (a key, the reply to a wrong password) go on waiting.
    private void Wake()
    {
        foreach (var session in _server.Connections.Snapshot())
            if (session.Held != null) session.Unpark();
    }
}
