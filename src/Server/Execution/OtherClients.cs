namespace Kv.Server.Execution;

/// <summary>Stops all other clients for what no client does in the way of business: a snapshot, a digest.</summary>
internal static class OtherClients
{
    /// <summary>Each try waits some milliseconds for a session that is in a long turn.</summary>
    private const int TriesMax = 200;

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
