using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace Kv.Server.Network;

/// <summary>The bytes of a socket for TLS, on Linux: taken and sent at once where the socket allows it; where it does
/// not, <see cref="StreamPoller"/> waits for it.</summary>
/// <remarks>
/// Against NetworkStream it saves, of each request, two looks whether something is there and a change of threads: a
/// request costs one receive and one send, and runs where its arrival is seen.
/// Threads: as a socket's stream: one reader and one writer at a time; <see cref="Stream.Dispose()"/> from any, also
/// while those wait. Events of the socket come when something changes (edge-triggered): <see cref="_mayRead"/> says
/// that something has come since the socket was last found empty.
/// </remarks>
internal sealed class PolledStream(Socket socket, StreamPoller poller) : Stream
{
    private const int NothingYet = -1;

    private readonly LoopSignal _read = new(), _write = new();
    private int _mayRead;       // what is there already is an event of its own
    private volatile bool _hasHungUp, _isDisposed;

    /// <summary>Whether a reader goes on within the poller's thread: it has to wait for nothing there, and to give way
    /// soon. A handshake computes for too long.</summary>
    public bool ContinuesInPoller { get; set; }

    public override bool CanRead => !_isDisposed;

    public override bool CanWrite => !_isDisposed;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Takes note of events; by the poller's thread.</summary>
    // The notes come before the signals: who waits has looked at them after it cleared its signal.
    public void Note(uint events)
    {
        const uint Ends = Libc.EpollRdHup | Libc.EpollHup | Libc.EpollErr;
        if ((events & Ends) != 0) _hasHungUp = true;
        if ((events & (Libc.EpollOut | Ends)) != 0) _write.Set();
        if ((events & (Libc.EpollIn | Ends)) == 0) return;
        Volatile.Write(ref _mayRead, 1);
        _read.Set(here: ContinuesInPoller);
    }

    /// <summary>Waits for bytes; with an empty buffer, until some may be there.</summary>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (buffer.IsEmpty)
            return Volatile.Read(ref _mayRead) != 0 ? new ValueTask<int>(0) : ReadLaterAsync(buffer);
        int count = TryReceive(buffer.Span);
        return count != NothingYet ? new ValueTask<int>(count) : ReadLaterAsync(buffer);
    }

    public override ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int sent = 0;
        // Ends: when all is sent, or the socket takes no more.
        while (sent < buffer.Length)
        {
            _write.Clear();
            int count = TrySend(buffer.Span[sent..]);
            if (count == NothingYet) return WriteLaterAsync(buffer[sent..]);
            sent += count;
        }

        return ValueTask.CompletedTask;
    }

    public override int Read(byte[] buffer, int offset, int count) =>
        ReadAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    public override void Write(byte[] buffer, int offset, int count) =>
        WriteAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override void Flush()
    {
        // What is written is the system's.
    }

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (!_isDisposed)
        {
            _isDisposed = true;
            poller.Remove(this);
            socket.Dispose();
            _read.Set();        // who waits finds the stream disposed
            _write.Set();
        }

        base.Dispose(disposing);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> ReadLaterAsync(Memory<byte> buffer)
    {
        while (true)
        {
            // Ends: with the socket's next event that brings something, or its end; or when the stream is disposed.
            _read.Clear();
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (buffer.IsEmpty)
            {
                if (Volatile.Read(ref _mayRead) != 0) return 0;
            }
            else if (TryReceive(buffer.Span) is var count and not NothingYet) return count;

            await _read.WaitAsync().ConfigureAwait(false);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask WriteLaterAsync(ReadOnlyMemory<byte> buffer)
    {
        while (!buffer.IsEmpty)
        {
            // Ends: as the socket takes what is left, or when the stream is disposed. The signal was cleared before the
            // socket was found full.
            await _write.WaitAsync().ConfigureAwait(false);
            _write.Clear();
            while (!buffer.IsEmpty && TrySend(buffer.Span) is var count and not NothingYet) buffer = buffer[count..];
        }
    }

    private int TryReceive(Span<byte> room)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        // Exchange: before the socket is looked at. What comes later is an event, which sets it again.
        Interlocked.Exchange(ref _mayRead, 0);
        int count = socket.Receive(room, SocketFlags.None, out var error);
        if (error is SocketError.WouldBlock) return NothingYet;
        // A short read has emptied the socket; but an end that was announced with those bytes is not announced again.
        if (count == room.Length || _hasHungUp || error != SocketError.Success) Volatile.Write(ref _mayRead, 1);
        if (error == SocketError.Interrupted) return NothingYet;
        return error == SocketError.Success ? count : throw Broken(error);
    }

    private int TrySend(ReadOnlySpan<byte> bytes)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        int count = socket.Send(bytes, SocketFlags.None, out var error);
        if (error == SocketError.Success) return count;
        return error == SocketError.WouldBlock ? NothingYet : throw Broken(error);
    }

    private static IOException Broken(SocketError error) =>
        new("the connection has broken", new SocketException((int)error));
}
