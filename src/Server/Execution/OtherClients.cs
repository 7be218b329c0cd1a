namespace Kv.Server.Execution;

/// <summary>Stops all other clients for what no client does in the way of business: a snapshot, a digest.</summary>
internal static class OtherClients
{
    /// <summary>Each try waits some milliseconds for a session that is in a long turn.</summary>
    private const int TriesMax = 200;

    /// <summary>What is done while they stand still; it writes the reply.</summary>
    public delegate void Work(ref CommandContext context);

    /// <summary>Does something while they stand still: now, or in one of the next turns. The arguments have been read
    /// by then; nothing has been written.</summary>
    public static void Run(ref CommandContext context, Work work)
    {
        if (!TryRun(ref context, work)) context.Continue(new WaitsForOthers(work));
    }

    /// <returns>False when they could not be stopped: nothing was done. The turn has to end before it is tried
    /// again.</returns>
    public static bool TryRun(ref CommandContext context, Work work)
    {
        if (!context.InTransaction && !context.Store.Presence.TryPauseNow()) return false;
        try
        {
            work(ref context);
        }
        finally
        {
            LetGoOn(ref context);
        }

        return true;
    }

    /// <summary>Stops them, which EXEC has done already.</summary>
    /// <returns>False after answering an error.</returns>
    public static bool TryStop(ref CommandContext context)
    {
        if (context.InTransaction) return true;
        if (context.Store.Presence.TryPauseNow(TriesMax)) return true;
        context.Fail("ERR the other clients could not be stopped"u8);
        return false;
    }

    /// <summary>Lets them go on.</summary>
    public static void LetGoOn(ref CommandContext context)
    {
        if (!context.InTransaction) context.Store.Presence.EndPause();
    }
}
