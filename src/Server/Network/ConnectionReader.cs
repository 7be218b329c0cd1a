using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

//  a worker's receive buffer, packed: sessions follow each other, each with as many bytes as it has sent
//
//   | rest of before | received  |pad| received |pad| rest | received  |pad|  ...
//   \____ session 0 ____________/     \_ session 1 _/
//
//  pad: what the parser may read past the end; also keeps sessions from sharing lines

/// <summary>Phase A of a worker's turn: receives, and puts aside commands that have arrived in part.</summary>
/// <remarks>Threads: its worker's own.</remarks>
internal sealed unsafe class ConnectionReader : IDisposable
{
    /// <summary>How much is received from one session at once.</summary>
    private const int ReceiveBytes = 64 * 1024;

    /// <summary>How much of a large argument is received at once, straight into its block.</summary>
    private const int BlockBytesATurn = 1024 * 1024;

    /// <summary>How much is received after a large argument, or from a client that has just sent one: probably this is
    /// the head of the next large argument, whose first bytes have to be copied into its block.</summary>
    private const int ReceiveBytesOfHead = 8 * 1024;

    /// <summary>While more than this is missing of an argument, the worker is not woken for less.</summary>
    private const int WakeBytes = 256 * 1024;

    private const int BufferBytes = CommandWindow.SessionsMax
        * (PendingInput.LongBytes + ReceiveBytes + (2 * CommandParser.PaddingBytes));

    private readonly KvServer _server;
    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly byte* _buffer;
    private int _used;

    public ConnectionReader(KvServer server, StoreSession store, WorkerCounters counters)
    {
        _server = server;
        _store = store;
        _counters = counters;
        // Pages cost only once they are touched.
        _buffer = (byte*)NativeMemory.AlignedAlloc(BufferBytes, 4096);
    }

    public void BeginGroup() => _used = 0;

    /// <summary>Receives once.</summary>
    /// <param name="input">All bytes of the session that are not yet run; empty when nothing can be run now.</param>
    /// <returns>False when the connection has failed.</returns>
    public bool Receive(EpollConnection connection, long now, out byte* input, out int length)
    {
        var session = connection.Session;
        ref var pending = ref connection.Pending;
        input = null;
        length = 0;
        int kept = pending.Length;
        bool inPlace = pending.IsLong;
        byte* start;
        if (inPlace)
        {
            pending.Reserve(ReceiveBytes);
            start = pending.Start;
        }
        else
        {
            Debug.Assert(_used + kept + ReceiveBytes + CommandParser.PaddingBytes <= BufferBytes,
                "a group fits into the buffer");
            start = _buffer + _used;
            if (kept > 0) Buffer.MemoryCopy(pending.Start, start, kept, kept);
        }

        var blocks = session.Blocks is { IsFilling: true } filling ? filling : null;
        nint received = 0;
        nint most = blocks != null || !connection.SendsLarge ? ReceiveBytes : ReceiveBytesOfHead;
        if (!connection.EndOfInput)
            received = blocks == null ? Libc.recv(connection.Descriptor, start + kept, (nuint)most, 0)
                : ReceiveParts(connection, blocks, start + kept, out most);
        connection.HasFilledRoom = received == most;
        connection.SendsLarge = false;
        if (received == 0)
        {
            connection.EndOfInput = true;
        }
        else if (received < 0)
        {
            int error = Libc.LastError;
            if (error is not (Libc.EAgain or Libc.EIntr)) return false;
            received = 0;
        }

        session.LastActiveTickMs = now;
        Count(session, received);
        if (blocks != null)
        {
            received -= Fill(connection, session, blocks, (int)received);
            if (blocks.IsFilling) return true;
        }

        input = start;
        length = kept + (int)received;
        connection.InputStart = start;
        connection.InputLength = length;
        if (inPlace) pending.Commit((int)received);
        else _used = (_used + length + CommandParser.PaddingBytes + 63) & ~63;
        return true;
    }

    private void Count(Session session, nint received)
    {
        if (received == 0) return;
        session.BytesIn += received;
        _counters.BytesIn += received;
        _counters.Reads++;
    }

