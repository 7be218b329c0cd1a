using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Dispatch;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

//  a worker's receive buffer, packed: sessions stand one behind another, as many bytes as each has sent
//
//   | rest of before | received  |pad| received |pad| rest | received  |pad|  ...
//   \____ session 0 ____________/     \_ session 1 _/
//
//  pad: what the parser may read past the end; also keeps sessions from sharing lines

/// <summary>Phase A of a worker's turn: receives, and puts what came in part aside.</summary>
/// <remarks>Threads: its worker's own.</remarks>
internal sealed unsafe class ConnectionReader : IDisposable
{
    /// <summary>At most so much is received from one session in a turn.</summary>
    private const int ReceiveBytes = 64 * 1024;

    /// <summary>The same for a large argument, which is received straight into its block.</summary>
    private const int BlockBytesATurn = 1024 * 1024;

    /// <summary>And when it has just begun, in the same turn.</summary>
    private const int FirstBlockBytes = 256 * 1024;

    /// <summary>Received from a session whose last argument was large: probably it is the head of the next one, and what comes with
    /// it has to be copied into the block.</summary>
    private const int ReceiveBytesBehindBlock = 8 * 1024;

    /// <summary>What a client that has not said who it is may make us hold.</summary>
    private const int UnauthenticatedBytes = 1024 * 1024;

    private const int BufferBytes = CommandWindow.SessionsMax * (PendingInput.LongBytes + ReceiveBytes + (2 * CommandParser.PaddingBytes));

    private readonly KvServer _server;
    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly byte* _buffer;
    private int _used;
    private long _now;

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
        _now = now;
        if (session.Blocks is { IsFilling: true } blocks)
        {
            if (!TryFill(connection, session, blocks, BlockBytesATurn)) return false;
            if (blocks.IsFilling) return true;
        }

        int most = connection.ExpectsBlock ? ReceiveBytesBehindBlock : ReceiveBytes;
        connection.ExpectsBlock = false;

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
            start = _buffer + _used;
            if (kept > 0) Buffer.MemoryCopy(pending.Start, start, kept, kept);
        }

        nint received = connection.EndOfInput ? 0 : Libc.recv(connection.Descriptor, start + kept, (nuint)most, 0);
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
        session.BytesIn += received;
        _counters.BytesIn += received;
        input = start;
        length = kept + (int)received;
        connection.InputStart = start;
        connection.InputLength = length;
        if (inPlace) pending.Commit((int)received);
        else _used = (_used + length + CommandParser.PaddingBytes + 63) & ~63;
        return true;
    }

    /// <summary>What a session that goes on has in store: nothing is received.</summary>
    public void Resume(EpollConnection connection, out byte* input, out int length)
    {
        connection.InputStart = input = connection.Pending.Start;
        connection.InputLength = length = connection.Pending.Length;
    }

    /// <summary>Puts aside what is left of the input of this turn.</summary>
    /// <param name="consumed">Bytes that have been run.</param>
    public void Keep(EpollConnection connection, int consumed)
    {
        int left = connection.InputLength - consumed;
        byte* rest = connection.InputStart + consumed;
        connection.InputStart = null;
        connection.InputLength = 0;
        if (left == 0 && connection.Pending.Length == 0) return;
        var session = connection.Session;
        if (session.Partial.BigBulkLength > 0 && (session.Gate & SessionGate.Stopped) == 0) left = ReceivedBlocks.Begin(session, _store, rest, left);
        connection.Pending.Set(rest, left);
        if (session.Blocks is not { IsFilling: true } blocks || (session.Gate & SessionGate.Stopped) != 0) return;
        // What has arrived meanwhile goes where it belongs, without a turn for it.
        connection.ExpectsBlock = true;
        if (!connection.EndOfInput && !TryFill(connection, session, blocks, FirstBlockBytes)) connection.State = EpollConnectionState.Broken;
    }

    /// <returns>False when the client has passed what it may make us hold.</returns>
    public bool CheckLimits(EpollConnection connection)
    {
        var session = connection.Session;
        long held = connection.Pending.Length + (session.Blocks?.Bytes ?? 0) + (session.Transaction?.QueuedBytes ?? 0);
        return held <= (session.Authenticated ? _server.Options.ClientQueryBufferLimit : UnauthenticatedBytes);
    }

    /// <summary>Throws away what a client sends after we have said goodbye.</summary>
    /// <returns>False when it has closed its side, too.</returns>
    public bool Drain(EpollConnection connection)
    {
        // Behind what the others of the group have sent, which has not been run yet.
        nint received = Libc.recv(connection.Descriptor, _buffer + _used, ReceiveBytes, 0);
        return received > 0 || (received < 0 && Libc.LastError is Libc.EAgain or Libc.EIntr);
    }

    public void Dispose() => NativeMemory.AlignedFree(_buffer);

    private bool TryFill(EpollConnection connection, Session session, ReceivedBlocks blocks, int most)
    {
        byte* room = blocks.Room(ref most);
        nint received = Libc.recv(connection.Descriptor, room, (nuint)most, 0);
        if (received == 0) connection.EndOfInput = true;
        if (received <= 0) return received == 0 || Libc.LastError is Libc.EAgain or Libc.EIntr;
        session.LastActiveTickMs = _now;
        session.BytesIn += received;
        _counters.BytesIn += received;
        blocks.Advance((int)received);
        blocks.CompleteIfFull(session);
        return true;
    }
}
