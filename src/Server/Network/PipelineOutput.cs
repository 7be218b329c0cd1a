using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Security;
using System.Net.Sockets;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

//   loop -- Send --> stream, when it takes all at once
//             |
//             +----> backlog -- the writer, while there is one --> stream
//
//   Held: what is in the backlog waits for the disk, and there is no writer.

/// <summary>What is sent to the client of a <see cref="PipelineConnection"/>, and waits to be.</summary>
/// <remarks>
/// Threads: the connection's loop sends; beside it there is at most one writer, of what the stream does not take at
/// once. <see cref="_guard"/> orders the two, and whoever says that more is on the disk. Figures are read from any
/// thread: a value of a moment ago is good enough.
/// </remarks>
internal sealed class PipelineOutput(KvServer server, PipelineConnection connection, Stream stream)
{
    private const int WriteBytes = 64 * 1024;

    /// <summary>Replies of at most this many bytes go straight to the writer: what a window writes between two flushes,
    /// and one more reply.</summary>
    private const int DirectBytes = 512 * 1024;

    private const long NotSeen = -1;

    // What is written is sent a buffer at a time.
    private static readonly StreamPipeWriterOptions WriterOptions =
        new(minimumBufferSize: TlsOutput.BytesMax, leaveOpen: true);

    private readonly TlsOutput? _tlsOutput = stream is SslStream tls ? new TlsOutput(tls) : null;
    private readonly PipeWriter _writer = PipeWriter.Create(stream, WriterOptions);
    private readonly Lock _guard = new();
    private readonly Backlog _backlog = new();
    private bool _isWriting;
    private long _flushes, _flushesSeen = NotSeen, _flushesSeenTickMs;
    private BufferCharge _charge;
    private long _inWriter, _heldTicket;

    /// <summary>Ends with the writer, if there is one: what was sent before is in the stream, or waits for the
    /// disk.</summary>
    public Task Written { get; private set; } = Task.CompletedTask;

    /// <summary>Bytes that the stream has not taken.</summary>
    // Volatile: _inWriter is the writing thread's.
    public long Bytes => _backlog.Length + Volatile.Read(ref _inWriter);

    /// <summary>Chunks and values that they are in.</summary>
    public int Pieces => _backlog.Pieces + (Volatile.Read(ref _inWriter) != 0 ? 1 : 0);

    /// <summary>Memory of these; that of a stored value is its bytes.</summary>
    public long MemoryBytes => BufferBytes + _backlog.BlockBytes;

    /// <summary>Memory of these without stored values.</summary>
    public long BufferBytes => _backlog.MemoryBytes + Volatile.Read(ref _inWriter);

    /// <summary>Whether the client has enough unread.</summary>
    public bool IsAhead
    {
        get
        {
            // Under the lock: either the writer has this to do after it, and wakes the loop for what waits, or it is
            // done and this sees it.
            lock (_guard) return _backlog.Length + _inWriter >= ISessionOwner.MessageBytesAhead;
        }
    }

    /// <summary>Charges the store with what the client's buffers hold now.</summary>
    public void Charge()
    {
        lock (_guard) ChargeLatched();
    }

    /// <summary>Lets go of what was not sent. When there is no writer any more.</summary>
    public void Clear(StoreSession session)
    {
        lock (_guard)
        {
            _backlog.Clear(session);
            _inWriter = 0;
            ChargeLatched();
        }
    }

    /// <summary>While the server stops: whether the client has read nothing of its replies for a while. By one
    /// thread.</summary>
    public bool LeavesUnread(long now)
    {
        if (!_isWriting) return false;      // stale is good enough: this is called again and again
        long flushes = Volatile.Read(ref _flushes);
        if (flushes != _flushesSeen) (_flushesSeen, _flushesSeenTickMs) = (flushes, now);
        return now - _flushesSeenTickMs >= ITransport.StopUnreadMs;
    }

    /// <summary>Takes the replies of a run, into the stream if it keeps up, else into the backlog.</summary>
    public void Send(WindowLease lease, SessionOutput output, int start, int end)
    {
        if (connection.HasFailed)
        {
            output.DropReferences(end);
            return;
        }

        try
        {
            Fault.Point("reply.send");
            SendNow(lease, output, start, end);
        }
        catch (Exception exception)
        {
            server.Log.LogCritical(exception, "Sending to client {Client} failed; its connection is closed",
                connection.Session.Id);
            output.DropReferences(end);
            connection.Abort();
        }
    }

    private unsafe void SendNow(WindowLease lease, SessionOutput output, int start, int end)
    {
        lock (_guard)
        {
            if (server.Aof.Holds(connection.Session.LastTicket))
            {
                _heldTicket = connection.Session.LastTicket;
                connection.Hold();
            }

            if (_isWriting || end - start > DirectBytes || output.HasReference(end) || IsHeldLatched())
                AppendLatched(output, start, end);
            else if (_tlsOutput != null) EncryptLatched(lease, output, start, end);
            else
            {
                _writer.Write(new ReadOnlySpan<byte>(output.Buffer.Start + start, end - start));
                _inWriter = end - start;
                CountSentLatched(lease.Counters);
                BeginWritingLatched(_writer.FlushAsync());
            }

            if (!_isWriting && !_backlog.IsEmpty && !IsHeldLatched()) BeginWritingLatched(default);
            PauseLatched();
        }
    }