    /// <summary>Receives from a client that waits, so that its end is noticed whatever it has sent before; what comes
    /// in is kept until the client goes on. Between groups only.</summary>
    /// <returns>False when the connection has failed.</returns>
    public bool ReadAhead(EpollConnection connection, long now)
    {
        nint received = Libc.recv(connection.Descriptor, _buffer, ReceiveBytes, 0);
        if (received < 0) return Libc.LastError is Libc.EAgain or Libc.EIntr;
        if (received == 0)
        {
            connection.EndOfInput = true;
            return true;
        }

        connection.Session.LastActiveTickMs = now;
        Count(connection.Session, received);
        connection.Pending.Append(new ReadOnlySpan<byte>(_buffer, (int)received));
        connection.Charge(_server.Store);
        return true;
    }

    /// <summary>Whether something has arrived that is not received yet.</summary>
    public bool HasInput(EpollConnection connection) =>
        Libc.recv(connection.Descriptor, _buffer, 1, Libc.MsgPeek) > 0;

    /// <summary>The pending input of a session that goes on; nothing is received.</summary>
    public void Resume(EpollConnection connection, out byte* input, out int length)
    {
        connection.InputStart = input = connection.Pending.Start;
        connection.InputLength = length = connection.Pending.Length;
    }

    /// <summary>Puts aside what is left of the input of this turn.</summary>
    /// <param name="consumed">Bytes that have been run.</param>
    public void Keep(EpollConnection connection, int consumed)
    {
        Debug.Assert(consumed >= 0 && consumed <= connection.InputLength, "no more was run than was there");
        int left = connection.InputLength - consumed;
        byte* rest = connection.InputStart + consumed;
        connection.InputStart = null;
        connection.InputLength = 0;
        if (left == 0 && connection.Pending.Length == 0) return;
        var session = connection.Session;
        if (session.Partial.BigBulkLength > 0 && session.Blocks is not { IsFilling: true }
            && (session.Gate & SessionGate.Stopped) == 0) left = ReceivedBlocks.Begin(session, _store, rest, left);
        connection.Pending.Set(rest, left);
        connection.Charge(_server.Store);
    }

    /// <summary>Throws away what a client sends after our side has been closed.</summary>
    /// <returns>False when it has closed its side, too.</returns>
    public bool Drain(EpollConnection connection)
    {
        Debug.Assert(_used + ReceiveBytes <= BufferBytes, "a group fits into the buffer");
        // After the input of the group's other sessions, which has not been run yet.
        nint received = Libc.recv(connection.Descriptor, _buffer + _used, ReceiveBytes, 0);
        return received > 0 || (received < 0 && Libc.LastError is Libc.EAgain or Libc.EIntr);
    }

    public void Dispose() => NativeMemory.AlignedFree(_buffer);

    /// <summary>Receives the rest of a large argument into its block, and what comes after it.</summary>
    /// <param name="next">Where the bytes after the argument go.</param>
    /// <param name="most">How much there was room for.</param>
    private static nint ReceiveParts(EpollConnection connection, ReceivedBlocks blocks, byte* next, out nint most)
    {
        var parts = stackalloc IoVector[2];
        int room = BlockBytesATurn;
        parts[0].Start = blocks.Room(ref room);
        parts[0].Bytes = (nuint)room;
        parts[1] = new IoVector { Start = next, Bytes = ReceiveBytesOfHead };
        bool isRest = room == blocks.Expected - blocks.Received;
        most = isRest ? room + ReceiveBytesOfHead : room;
        return Libc.readv(connection.Descriptor, parts, isRest ? 2 : 1);
    }

    /// <returns>How many of the bytes were the argument's.</returns>
    private int Fill(EpollConnection connection, Session session, ReceivedBlocks blocks, int received)
    {
        Debug.Assert(received >= 0 && blocks.IsFilling, "what was received is for the block first");
        int missing = blocks.Expected - blocks.Received, filled = Math.Min(received, missing);
        blocks.Advance(filled);
        missing -= filled;
        blocks.CompleteIfFull(session);
        ArrivalRoom.Check(session, blocks);
        connection.SendsLarge = missing == 0;
        // A fast client is not slowed down by a worker that looks at every packet. A slow one is looked at, and so is
        // each one if idle clients are closed.
        int wake = missing <= WakeBytes || filled < WakeBytes / 8 || _server.Options.Timeout > 0 ? 1 : WakeBytes;
        if (wake != connection.WakeBytes)
        {
            connection.WakeBytes = wake;
            Libc.SetOption(connection.Descriptor, Libc.SolSocket, Libc.SoReceiveLowAt, wake);
        }

        return filled;
    }
}
