using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using RespBenchmark.Network;

namespace RespBenchmark.NullServer;

/// <summary>A thread of the null server with the connections that were given to it.</summary>
internal sealed unsafe class NullLoop : IDisposable
{
    private const int ReadBytes = 256 * 1024, EventsMax = 256;
    // what the event of the wake-up descriptor carries; connections carry their number
    private const ulong WakeUp = 0;

    private readonly NullServerOptions _options;
    private readonly CannedReplies _replies;
    private readonly RequestCounter _counter;
    private readonly ConcurrentQueue<Socket> _arrived = [];
    private readonly Dictionary<ulong, NullConnection> _connections = [];
    private readonly int _epoll, _wake;
    private readonly Thread _thread;
    private readonly long _started = Stopwatch.GetTimestamp();
    private ulong _last;
    private long _stalls;
    private volatile bool _stop;
    private long _answered;

    public NullLoop(NullServerOptions options, int number)
    {
        _options = options;
        _replies = new CannedReplies(options);
        _counter = new RequestCounter(_replies);
        _epoll = Libc.epoll_create1(Libc.EpollCloseOnExec);
        _wake = Libc.eventfd(0, Libc.EventNonBlock | Libc.EventCloseOnExec);
        Libc.Control(_epoll, Libc.EpollAdd, _wake, Libc.EpollIn, WakeUp);
        _thread = new Thread(Run) { IsBackground = true, Name = $"null-{number}" };
        _thread.Start();
    }

    /// <summary>Replies put in line so far, by all its connections.</summary>
    public long Answered => Volatile.Read(ref _answered);

    /// <summary>Gives a connection to the loop. Any thread.</summary>
    public void Add(Socket socket)
    {
        _arrived.Enqueue(socket);
        Wake();
    }

    /// <summary>Ends the thread and closes its connections.</summary>
    public void Dispose()
    {
        _stop = true;
        Wake();
        _thread.Join();
        foreach (NullConnection connection in _connections.Values) connection.Socket.Dispose();
        while (_arrived.TryDequeue(out Socket? socket)) socket.Dispose();
        Libc.close(_epoll);
        Libc.close(_wake);
        _replies.Dispose();
    }

    private void Wake()
    {
        ulong one = 1;
        Libc.write(_wake, &one, sizeof(ulong));
    }

    private void Run()
    {
        byte* buffer = (byte*)NativeMemory.Alloc(RequestCounter.TailMax + ReadBytes);
        byte* events = (byte*)NativeMemory.Alloc((nuint)(EventsMax * Libc.EventBytes));
        while (!_stop)
        {
            int count = Libc.epoll_wait(_epoll, events, EventsMax, StallWait());
            StallWhenDue();
            for (int index = 0; index < count; index++)
            {
                ulong number = Libc.DataOf(events, index);
                if (number == WakeUp) Admit();
                else if (_connections.TryGetValue(number, out NullConnection? connection) && !Serve(connection, buffer))
                    Close(connection);
            }
        }

        NativeMemory.Free(buffer);
        NativeMemory.Free(events);
    }

    private void Admit()
    {
        ulong count;
        Libc.read(_wake, &count, sizeof(ulong));
        while (_arrived.TryDequeue(out Socket? socket))
        {
            var connection = new NullConnection(++_last, socket, _replies, _options);
            _connections.Add(connection.Number, connection);
            Libc.Control(_epoll, Libc.EpollAdd, connection.Descriptor, Libc.EpollIn, connection.Number);
        }
    }

    /// <summary>Sends what is in line, or reads and answers. False: the connection has ended.</summary>
    private bool Serve(NullConnection connection, byte* buffer)
    {
        if (!connection.HasOutput)
        {
            byte* begin = buffer + RequestCounter.TailMax;
            nint received = Libc.recv(connection.Descriptor, begin, ReadBytes, Libc.MsgDontWait);
            if (received < 0 && Marshal.GetLastPInvokeError() is Libc.EAgain or Libc.EIntr) return true;
            if (received <= 0) return false;
            if (connection.Hangs) return true;
            begin -= connection.TailBytes;
            connection.Tail.AsSpan(0, connection.TailBytes).CopyTo(new Span<byte>(begin, connection.TailBytes));
            var input = new ReadOnlySpan<byte>(begin, connection.TailBytes + (int)received);
            long before = connection.Answered;
            int consumed = _counter.Consume(input, connection);
            // one writer; readers want a recent sum
            Volatile.Write(ref _answered, _answered + connection.Answered - before);
            if (consumed < 0) return false;
            connection.TailBytes = input.Length - consumed;
            input[consumed..].CopyTo(connection.Tail);
            if (_options.Delay > TimeSpan.Zero) Thread.Sleep(_options.Delay);
        }

        return Flush(connection);
    }

    private bool Flush(NullConnection connection)
    {
        ReadOnlySpan<byte> output;
        while ((output = connection.Output()).Length > 0)      // ends: all is sent, or the kernel takes no more
        {
            fixed (byte* bytes = output)
            {
                nint sent = Libc.send(connection.Descriptor, bytes, (nuint)output.Length,
                    Libc.MsgNoSignal | Libc.MsgDontWait);
                if (sent > 0) connection.Sent((int)sent);
                bool blocked = sent < 0 && Marshal.GetLastPInvokeError() is Libc.EAgain or Libc.EIntr;
                if (sent <= 0 && !blocked) return false;
                if (blocked || (_options.Split && connection.HasOutput)) return WaitToWrite(connection, true);
            }
        }

        return !connection.Closes && WaitToWrite(connection, false);
    }

    private bool WaitToWrite(NullConnection connection, bool waits)
    {
        if (connection.WaitsToWrite == waits) return true;
        connection.WaitsToWrite = waits;
        return Libc.Control(_epoll, Libc.EpollModify, connection.Descriptor, waits ? Libc.EpollOut : Libc.EpollIn,
            connection.Number);
    }

    private void Close(NullConnection connection)
    {
        _connections.Remove(connection.Number);
        connection.Socket.Dispose();
    }

    private int StallWait() => _options.Stall == TimeSpan.Zero ? -1
        : (int)Math.Max(1,
            (((_stalls + 1) * _options.StallEvery) - Stopwatch.GetElapsedTime(_started)).TotalMilliseconds);

    /// <summary>All loops began together, so they stall together.</summary>
    private void StallWhenDue()
    {
        if (_options.Stall == TimeSpan.Zero || Stopwatch.GetElapsedTime(_started) < (_stalls + 1) * _options.StallEvery)
            return;
        _stalls++;
        Thread.Sleep(_options.Stall);
    }
}
