using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>Phase E of a worker's turn: sends replies, keeps what the kernel does not take, and bounds that.</summary>
/// <remarks>Threads: its worker's own. A socket that fails is marked broken, and closed by the worker at the end of the
/// turn.</remarks>
internal sealed unsafe class ConnectionSender(KvServer server, StoreSession store, WorkerCounters counters)
{
    /// <summary>How much of a backlog is sent in a turn.</summary>
    private const int FlushBytesATurn = 1024 * 1024;

    /// <summary>Replies of at most this many bytes may wait for the end of the turn.</summary>
    private const int HeldBytesMax = 512;

    /// <summary>Parts that one call sends.</summary>
    private const int PartsMax = 64;

    /// <summary>An empty backlog, used again for replies that are held.</summary>
    private Backlog? _spare;

    /// <summary>Sends the bytes of a session's replies, and the blocks between them.</summary>
    public void Send(EpollConnection connection, SessionOutput output, int start, int end)
    {
        Debug.Assert(start >= 0 && start <= end && end <= output.Buffer.Length, "replies are within the output");
        if (connection.State != EpollConnectionState.Open)
        {
            output.DropReferences(end);
            return;
        }

        if (connection.Backlog == null && !output.HasReference(end))
        {
            SendNow(connection, output.Buffer.Start + start, end - start);
            return;
        }

        SendSlow(connection, output, start, end);
    }

    /// <summary>Keeps replies for the end of the turn, if they are short and nothing else waits to be sent.</summary>
    /// <returns>False when the replies are to be sent now.</returns>
    public bool TryHold(EpollConnection connection, SessionOutput output, int start, int end)
    {
        if (connection.State != EpollConnectionState.Open || output.HasReference(end)) return false;
        if (connection.Backlog != null ? !connection.HoldsReplies : end - start > HeldBytesMax) return false;
        if (connection.Backlog?.Length > HeldBytesMax) return false;
        connection.Backlog ??= _spare ?? new Backlog();
        if (connection.Backlog == _spare) _spare = null;
        connection.Backlog.Append(output.Buffer.Start + start, end - start);
        connection.HoldsReplies = true;
        return true;
    }

    /// <summary>Sends what <see cref="TryHold"/> has kept.</summary>
    /// <returns>False when the connection failed.</returns>
    public bool SendHeld(EpollConnection connection)
    {
        var backlog = connection.Backlog;
        connection.HoldsReplies = false;
        if (!Flush(connection)) return false;
        if (connection.Backlog == null) _spare = backlog;
        return true;
    }

    /// <summary>Keeps replies until what they are about is on the disk; what comes after them waits, too.</summary>
    public void HoldForDisk(EpollConnection connection, SessionOutput output, int start, int end)
    {
        if (connection.State != EpollConnectionState.Open)
        {
            output.DropReferences(end);
            return;
        }

        Append(connection.Backlog ??= new Backlog(), output, start, end);
        connection.HeldTicket = connection.Session.LastTicket;
        connection.Charge(server.Store);
        Pause(connection);
    }

    /// <summary>Whether what waits has to wait for the disk.</summary>
    public bool IsHeld(EpollConnection connection)
    {
        if (connection.HeldTicket == 0) return false;
        if (server.Aof.StillHolds(connection.HeldTicket)) return true;
        connection.HeldTicket = 0;
        return false;
    }

    /// <summary>Sends some of what waits.</summary>
    /// <returns>False when the connection failed.</returns>
    public bool Flush(EpollConnection connection)
    {
        var backlog = connection.Backlog;
        if (backlog == null || IsHeld(connection)) return true;
        int budget = FlushBytesATurn;
        var parts = stackalloc IoVector[PartsMax];
        while (!backlog.IsEmpty && budget > 0)
        {
            // Ends: each round takes from the budget, or gives up.
            int count = backlog.Gather(parts, PartsMax, budget);
            long wanted = 0;
            for (int i = 0; i < count; i++) wanted += (long)parts[i].Bytes;
            if (!TrySend(connection, parts, count, isLast: wanted == backlog.Length, out int sent)) return false;
            backlog.Advance(sent, store);
            budget -= sent;
            if (sent < wanted) break;
        }

        if (backlog.IsEmpty) connection.Backlog = null;
        connection.Charge(server.Store);
        Pause(connection);
        return true;
    }

