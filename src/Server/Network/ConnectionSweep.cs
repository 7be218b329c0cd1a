using Kv.Server.Sessions;

namespace Kv.Server.Network;

/// <summary>Looks from time to time at what has a time limit: idle clients, clients that do not authenticate or do not
/// read, large arguments that do not go on, and lingering sockets.</summary>
/// <remarks>Threads: its worker's own. A worker whose clients have no such limits sleeps as long as it likes.</remarks>
/// <param name="close">Closes a connection whose time is over.</param>
internal sealed class ConnectionSweep(KvServer server, ConnectionSlots slots, Action<EpollConnection> close)
{
    private const int PeriodMs = 100;

    /// <summary>Whether some client has such a limit, but for one that has been idle.</summary>
    public bool IsNeeded { get; set; }

    /// <summary>How many sockets linger.</summary>
    public int Lingering { get; set; }

    /// <summary>When it is to run again.</summary>
    public long DueTickMs { get; private set; }

    /// <summary>How long the worker may sleep.</summary>
    public long WaitMs => IsNeeded || Lingering > 0 || server.Options.Timeout > 0 ? PeriodMs : Poller.NoTimeout;

    public void Run(long now)
    {
        DueTickMs = now + PeriodMs;
        if (!IsNeeded && Lingering == 0 && server.Options.Timeout <= 0) return;
        IsNeeded = false;
        for (int slot = 0; slot < slots.Length; slot++)
        {
            if (slots[slot] is not { } connection) continue;
            bool isOver = connection.State == EpollConnectionState.Lingering ? now >= connection.SinceTickMs
                : IsIdle(connection, now);
            if (!isOver && connection.State == EpollConnectionState.Open) isOver = IsLate(connection, now);
            if (isOver) close(connection);
        }
    }

    private bool IsIdle(EpollConnection connection, long now)
    {
        var session = connection.Session;
        long timeoutMs = server.Options.Timeout * 1000L;        // seconds up to 2^31 - 1
        return timeoutMs > 0 && now - session.LastActiveTickMs >= timeoutMs && session.Kind == ClientKind.Normal
            && !session.IsParked && session.Steps == null;
    }

    private bool IsLate(EpollConnection connection, long now)
    {
        var session = connection.Session;
        long authMs = server.Options.AuthTimeout * 1000L;
        bool isLate = false;
        if (!session.Authenticated && authMs > 0)
        {
            IsNeeded = true;
            isLate = now - session.CreatedTickMs >= authMs;
            if (isLate) session.NoteAuthTimeout();
        }

        if (connection.SinceTickMs != 0)
        {
            IsNeeded = true;
            isLate |= !connection.IsOutputAllowed(now);
        }

        if (ArrivalRoom.IsWatched(session))
        {
            IsNeeded = true;
            if (!connection.HasMore) ArrivalRoom.EndIfIdle(session, now - session.LastActiveTickMs);
        }

        return isLate;
    }
}
