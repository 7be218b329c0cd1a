using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>What a thread of the pool needs to run commands: a session of the store, a window, a receive buffer. Leased
/// for one run at a time.</summary>
/// <remarks>Threads: whoever holds the lease; never held across an await.</remarks>
internal sealed unsafe class WindowLease : IWindowOwner, IDisposable
{
    /// <summary>How much is received from a client for a run.</summary>
    public const int ReceiveBytes = 64 * 1024;

    private const int BufferBytes = PendingInput.LongBytes + ReceiveBytes + CommandParser.PaddingBytes;

    private readonly CommandWindow _window;
    private readonly LatencyMonitor _latency;
    private readonly byte* _buffer = (byte*)NativeMemory.AlignedAlloc(BufferBytes, 64);
    private PipelineConnection? _connection;

    public WindowLease(KvServer server)
    {
        Store = server.Store.CreateSession();
        Counters = server.Counters.Create();
        _window = new CommandWindow(server, Store, Counters, this);
        _latency = server.Latency;
    }

    public StoreSession Store { get; }

    public WorkerCounters Counters { get; }

    public SessionOutput Output => _window.Output;

    /// <summary>Receives what a client has sent, and runs it after the client's pending input.</summary>
    public void ReceiveAndRun(PipelineConnection connection)
    {
        ref var pending = ref connection.Pending;
        int kept = pending.Length;
        if (!pending.IsLong)
        {
            new ReadOnlySpan<byte>(pending.Start, kept).CopyTo(new Span<byte>(_buffer, kept));
            int received = Receive(connection, _buffer + kept);
            if (received != 0) Run(connection, _buffer, kept + received);
            return;
        }

        int more = Receive(connection, pending.Reserve(ReceiveBytes));
        if (more == 0) return;
        pending.Commit(more);
        Run(connection, pending.Start, pending.Length);
    }

    /// <summary>Receives from a client that waits; the bytes are kept until the client goes on.</summary>
    public void ReadAhead(PipelineConnection connection)
    {
        int received = Receive(connection, _buffer);
        if (received != 0) connection.Pending.Append(new ReadOnlySpan<byte>(_buffer, received));
    }

    /// <summary>Runs a client's pending input.</summary>
    public void Run(PipelineConnection connection)
    {
        ref var pending = ref connection.Pending;
        byte* start = pending.Start;
        if (!pending.IsLong)
        {
            start = _buffer;
            new ReadOnlySpan<byte>(pending.Start, pending.Length).CopyTo(new Span<byte>(start, pending.Length));
        }

        Run(connection, start, pending.Length);
    }

    private int Receive(PipelineConnection connection, byte* room) =>
        connection.Receive(new Span<byte>(room, ReceiveBytes), Counters);

    /// <summary>Runs a client's input; what is left becomes its pending input.</summary>
    private void Run(PipelineConnection connection, byte* start, int length)
    {
        Debug.Assert(_connection == null && length >= 0, "a lease runs one client at a time");
        var session = connection.Session;
        _connection = connection;
        connection.InputLength = length;
        long begin = _latency.IsOn ? Stopwatch.GetTimestamp() : 0;
        Store.BeginTurn();
        try
        {
            _window.Begin();
            _window.Add(session, start, length);
            _window.Run();
        }
        finally
        {
            _window.Begin();
            _connection = null;
            connection.InputLength = 0;
            Store.GoOffline();
            if (begin != 0) _latency.Note(LatencyEvent.WorkerTurn, Stopwatch.GetTimestamp() - begin);
        }

        int consumed = _window.LastConsumed;
        Debug.Assert(consumed >= 0 && consumed <= length, "no more was run than was there");
        int left = length - consumed;
        if (session.Partial.BigBulkLength > 0 && session.Blocks is not { IsFilling: true }
            && (session.Gate & SessionGate.Stopped) == 0) left =
            ReceivedBlocks.Begin(session, Store, start + consumed, left);
        connection.Pending.Set(start + consumed, left);
        connection.HasMore = _window.LastHasMore && left > 0 && session.Blocks is not { IsFilling: true };
    }

    public void Send(int index, Session session, SessionOutput output, int start, int end)
    {
        Debug.Assert(_connection?.Session == session, "a session's replies go to its own client");
        _connection!.Send(this, output, start, end);
    }

    public void Dispose()
    {
        _window.Dispose();
        Store.Dispose();
        NativeMemory.AlignedFree(_buffer);
    }
}