    private void SendNow(EpollConnection connection, byte* bytes, int count)
    {
        Debug.Assert(connection.Backlog == null, "what waits is sent first");
        nint sent = Libc.send(connection.Descriptor, bytes, (nuint)count, Libc.MsgNoSignal);
        if (sent < 0)
        {
            if (Libc.LastError is not (Libc.EAgain or Libc.EIntr))
            {
                connection.State = EpollConnectionState.Broken;
                return;
            }

            sent = 0;
        }

        Count(connection, sent);
        if (sent == count) return;
        connection.Backlog = new Backlog();
        connection.Backlog.Append(bytes + sent, count - (int)sent);
        connection.Charge(server.Store);
        Pause(connection);
    }

    /// <summary>Sends bytes and blocks from where they are; what the kernel does not take waits in the
    /// backlog.</summary>
    private void SendSlow(EpollConnection connection, SessionOutput output, int start, int end)
    {
        if (connection.Backlog == null) SendParts(connection, output, ref start, end);
        if (connection.State == EpollConnectionState.Broken) output.DropReferences(end);
        if (connection.State == EpollConnectionState.Broken || (connection.Backlog == null && start == end)) return;

        Append(connection.Backlog ??= new Backlog(), output, start, end);
        Flush(connection);
    }

    private static void Append(Backlog backlog, SessionOutput output, int start, int end)
    {
        while (output.TryTakeReference(end, out var reference))
        {
            if (reference.Offset > start) backlog.Append(output.Buffer.Start + start, reference.Offset - start);
            backlog.Append(reference.Block, reference.First, reference.Length);
            start = reference.Offset;
        }

        if (end > start) backlog.Append(output.Buffer.Start + start, end - start);
    }

    /// <summary>Sends at most as many parts as one call takes.</summary>
    /// <param name="start">Where the bytes begin; afterwards, where those begin that have neither been sent nor put
    /// into the backlog.</param>
    private void SendParts(EpollConnection connection, SessionOutput output, ref int start, int end)
    {
        var parts = stackalloc IoVector[PartsMax];
        var blocks = stackalloc Block[PartsMax];        // none: a part of the output
        int count = 0;
        while (count + 2 < PartsMax && output.TryTakeReference(end, out var reference))
        {
            Add(default, output.Buffer.Start + start, reference.Offset - start);
            Add(reference.Block, reference.Block.Content + reference.First, reference.Length);
            start = reference.Offset;
        }

        bool isLast = !output.HasReference(end);
        if (isLast)
        {
            Add(default, output.Buffer.Start + start, end - start);
            start = end;
        }

        bool isOpen = TrySend(connection, parts, count, isLast, out int sent);
        for (int i = 0; i < count; i++)
        {
            int bytes = (int)parts[i].Bytes, gone = Math.Min(sent, bytes);
            sent -= gone;
            if (isOpen && gone < bytes)
            {
                var backlog = connection.Backlog ??= new Backlog();
                if (blocks[i].IsNone) backlog.Append(parts[i].Start + gone, bytes - gone);
                else backlog.Append(blocks[i], (int)(parts[i].Start - blocks[i].Content) + gone, bytes - gone);
            }
            else if (!blocks[i].IsNone)
            {
                store.Release(blocks[i]);
            }
        }

        void Add(Block block, byte* at, int bytes)
        {
            Debug.Assert(count < PartsMax && bytes >= 0, "the parts fit into one call");
            blocks[count] = block;
            parts[count++] = new IoVector { Start = at, Bytes = (nuint)bytes };
        }
    }

    /// <returns>False when the connection has failed; it is marked as broken.</returns>
    private bool TrySend(EpollConnection connection, IoVector* parts, int count, bool isLast, out int sent)
    {
        sent = 0;
        nint result = Libc.SendParts(connection.Descriptor, parts, count,
            Libc.MsgNoSignal | (isLast ? 0 : Libc.MsgMore));
        if (result < 0)
        {
            if (Libc.LastError is Libc.EAgain or Libc.EIntr) return true;
            connection.State = EpollConnectionState.Broken;
            return false;
        }

        sent = (int)result;
        Count(connection, result);
        return true;
    }

    /// <summary>Stops and restarts the running of a session's commands as its unread replies grow and shrink.</summary>
    private void Pause(EpollConnection connection)
    {
        var session = connection.Session;
        long waiting = connection.Backlog?.Length ?? 0;
        long limit = session.OutputPauseBytes;
        if (session.OutputPaused)
        {
            if (waiting < Math.Max(limit / 2, 1)) session.OutputPaused = false;
        }
        else if (waiting > limit)
        {
            session.OutputPaused = true;
        }
    }

    private void Count(EpollConnection connection, nint sent)
    {
        if (sent == 0) return;
        connection.Session.BytesOut += sent;
        counters.BytesOut += sent;
        counters.Writes++;
    }
}
