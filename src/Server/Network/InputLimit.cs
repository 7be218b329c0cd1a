using Kv.Server.Sessions;

namespace Kv.Server.Network;

/// <summary>How much input the server holds for a client: client-query-buffer-limit, and what one buffer may
/// keep.</summary>
internal static class InputLimit
{
    /// <summary>Bytes for a client that has not authenticated.</summary>
    private const int UnauthenticatedBytes = 1024 * 1024;

    /// <summary>What is received at most, about, of a client whose command waits for memory.</summary>
    private const int AheadBytes = 64 * 1024;

    /// <summary>Whether a client that waits is received from: so that its end is noticed whatever it has sent before.
    /// But a command that waits for memory, or for the disk or replicas to take what was done, goes on by itself: the
    /// rest of a long pipeline stays with the system until then. Here it would be memory of clients, of which more than
    /// a tenth of maxmemory evicts keys: 32 MB of one client did, while the append-only file was behind. Of a large
    /// argument nothing is received that has no place.</summary>
    public static bool AllowsAhead(Session session, in PendingInput pending) =>
        !session.WaitsForMemory || (pending.Length < AheadBytes && session.Blocks is not { IsFilling: true });

    /// <summary>Whether the server may hold what it holds for a client. If not, that is counted and logged, and the
    /// connection has to be closed. Asked after each receive.</summary>
    /// <param name="pending">What has arrived and is not run yet; the rest is known to the session: arguments of a
    /// command that is arriving, and commands that MULTI has queued.</param>
    public static bool Allows(Session session, in PendingInput pending)
    {
        long held = pending.Length + session.Partial.TakenBytes + (session.Blocks?.Bytes ?? 0)
            + (session.Transaction?.QueuedBytes ?? 0);
        long limit = session.Authenticated ? session.Server.Options.ClientQueryBufferLimit : UnauthenticatedBytes;
        if (held <= limit && pending.Length <= PendingInput.BytesMax) return true;
        session.NoteInputLimit(held);
        return false;
    }
}
