using System.Diagnostics;
using System.Net.Sockets;

namespace Kv.Host;

/// <summary>The system's log: each line that is written becomes a datagram to a unix socket.</summary>
/// <remarks>
/// Threads: the one that writes the log's lines (<see cref="LineQueue"/>), so that a log that does not read holds up
/// nobody else; for one line at most half a second. Lines that cannot be sent are dropped and counted. After an error
/// it connects again, at most once a second: the log's own daemon may have been restarted.
/// </remarks>
/// <param name="lost">Called when there is nobody to send to, with the reason; once, until there is somebody
/// again.</param>
internal sealed class SyslogStream(string path, Action<string> lost) : Stream
{
    public const string DefaultPath = "/dev/log";

    private const int SendMs = 500, ReconnectMs = 1000;

    // Longer datagrams may be refused by the system; syslog's own limit is shorter.
    private const int BytesMax = 8 << 10;

    private Socket? _socket;
    private long _triedTickMs = -ReconnectMs, _dropped;
    private bool _isLost;

    /// <summary>Lines that could not be sent.</summary>
    public long Dropped => Interlocked.Read(ref _dropped);

    public override bool CanRead => false;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        while (buffer.Length > 0)
        {
            int end = buffer.IndexOf((byte)'\n');
            var line = end < 0 ? buffer : buffer[..end];
            if (!TrySend(line[..Math.Min(line.Length, BytesMax)])) Interlocked.Increment(ref _dropped);
            buffer = end < 0 ? [] : buffer[(end + 1)..];
        }
    }

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    public override void Flush()
    {
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (disposing) _socket?.Dispose();
        base.Dispose(disposing);
    }

    private bool TrySend(ReadOnlySpan<byte> line)
    {
        if (_socket == null && !TryConnect()) return false;
        if (_socket!.Send(line, SocketFlags.None, out var error) == line.Length && error == SocketError.Success)
            return true;
        // A full queue is no reason to connect anew.
        if (error is SocketError.WouldBlock or SocketError.TimedOut or SocketError.NoBufferSpaceAvailable) return false;
        _socket.Dispose();
        _socket = null;
        return TryConnect() && _socket!.Send(line, SocketFlags.None, out error) == line.Length;
    }

    private bool TryConnect()
    {
        Debug.Assert(_socket == null, "one that works is kept");
        long now = Environment.TickCount64;
        if (now - _triedTickMs < ReconnectMs) return false;
        _triedTickMs = now;
        Socket? socket = null;
        try
        {
            // Even this fails where the process has no descriptor left.
            socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
            {
                SendTimeout = SendMs,
            };
            socket.Connect(new UnixDomainSocketEndPoint(path));
            _socket = socket;
            _isLost = false;
            return true;
        }
        catch (SocketException exception)
        {
            socket?.Dispose();
            // What the system calls "no such file" has another name here.
            if (!_isLost) lost(exception.SocketErrorCode == SocketError.AddressNotAvailable
                ? $"There is no {path}" : $"{path}: {exception.Message}");
            _isLost = true;
            return false;
        }
    }
}
