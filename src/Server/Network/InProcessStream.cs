using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;

namespace Kv.Server.Network;

//   client's end                           server's end
//   Write ──► pipe (at most 1 MB waits) ──► Read
//   Read  ◄── pipe (at most 1 MB waits) ◄── Write

/// <summary>One of the two ends of a connection inside of the process: what is written to one is read from the
/// other.</summary>
/// <remarks>
/// Threads: as a socket's stream: one reader and one writer at a time; <see cref="Stream.Dispose()"/> from any, also
/// while those wait. After one end was disposed, the other can still read what was written before, then the end of the
/// stream; writing there is an <see cref="IOException"/>.
/// </remarks>
internal sealed class InProcessStream : Stream
{
    /// <summary>A writer that is further ahead of the reader than this waits until half of it has been read.</summary>
    private const int WaitingBytesMax = 1 << 20;

    private readonly PipeReader _input;
    private readonly PipeWriter _output;
    private readonly Lock _guard = new();
    private InProcessStream _other = null!;     // set before anybody has one of the ends
    private long _waiting;      // bytes that the other end has written and this one has not read
    private bool _isReading;
    private bool _disposed;

    private InProcessStream(PipeReader input, PipeWriter output)
    {
        _input = input;
        _output = output;
    }

    /// <summary>Both ends of a new connection. Each is disposed by whoever works with it.</summary>
    public static (InProcessStream Client, InProcessStream Server) CreatePair()
    {
        var options = new PipeOptions(pauseWriterThreshold: WaitingBytesMax, resumeWriterThreshold: WaitingBytesMax / 2,
            useSynchronizationContext: false);
        Pipe requests = new(options), replies = new(options);
        var client = new InProcessStream(replies.Reader, requests.Writer);
        var server = new InProcessStream(requests.Reader, replies.Writer);
        (client._other, server._other) = (server, client);
        return (client, server);
    }

    /// <summary>Whether bytes wait to be read, or are being written. From any thread.</summary>
    public bool HasInput => Volatile.Read(ref _waiting) > 0;

    public override bool CanRead => !_disposed;

    public override bool CanWrite => !_disposed;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Waits for bytes; with an empty buffer, until some are there.</summary>
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(!TryBeginRead(), this);
        try
        {
            return Take(await _input.ReadAsync(cancellationToken).ConfigureAwait(false), buffer.Span);
        }
        finally
        {
            EndRead();
        }
    }

    /// <summary>What <see cref="ReadNow"/> returns when nothing is there yet.</summary>
    public const int NothingYet = -1;

    /// <summary>Reads what is there, without waiting.</summary>
    /// <returns>How many bytes; 0 at the end of the stream; or <see cref="NothingYet"/>.</returns>
    public int ReadNow(Span<byte> buffer)
    {
        Debug.Assert(buffer.Length > 0, "0 is the end of the stream");
        ObjectDisposedException.ThrowIf(!TryBeginRead(), this);
        try
        {
            if (!_input.TryRead(out var result)) return NothingYet;
            int count = Take(result, buffer);
            return count == 0 && !result.IsCompleted ? NothingYet : count;
        }
        finally
        {
            EndRead();
        }
    }

    private int Take(ReadResult result, Span<byte> buffer)
    {
        ObjectDisposedException.ThrowIf(result.IsCanceled, this);      // only disposing cancels
        var taken = result.Buffer.Slice(0, Math.Min(result.Buffer.Length, buffer.Length));
        taken.CopyTo(buffer);
        int count = (int)taken.Length;
        _input.AdvanceTo(taken.End);
        AddWaiting(-count);
        return count;
    }

    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(_disposed, this);
        _other.AddWaiting(buffer.Length);       // before the bytes are there, so that the count is never negative
        FlushResult result;
        try
        {
            result = await _output.WriteAsync(buffer, cancellationToken).ConfigureAwait(false);
        }
        catch (InvalidOperationException)
        {
            throw new ObjectDisposedException(GetType().FullName);      // disposed in this very moment
        }

        ObjectDisposedException.ThrowIf(_disposed, this);
        if (result.IsCompleted)
            throw new IOException("The connection inside of the process was closed by its other end.");
    }

    public override int Read(Span<byte> buffer)
    {
        byte[] bytes = new byte[buffer.Length];
        int count = Read(bytes, 0, bytes.Length);
        bytes.AsSpan(0, count).CopyTo(buffer);
        return count;
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
        // What is written is there for the other end at once.
    }

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        bool completes;
        lock (_guard)
        {
            if (_disposed) return;
            _disposed = true;
            completes = !_isReading;
        }

        _output.Complete();
        // Ends a read that waits; that read then completes the input, which may not be done while it runs.
        _input.CancelPendingRead();
        if (completes) _input.Complete();
        base.Dispose(disposing);
    }

    private void AddWaiting(int bytes)
    {
        long waiting = Interlocked.Add(ref _waiting, bytes);
        Debug.Assert(waiting >= 0, "no more is read than was written");
    }

    private bool TryBeginRead()
    {
        lock (_guard)
        {
            Debug.Assert(!_isReading, "two read at once");
            if (_disposed) return false;
            _isReading = true;
            return true;
        }
    }

    private void EndRead()
    {
        bool completes;
        lock (_guard)
        {
            _isReading = false;
            completes = _disposed;
        }

        if (completes) _input.Complete();
    }
}
