namespace Kv.Server.Persistence.Aof;

/// <summary>Has a writer get the feed, or no longer: while nobody is in a turn.</summary>
internal static class WriterPause
{
    /// <summary>At the end of the server somebody may never come out of a long turn.</summary>
    private const int TriesAtEnd = 200;

    /// <summary>Gives a writer all that is done from here on.</summary>
    public static void Attach(KvServer server, AofWriter writer)
    {
        using var guard = server.Store.Enter();
        // Ends: nobody is there but the store's own thread.
        while (!guard.Session.Presence.TryPauseNow()) Thread.Yield();
        writer.Attach(server.Feed);
        guard.Session.EndPause();
    }

    /// <summary>Gives a writer nothing of what is done from here on, and waits until it has the rest.</summary>
    /// <returns>False: the server ends, and somebody stays in a turn.</returns>
    public static bool TryDetach(KvServer server, AofWriter writer)
    {
        using var written = new ManualResetEventSlim();
        using (var guard = server.Store.Enter())
        {
            // Ends: each round waits for those that are in a long turn; at the end of the server there is one.
            while (!guard.Session.Presence.TryPauseNow(TriesAtEnd))
                if (server.IsStopping) return false;
            server.Feed.Detach(writer, written.Set);
            guard.Session.EndPause();
        }

        written.Wait();
        return true;
    }
}
