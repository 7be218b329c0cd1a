using System.Net;
using System.Net.Sockets;
using Kv.Server.Configuration;

namespace Kv.Server.Network;

/// <summary>Opens a socket that listens.</summary>
internal static class ListeningSocket
{
    /// <summary>The addresses that a word of bind means.</summary>
    /// <exception cref="ListenException">The name is unknown.</exception>
    public static IPAddress[] Resolve(BindAddress bind, int port)
    {
        try
        {
            return bind.Resolve();
        }
        catch (SocketException exception)
        {
            if (bind.Optional) return [];
            throw Failed($"{bind.Host}:{port}", port, exception);
        }
    }

    /// <returns>Null when the address is optional and the machine does not have it.</returns>
    public static Socket? OpenTcp(IPEndPoint endpoint, int backlog, bool optional)
    {
        Socket? socket = null;
        try
        {
            socket = new Socket(endpoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (endpoint.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            // .NET sets SO_REUSEADDR by itself where that lets a restart begin while connections of the last run are
            // not forgotten yet. SocketOptionName.ReuseAddress would set SO_REUSEPORT as well: two servers on one port.
            socket.Bind(endpoint);
            socket.Listen(backlog);
            return socket;
        }
        catch (SocketException exception)
        {
            socket?.Dispose();
            bool missing = exception.SocketErrorCode is SocketError.AddressNotAvailable
                or SocketError.AddressFamilyNotSupported or SocketError.ProtocolNotSupported;
            if (optional && missing) return null;
            throw Failed(endpoint.ToString(), endpoint.Port, exception);
        }
    }

    public static Socket OpenUnix(ServerOptions options)
    {
        string path = options.UnixSocket;
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        // An ArgumentException says that the path is longer than the system takes (108 bytes with the final zero on
        // Linux).
        try
        {
            File.Delete(path);      // left by the last run; that of a running server is taken over, as in Redis
            Bind(socket, path, options.UnixSocketPerm);
            socket.Listen(options.TcpBacklog);
            return socket;
        }
        catch (Exception exception)
            when (exception is SocketException or IOException or UnauthorizedAccessException or ArgumentException)
        {
            socket.Dispose();
            throw Failed(path, 0, exception, isUnix: true);
        }
    }

    /// <summary>Binds under a umask that leaves exactly the wanted permission: if that were set afterwards, the socket
    /// would be open to all for a moment.</summary>
    private static void Bind(Socket socket, string path, int permission)
    {
        if (permission == 0 || OperatingSystem.IsWindows())
        {
            socket.Bind(new UnixDomainSocketEndPoint(path));
            return;
        }

        int before = Libc.umask(0x1FF & ~permission);
        try
        {
            socket.Bind(new UnixDomainSocketEndPoint(path));
        }
        finally
        {
            Libc.umask(before);
        }
    }

    private static ListenException Failed(string address, int port, Exception exception, bool isUnix = false)
    {
        var error = (exception as SocketException)?.SocketErrorCode;
        string reason = error switch
        {
            SocketError.AddressAlreadyInUse => "Address already in use",
            SocketError.AddressNotAvailable => "Cannot assign requested address",
            SocketError.AccessDenied => "Permission denied",
            null when exception is ArgumentException => "The path is too long",
            _ => exception.Message,
        };
        string kind = isUnix ? "Unix" : "TCP";
        return new ListenException($"Could not create server {kind} listening socket {address}: bind: {reason}",
            error == SocketError.AddressAlreadyInUse && !isUnix, port, exception);
    }
}
