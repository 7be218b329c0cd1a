using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Runs commands that were run before, from a file: by the same rows and handlers as those of clients, but
/// without replies, and without what clients are refused or kept waiting for.</summary>
/// <remarks>
/// Time: no key expires meanwhile, since what made a key live longer may come later in the file. Threads: one at a
/// time; nobody else uses the store.
/// </remarks>
internal sealed unsafe class ReplayWindow : IWindowOwner, ISessionOwner, IDisposable
{
    /// <summary>The clock while no key expires: after 1970, before the time of any key.</summary>
    public const long EarlyMs = 1;

    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly CommandWindow _window;
    private readonly Session _session, _freeSession;
    private Session _current;
    private string? _error;
    private long _errorsBefore;

    public ReplayWindow(KvServer server)
    {
        _store = server.Store.CreateSession();
        _counters = new WorkerCounters(server.OwnCommands.Count);
        _window = new CommandWindow(server, _store, _counters, this, server.OwnCommands);
        _session = NewSession(server);
        // As a part of a transaction nothing is left to later turns.
        _session.Transaction = new Transaction(_session, server.Store)
        {
            IsRunning = true, Pace = TransactionPace.AtOnce,
        };
        _current = _freeSession = NewSession(server);
    }

    /// <summary>Commands that were run.</summary>
    public long Commands => _counters.Commands;

    /// <summary>Commands that failed.</summary>
    public long Errors => _counters.Errors;

    public long QueryBytes => 0;

    public long QueryFreeBytes => 0;

    public long OutputBytes => 0;

    public int OutputPieces => 0;

    public long OutputMemoryBytes => 0;

    public long BufferBytes => 0;

    /// <summary>The next file begins in the first database.</summary>
    public void Begin() => _session.Database = _freeSession.Database = 0;

    /// <summary>Runs whole commands.</summary>
    /// <param name="bytes">Readable for the parser's padding past <paramref name="length"/>.</param>
    /// <param name="byClock">Whether times in the commands count from now.</param>
    /// <param name="isFree">Whether the commands run others (scripts).</param>
    /// <returns>Null, or the first error.</returns>
    /// <exception cref="InvalidOperationException">The bytes are no commands, or one does not end.</exception>
    public string? Run(byte[] bytes, int start, int length, bool byClock, bool isFree)
    {
        Debug.Assert(start + length + CommandParser.PaddingBytes <= bytes.Length, "the parser may read on");
        _error = null;
        var session = isFree ? _freeSession : _session;
        if (session != _current) session.Database = _current.Database;
        _current = session;
        _store.FrozenClockMs = byClock ? 0 : EarlyMs;
        fixed (byte* input = &bytes[start])
        {
            int position = 0;
            // Ends: each round gets on with the commands, or with the steps of one.
            while (position < length || session.Steps != null || session.Held != null)
            {
                RunSome(session, input + position, length - position);
                position += _window.LastConsumed;
                if (session.CloseAfterReply || session.IsParked)
                    throw new InvalidOperationException(_error ?? "a command does not end");
            }
        }

        return _error;
    }

    private void RunSome(Session session, byte* input, int length)
    {
        _errorsBefore = _counters.Errors;
        _store.BeginInnerTurn();
        try
        {
            _window.Begin();
            _window.Add(session, input, length);
            _window.Run();
        }
        finally
        {
            _window.Begin();
            _store.GoOffline();
        }

        if (_counters.Errors != _errorsBefore) _error ??= "a command failed";
    }

    public void Send(int index, Session session, SessionOutput output, int start, int end)
    {
        output.DropReferences(end);
        if (_counters.Errors == _errorsBefore) return;
        // Something in these replies is an error: the first line that begins as one, for the log.
        var replies = new ReadOnlySpan<byte>(output.Buffer.Start + start, end - start);
        int at = !replies.IsEmpty && replies[0] == RespType.Error ? 0 : replies.IndexOf("\r\n-"u8) + 2;
        int length = replies[at..].IndexOf((byte)'\r');
        _error ??= length > 1 ? Encoding.UTF8.GetString(replies.Slice(at + 1, length - 1)) : "a command failed";
    }

    public void Wake(Session session)
    {
        // It is asked again at once.
    }

    public void Dispose()
    {
        _session.EndSteps();
        _freeSession.EndSteps();
        _session.Transaction!.Dispose();
        _window.Dispose();
        _store.Dispose();
    }

    private Session NewSession(KvServer server) => new(id: 0, server, this) { Authenticated = true, IsReplay = true };
}
