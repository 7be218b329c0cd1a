using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>What it takes to run commands on a thread of the pool: a session of the store, a window, a receive buffer.
/// Leased for one run at a time.</summary>
/// <remarks>Threads: whoever holds the lease; never held across an await.</remarks>
internal sealed unsafe class WindowLease : IWindowOwner, IDisposable
{
    /// <summary>At most so much of one client's input is looked at in a run.</summary>
    public const int ReceiveBytes = 64 * 1024;

    private const int BufferBytes = PendingInput.LongBytes + ReceiveBytes + CommandParser.PaddingBytes;

    private readonly CommandWindow _window;
    private readonly byte* _buffer = (byte*)NativeMemory.AlignedAlloc(BufferBytes, 64);
    private PipelineConnection? _connection;

    public WindowLease(KvServer server)
    {
        Store = server.Store.CreateSession();
        Counters = server.Counters.Create();
        _window = new CommandWindow(server, Store, Counters, this);
    }

    public StoreSession Store { get; }

    public WorkerCounters Counters { get; }

    public SessionOutput Output => _window.Output;

    /// <summary>Runs what a client has sent, behind what is pending of it; what is left becomes its pending
    /// input.</summary>
    public void Run(PipelineConnection connection, ReadOnlySpan<byte> received)
    {
        var session = connection.Session;
        ref var pending = ref connection.Pending;
        byte* start;
        int length = pending.Length + received.Length;
        if (pending.IsLong)
        {
            received.CopyTo(new Span<byte>(pending.Reserve(received.Length), received.Length));
            pending.Commit(received.Length);
            start = pending.Start;
        }
        else
        {
            start = _buffer;
            new ReadOnlySpan<byte>(pending.Start, pending.Length).CopyTo(new Span<byte>(start, pending.Length));
            received.CopyTo(new Span<byte>(start + pending.Length, received.Length));
        }

        _connection = connection;
        connection.InputLength = length;
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
        }

        int consumed = _window.LastConsumed;
        int left = length - consumed;
        if (session.Partial.BigBulkLength > 0 && session.Blocks is not { IsFilling: true }
            && (session.Gate & SessionGate.Stopped) == 0) left =
            ReceivedBlocks.Begin(session, Store, start + consumed, left);
        pending.Set(start + consumed, left);
        connection.HasMore = _window.LastHasMore && left > 0 && session.Blocks is not { IsFilling: true };
    }

    public void Send(int index, Session session, SessionOutput output, int start, int end) =>
        _connection!.Send(this, output, start, end);

    public void Dispose()
    {
        _window.Dispose();
        Store.Dispose();
        NativeMemory.AlignedFree(_buffer);
    }
}
