using System.Diagnostics;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace Kv.Server.Network;

//  NotAsked --CanReceive--> Asked --something arrives, or the stream ends--> Arrived --Receive--> NotAsked

/// <summary>The receiving side of a stream: learns when something has arrived, and needs a buffer only then.</summary>
/// <remarks>
/// Threads: those of the loop that waits on the signal. An empty read ends on any thread; its end sets the state, then
/// the signal. Volatile: what the read has done is visible before the state is.
/// (A buffer for each client that had sent something, until the client had its turn, was 50 MB of garbage when 800
/// strangers came at once.)
/// </remarks>
internal sealed class StreamInput
{
    private readonly Stream _stream;
    private readonly Socket? _socket;
    private readonly TlsInput? _tls;
    private readonly LoopSignal _signal;
    private readonly Action _onArrival;
    private ConfiguredValueTaskAwaitable<int>.ConfiguredValueTaskAwaiter _emptyRead;
    private Exception? _failure;
    private volatile State _state;

    /// <param name="stream">The socket's, TLS over that, or an end of a connection inside of the process.</param>
    /// <param name="socket">The stream's; null without one.</param>
    /// <param name="signal">Set when something arrives after <see cref="CanReceive"/> has returned false.</param>
    public StreamInput(Stream stream, Socket? socket, LoopSignal signal)
    {
        Debug.Assert(socket != null || stream is InProcessStream, "the stream can be read from without waiting");
        _stream = stream;
        _socket = socket;
        if (stream is SslStream tls) _tls = new TlsInput(tls);
        _signal = signal;
        _onArrival = OnArrival;
        if (socket != null) socket.Blocking = false;        // for Receive; awaited calls do not depend on it
    }

    /// <summary>The client will send no more, and all it has sent has been received.</summary>
    public bool HasEnded { get; private set; }

    /// <summary>Whether something has arrived. Over TLS it may turn out to be a part of something.</summary>
    public bool HasArrived => _state == State.Arrived
        || (_socket != null ? _socket.Available > 0 : ((InProcessStream)_stream).HasInput)
        || (_tls != null && CanReceive());      // it may hold what has been decrypted already

    /// <summary>Whether the client will send no more, and nothing is left to receive.</summary>
    public bool IsAtEnd()
    {
        if (!CanReceive()) return false;
        if (_failure != null) return true;
        if (_tls != null) return _tls.IsAtEnd();
        if (_socket == null) return !((InProcessStream)_stream).HasInput;
        Span<byte> one = stackalloc byte[1];
        int count = _socket.Receive(one, SocketFlags.Peek, out var error);
        // The empty read may have ended for bytes that have been received since: then there is neither a byte nor an
        // end.
        if (error is SocketError.WouldBlock or SocketError.Interrupted) _state = State.NotAsked;
        else return error != SocketError.Success || count == 0;
        return false;
    }

    /// <summary>Whether something has arrived, or the stream has ended. If not, the signal is set when that
    /// happens.</summary>
    public bool CanReceive()
    {
        if (_state == State.NotAsked)
        {
            _emptyRead = _stream.ReadAsync(Memory<byte>.Empty).ConfigureAwait(false).GetAwaiter();
            _state = State.Asked;
            if (_emptyRead.IsCompleted) EndEmptyRead();
            else _emptyRead.UnsafeOnCompleted(_onArrival);
        }

        return _state == State.Arrived;
    }

    /// <summary>Receives what has arrived.</summary>
    /// <returns>How many bytes; 0 at the end, and when nothing is there after all.</returns>
    /// <exception cref="IOException">The client has gone.</exception>
    public int Receive(Span<byte> room)
    {
        Debug.Assert(_state == State.Arrived, "something has arrived");
        _state = State.NotAsked;
        if (_failure != null) throw new IOException("nothing can be received any more", _failure);
        int count = _tls != null ? _tls.ReadNow(room)
            : _socket != null ? ReceiveFromSocket(room) : ((InProcessStream)_stream).ReadNow(room);
        if (count == 0) HasEnded = true;
        return Math.Max(0, count);
    }

    private int ReceiveFromSocket(Span<byte> room)
    {
        int count = _socket!.Receive(room, SocketFlags.None, out var error);
        return error switch
        {
            SocketError.Success => count,
            SocketError.WouldBlock or SocketError.Interrupted => InProcessStream.NothingYet,
            _ => throw new SocketException((int)error),
        };
    }

    private void OnArrival()
    {
        EndEmptyRead();
        _signal.Set(here: true);
    }

    private void EndEmptyRead()
    {
        Debug.Assert(_state == State.Asked, "an empty read ends once");
        try
        {
            _emptyRead.GetResult();
        }
        catch (Exception exception)
        {
            _failure = exception;       // the client has gone, or the stream was closed here
        }

        _state = State.Arrived;
    }

    private enum State
    {
        NotAsked,
        Asked,
        Arrived,
    }
}
