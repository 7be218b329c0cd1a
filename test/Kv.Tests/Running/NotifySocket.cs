using System.Net.Sockets;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>A socket that takes datagrams, as systemd's or the system log's.</summary>
internal sealed class NotifySocket : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
    {
        ReceiveTimeout = 60_000,
    };

    public NotifySocket(bool isAbstract = false)
    {
        Requires.Linux("unix sockets for datagrams");
        string name = $"kv-notify-{Guid.NewGuid():N}";
        Path = isAbstract ? "@" + name : System.IO.Path.Combine(System.IO.Path.GetTempPath(), name);
        _socket.Bind(new UnixDomainSocketEndPoint(isAbstract ? "\0" + name : Path));
    }

    /// <summary>As NOTIFY_SOCKET has it.</summary>
    public string Path { get; }

    /// <summary>Whether a datagram is there.</summary>
    public bool HasInput => _socket.Poll(0, SelectMode.SelectRead);

    public string Read()
    {
        byte[] buffer = new byte[64 << 10];
        return Encoding.UTF8.GetString(buffer, 0, _socket.Receive(buffer));
    }

    public void Dispose()
    {
        _socket.Dispose();
        if (Path[0] != '@') File.Delete(Path);
    }
}
