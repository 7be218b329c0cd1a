using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>A client without a connection: its commands are run on the caller's thread, in a window of its own, beside
/// all others.</summary>
/// <remarks>Threads: one. Some ten times as fast as a socket, so that clients meet in the store and not on their way to
/// it.</remarks>
internal sealed unsafe class WindowClient : IWindowOwner, ISessionOwner, IDisposable
{
    private static int _ids = 1_000_000;

    private readonly StoreSession _store;
    private readonly CommandWindow _window;
    private readonly Session _session;
    private byte* _input;
    private int _capacity;
    private byte[] _replies = new byte[4096];
    private int _replied;
    private bool _isDisposed;

    public WindowClient(KvInstance instance)
    {
        KvServer server = instance.Server;
        _store = server.Store.CreateSession();
        _window = new CommandWindow(server, _store, server.Counters.Create(), this);
        _session = new Session(Interlocked.Increment(ref _ids), server, this) { Authenticated = true };
    }

    /// <summary>Called between the steps of a long command, with how many it has done.</summary>
    public Action<int>? Between { get; set; }

    /// <summary>Called when replies are sent.</summary>
    public Action? Sending { get; set; }

    /// <summary>Turns since the last <see cref="Run(string)"/> began.</summary>
    public int Turns { get; private set; }

    /// <summary>Turns in which a long command was left to a later one, since the last <see cref="Run(string)"/>
    /// began.</summary>
    public int Steps { get; private set; }

    /// <summary>The client as CLIENT LIST of others shows it.</summary>
    public string Line
    {
        get
        {
            var text = new StringBuilder();
            ClientLine.Append(text, _session);
            return text.ToString();
        }
    }

    public long QueryBytes => 0;

    public long QueryFreeBytes => 0;

    public int OutputPieces => 0;

    public long OutputMemoryBytes => 0;

    public long OutputBytes => 0;

    public long BufferBytes => 0;

    /// <summary>Runs one command.</summary>
    /// <returns>The reply as it would go over the wire.</returns>
    public string Run(string line) => Reply.Latin(Run(RespText.Encode(line)));

    /// <summary>Runs one command of any bytes.</summary>
    public Reply Call(params byte[][] words)
    {
        int at = 0;
        return Reply.Read(Run(RespText.Encode(words)), ref at);
    }

    /// <summary>Leaves in the middle of its next long command: who runs it gets an
    /// <see cref="OperationCanceledException"/>.</summary>
    public void LeaveAfter(int step) =>
        Between = at =>
        {
            if (at == step) throw new OperationCanceledException();
        };

    /// <summary>As if its next command had met a key in use before.</summary>
    public void ComesAgainSince(long tickMs) => _session.ComesAgainSinceTickMs = tickMs;

    /// <summary>Runs a pipeline.</summary>
    /// <returns>All replies, valid until the next call.</returns>
    public ReadOnlySpan<byte> Run(ReadOnlySpan<byte> wire)
    {
        Take(wire);
        _replied = Steps = Turns = 0;
        // Ends: each turn uses some of the input up, or does a step of a command, of which there are only so many.
        for (int used = 0; used < wire.Length || _session.Steps != null || _session.Held != null;)
        {
            Turns++;
            _store.BeginTurn();
            _window.Begin();
            _window.Add(_session, _input + used, wire.Length - used);
            _window.Run();
            used += _window.LastConsumed;
            _window.Begin();
            _store.GoOffline();
            if (_session.Steps == null) continue;
            Steps++;
            Between?.Invoke(Steps);
        }

        return _replies.AsSpan(0, _replied);
    }

    public void Send(int index, Session session, SessionOutput output, int start, int end)
    {
        Sending?.Invoke();
        while (output.TryTakeReference(end, out var reference))
        {
            Append(output.Buffer.Span[start..reference.Offset]);
            Append(reference.Block.Span.Slice(reference.First, reference.Length));
            session.Server.Store.Release(reference.Block);
            start = reference.Offset;
        }

        Append(output.Buffer.Span[start..end]);
    }

    public void Wake(Session session)
    {
    }

    public void Dispose()
    {
        if (_isDisposed) return;
        _isDisposed = true;
        _session.End();
        _window.Dispose();
        _store.Dispose();
        NativeMemory.Free(_input);
        _input = null;
    }

    private void Take(ReadOnlySpan<byte> wire)
    {
        if (wire.Length + CommandParser.PaddingBytes > _capacity)
        {
            _capacity = 2 * (wire.Length + CommandParser.PaddingBytes);
            NativeMemory.Free(_input);
            _input = (byte*)NativeMemory.AllocZeroed((nuint)_capacity);
        }

        wire.CopyTo(new Span<byte>(_input, _capacity));
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        if (_replied + bytes.Length > _replies.Length) Array.Resize(ref _replies, 2 * (_replied + bytes.Length));
        bytes.CopyTo(_replies.AsSpan(_replied));
        _replied += bytes.Length;
    }
}
