namespace Kv.Server.Execution;

/// <summary>Stops all other clients for what no client does in the way of business: a snapshot, a digest.</summary>
internal static class OtherClients
{
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
        // EXEC has stopped them already.
        if (!context.InTransaction && !context.Store.Presence.TryPauseNow()) return false;
        try
        {
            work(ref context);
        }
        finally
        {
            if (!context.InTransaction) context.Store.Presence.EndPause();
        }

        return true;
    }
}
