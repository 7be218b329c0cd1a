using System.Collections.Concurrent;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A thread that waits for the sockets of TLS connections, and goes on with those that something has arrived
/// for. Linux only.</summary>
/// <remarks>Threads: its own; <see cref="Open"/> and <see cref="Remove"/> are called from any. It sleeps while nothing
/// happens.</remarks>
internal sealed class StreamPoller
{
    /// <summary>What one takes: its epoll and bell, and two while its thread starts.</summary>
    public const int Descriptors = 4;

    private readonly ConcurrentDictionary<ulong, PolledStream> _streams = new();
    private readonly ConcurrentDictionary<PolledStream, ulong> _numbers = new();
    private readonly Poller _poller = new();
    private readonly Thread _thread;
    private readonly ILogger _log;
    private ulong _last;
    private volatile bool _stopping;

    public StreamPoller(ILogger log, int number)
    {
        _log = log;
        _thread = new Thread(Run) { Name = $"kv-tls-{number}", IsBackground = true };
        _thread.Start();
    }

    /// <summary>Makes a stream of a socket, which then is the stream's.</summary>
    /// <exception cref="SocketException">The system cannot wait for it.</exception>
    public PolledStream Open(Socket socket)
    {
        socket.Blocking = false;
        var stream = new PolledStream(socket, this);
        // A number is never used twice, so that an event of a socket that is gone finds nothing.
        ulong number = Interlocked.Increment(ref _last);
        _numbers.TryAdd(stream, number);
        _streams.TryAdd(number, stream);
        const uint Events = Libc.EpollIn | Libc.EpollOut | Libc.EpollRdHup | Libc.EpollEdge;
        if (_poller.TryAdd((int)socket.Handle, Events, number)) return stream;
        Remove(stream);
        throw new SocketException((int)SocketError.NoBufferSpaceAvailable);
    }

    /// <summary>Forgets a stream. The system forgets the socket when that is closed.</summary>
    public void Remove(PolledStream stream)
    {
        if (_numbers.TryRemove(stream, out ulong number)) _streams.TryRemove(number, out _);
    }

    /// <summary>Ends the thread, once no stream is left.</summary>
    /// <returns>False when it does not end in time: something keeps it.</returns>
    public bool Stop(int milliseconds)
    {
        _stopping = true;
        _poller.Ring();
        if (!_thread.Join(milliseconds)) return false;
        _poller.Dispose();
        return true;
    }

    private void Run()
    {
        while (!_stopping)
        {
            int count = _poller.Wait(Poller.NoTimeout);
            for (int i = 0; i < count; i++)
            {
                ulong number = _poller.DataOf(i);
                if (number == Poller.Bell) _poller.Silence();
                else if (_streams.TryGetValue(number, out var stream)) Note(stream, _poller.EventsOf(i));
            }
        }
    }

    private void Note(PolledStream stream, uint events)
    {
        try
        {
            stream.Note(events);
        }
        catch (Exception exception)
        {
            _log.LogCritical(exception, "An event of a TLS connection failed; the connection is closed");
            stream.Dispose();
        }
    }
}