    private bool IsHeldLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer share what is held");
        if (_heldTicket == 0) return false;
        if (server.Aof.StillHolds(_heldTicket)) return true;
        _heldTicket = 0;
        return false;
    }

    /// <summary>Whether replies wait for the disk. From any thread.</summary>
    public bool IsHeld
    {
        get
        {
            lock (_guard) return IsHeldLatched();
        }
    }

    /// <summary>Goes on with what has waited for the disk, if it no longer has to. From any thread.</summary>
    /// <returns>False when it still has to.</returns>
    public bool TryGoOn()
    {
        lock (_guard)
        {
            if (IsHeldLatched()) return false;
            if (!_isWriting && !_backlog.IsEmpty && !connection.HasFailed) BeginWritingLatched(default);
            return true;
        }
    }

    private unsafe void AppendLatched(SessionOutput output, int start, int end)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && start <= end, "what is sent is in one order");
        while (output.TryTakeReference(end, out var reference))
        {
            _backlog.Append(output.Buffer.Start + start, reference.Offset - start);
            _backlog.Append(reference.Block, reference.First, reference.Length);
            start = reference.Offset;
        }

        _backlog.Append(output.Buffer.Start + start, end - start);
    }

    /// <summary>Gives TLS what it takes at once; what comes after that waits.</summary>
    private unsafe void EncryptLatched(WindowLease lease, SessionOutput output, int start, int end)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && !_isWriting, "there is one writer");
        // Ends: each round takes some bytes, until the socket is full.
        while (start < end && !_isWriting)
        {
            int count = Math.Min(end - start, TlsOutput.BytesMax);
            _inWriter = count;
            CountSentLatched(lease.Counters);
            var write = _tlsOutput!.WriteAsync(output.Buffer.Start + start, count);
            start += count;
            if (write.IsCompletedSuccessfully)
            {
                write.GetAwaiter().GetResult();
                _inWriter = 0;
                continue;
            }

            _isWriting = true;
            _backlog.Append(output.Buffer.Start + start, end - start);
            Written = WriteAsync(write);
        }
    }

    /// <summary>A writer goes on with what the stream does not take at once.</summary>
    private void BeginWritingLatched(ValueTask<FlushResult> flush)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && !_isWriting, "there is one writer");
        if (flush.IsCompletedSuccessfully && _backlog.IsEmpty)
        {
            flush.GetAwaiter().GetResult();
            _inWriter = 0;
            return;
        }

        _isWriting = true;
        Written = WriteAsync(flush.IsCompletedSuccessfully ? default : new ValueTask(flush.AsTask()));
    }

    /// <summary>Goes on with what waits once the stream has taken what it was given first.</summary>
    private async Task WriteAsync(ValueTask first)
    {
        try
        {
            await first.ConfigureAwait(false);
            while (true)
            {
                // Ends: when nothing waits any more, or the stream fails.
                lock (_guard)
                {
                    bool isMore = TakeLatched();
                    ChargeLatched();
                    if (!isMore)
                    {
                        _isWriting = false;
                        // The loop goes on with messages.
                        if (connection.Session.Messages is { Count: > 0 }) connection.Wake();
                        return;
                    }
                }

                await _writer.FlushAsync().ConfigureAwait(false);
                Volatile.Write(ref _flushes, _flushes + 1);     // by the one writer there is
            }
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
            or OperationCanceledException or InvalidOperationException)
        {
            connection.Fail();
        }
    }

    private unsafe bool TakeLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && _isWriting, "the one writer takes");
        _inWriter = 0;
        if (_backlog.IsEmpty || IsHeldLatched()) return false;
        using var guard = server.Store.Enter();
        for (int room = WriteBytes; room > 0 && !_backlog.IsEmpty;)
        {
            byte* bytes = _backlog.Front(out int count, out _);
            count = Math.Min(count, room);
            _writer.Write(new ReadOnlySpan<byte>(bytes, count));
            _backlog.Advance(count, guard.Session);
            _inWriter += count;
            room -= count;
        }

        var counters = server.Counters.Borrow();
        CountSentLatched(counters);
        server.Counters.GiveBack(counters);
        return true;
    }

    private void CountSentLatched(WorkerCounters counters)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer count under the lock");
        connection.Session.BytesOut += _inWriter;
        counters.BytesOut += _inWriter;
        counters.Writes++;
    }

    private void PauseLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer share what is unread");
        if (_backlog.Length + _inWriter > connection.Session.OutputPauseBytes) connection.Session.OutputPaused = true;
        ChargeLatched();
    }

    /// <summary>Charges the store with what the client's buffers hold now.</summary>
    // The writing thread may read the input's size while the loop changes it: the loop charges again when it is done.
    private void ChargeLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "what is charged is under the lock");
        _charge.Set(server.Store, connection.Session, connection.BufferBytes);
    }
}
