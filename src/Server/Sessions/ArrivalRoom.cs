using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>At `maxmemory`, whether a large argument goes on arriving, waits until keys have been evicted for it, or is
/// thrown away as it comes: several clients that send values of hundreds of megabytes would else take all the memory
/// there is before the first of them could be refused.</summary>
/// <remarks>Only of commands that are refused where memory is short, unless their client stops. Threads: the session's
/// own.</remarks>
internal static unsafe class ArrivalRoom
{
    /// <summary>Nobody is asked for less: what a client may send in any case.</summary>
    private const int LeastBytes = 256 * 1024;

    /// <summary>Begins an argument: one that is larger than all memory there may be is thrown away, and so is what
    /// comes after one that was.</summary>
    /// <param name="command">The first byte of what has arrived of the command.</param>
    public static void Begin(Session session, ReceivedBlocks blocks, byte* command)
    {
        if (blocks.HasDiscarded)
        {
            blocks.Discard();       // the command is refused, whatever its size
            return;
        }

        long most = session.Server.Store.MaxMemoryBytes;
        if (most == 0 || blocks.Expected <= LeastBytes) return;
        blocks.NeedsRoom = session.Server.Commands.Find(session.Partial.FirstArgument(command)) is { } row
            && (row.Flags & CommandFlags.DenyOom) != 0;
        if (blocks.NeedsRoom && blocks.Expected > most) blocks.Discard();
    }

    /// <summary>Looks before a receive, where the session has waited for room: its wait may have ended because there is
    /// none, or others may have taken it. Else each of many would receive a piece more before it sees that.</summary>
    /// <returns>False when the session is parked again: nothing is to be received.</returns>
    public static bool MayReceive(Session session)
    {
        if (session.RoomDeadlineTickMs == 0 || session.Blocks is not { IsFilling: true } blocks) return true;
        Check(session, blocks);
        return !session.IsParked;
    }

    /// <summary>Looks after each receive whether there is room for more. If the session is parked afterwards, nothing
    /// more is received before its wait has ended.</summary>
    public static void Check(Session session, ReceivedBlocks blocks)
    {
        var server = session.Server;
        if (!blocks.NeedsRoom || blocks.IsDiscarding) return;
        if (!blocks.IsFilling || blocks.Received < LeastBytes || !server.Store.IsOverBudget)
        {
            // The wait has ended, if there was one. The next one, perhaps minutes later, has its own time.
            session.RoomDeadlineTickMs = 0;
            return;
        }

        var room = server.RoomWaits.Decide(session, server.Store.AskRoom());
        if (room == StoreRoom.Soon)
        {
            session.Park(session.RoomDeadlineTickMs);
            server.RoomWaits.Add(session);
        }

        if (room != StoreRoom.Full) return;
        // One after another: where one of several that come together leaves, there may be room for the others.
        lock (server.RoomWaits.Leaving)
        {
            if (server.Store.IsOverBudget) blocks.Discard();
        }
    }

    /// <summary>Whether a client has large arguments here that it may be made to give up.</summary>
    public static bool IsWatched(Session session) => session.Blocks is { HasDiscarded: false };

    /// <summary>Throws away what has come of the command of a client that does not go on with it, while others are
    /// refused for want of room: they would be for as long as it likes. Whatever the command is and however little has
    /// come: 20 halves of a PUBLISH, or 200 of 100 KB, have the same effect as one SET that fills the
    /// memory.</summary>
    /// <param name="idleMs">How long nothing has come from it.</param>
    public static void EndIfIdle(Session session, long idleMs)
    {
        var waits = session.Server.RoomWaits;
        if (idleMs < waits.WaitMsMax || waits.RefusedTickMs <= session.LastActiveTickMs || !IsWatched(session)
            || session.Blocks!.HeldBytes == 0 || (session.Gate & SessionGate.Stopped) != 0
            || !session.Partial.IsPartial) return;
        lock (waits.Leaving)
        {
            if (waits.RefusedTickMs == 0) return;
            session.Blocks.Discard();
            waits.RefusedTickMs = 0;        // whether that is enough the next refusal tells
        }
    }
}
