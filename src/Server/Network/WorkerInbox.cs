namespace Kv.Server.Network;

/// <summary>Connections that other threads want a worker to look at; and the worker's sleep, which a post
/// ends.</summary>
/// <remarks>
/// Threads: any post; the worker takes, and sleeps.
/// No wake-up is lost: a poster first puts the connection in (a full fence), then reads whether the worker sleeps; the
/// worker first notes that it sleeps (a full fence), then looks whether something is in. Whichever of the two comes
/// second sees what the other has written: either the worker finds the connection and does not sleep, or the poster
/// rings.
/// </remarks>
internal sealed class WorkerInbox(Poller poller)
{
    private EpollConnection? _newest;
    private int _sleeping;
    private int _attention;

    /// <summary>Whether nobody wants the worker's attention.</summary>
    public bool IsEmpty => Volatile.Read(ref _newest) == null && Volatile.Read(ref _attention) == 0;

    /// <summary>Whether the worker has taken what was in since the last <see cref="Attend"/>: it does so in each turn,
    /// after the commands of the turn.</summary>
    public bool HasAttended => Volatile.Read(ref _attention) == 0;

    /// <summary>Puts a connection in, unless it is in already, and wakes the worker.</summary>
    public void Post(EpollConnection connection)
    {
        // Interlocked: what the poster wrote before (a kill, a message) is visible to the worker that sees the 1. The
        // worker resets it before it looks at what was written, so a later post always puts the connection in again.
        if (Interlocked.Exchange(ref connection.InInbox, 1) == 0)
        {
            EpollConnection? newest;
            do
            {
                // Ends: another attempt means that another poster got ahead.
                newest = Volatile.Read(ref _newest);
                connection.NextInInbox = newest;
            }
            while (Interlocked.CompareExchange(ref _newest, connection, newest) != newest);
        }

        Wake();
    }

    /// <summary>Makes the worker go through a turn, because something else has changed.</summary>
    public void Attend()
    {
        Interlocked.Exchange(ref _attention, 1);
        Wake();
    }

    /// <summary>All connections posted so far, oldest first, linked by
    /// <see cref="EpollConnection.NextInInbox"/>.</summary>
    public EpollConnection? Take()
    {
        if (Volatile.Read(ref _attention) != 0) Volatile.Write(ref _attention, 0);
        if (Volatile.Read(ref _newest) == null) return null;
        var newest = Interlocked.Exchange(ref _newest, null);
        EpollConnection? oldest = null;
        while (newest != null)
        {
            var next = newest.NextInInbox;
            newest.NextInInbox = oldest;
            oldest = newest;
            newest = next;
        }

        return oldest;
    }

    /// <summary>Notes that the worker sleeps.</summary>
    /// <returns>False when something has come in: the worker must not sleep.</returns>
    public bool TryBeginSleep()
    {
        Interlocked.Exchange(ref _sleeping, 1);
        if (IsEmpty) return true;
        EndSleep();
        return false;
    }

    public void EndSleep() => Volatile.Write(ref _sleeping, 0);

    private void Wake()
    {
        // Read first: while the worker is awake, nobody writes this cache line, which it reads at each turn.
        if (Volatile.Read(ref _sleeping) != 0 && Interlocked.Exchange(ref _sleeping, 0) != 0) poller.Ring();
    }
}
