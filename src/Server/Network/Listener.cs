using System.Net;
using System.Net.Sockets;
using Kv.Server.Configuration;

namespace Kv.Server.Network;

/// <summary>Opens the sockets that the options name.</summary>
internal static class Listener
{
    /// <summary>How often another port is tried when the system's choice for the first address is taken on the next one.</summary>
    private const int FreePortAttempts = 10;

    /// <summary>Listens on all addresses, or on none.</summary>
    /// <exception cref="ListenException">An address cannot be listened on. Nothing is left open.</exception>
    public static List<Socket> OpenAll(ServerOptions options)
    {
        for (int attempt = 1; ; attempt++)
        {
            var sockets = new List<Socket>();
            try
            {
                OpenTcp(options, sockets);
                if (options.UnixSocket.Length > 0) sockets.Add(OpenUnix(options));
                return sockets;
            }
            catch (ListenException exception)
            {
                foreach (var socket in sockets) socket.Dispose();
                if (options.Port != 0 || !exception.AddressInUse || attempt == FreePortAttempts) throw;
            }
        }
    }

    private static void OpenTcp(ServerOptions options, List<Socket> sockets)
    {
        int port = options.Port;
        foreach (string word in options.Bind)
        {
            if (!BindAddress.TryParse(word, out var bind)) throw new ListenException($"'{word}' is no address to bind", false, port);
            foreach (var address in Resolve(bind, port))
            {
                var socket = OpenTcp(new IPEndPoint(address, port), options.TcpBacklog, bind.Optional);
                if (socket == null) continue;
                sockets.Add(socket);
                if (port == 0) port = ((IPEndPoint)socket.LocalEndPoint!).Port;     // all addresses share one port
            }
        }
    }

    private static IPAddress[] Resolve(BindAddress bind, int port)
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

    private static Socket? OpenTcp(IPEndPoint endpoint, int backlog, bool optional)
    {
        Socket? socket = null;
        try
        {
            socket = new Socket(endpoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (endpoint.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            // .NET sets SO_REUSEADDR by itself where it means that a restart need not wait for connections of the last run
            // to be forgotten. SocketOptionName.ReuseAddress would set SO_REUSEPORT as well: two servers on one port.
            socket.Bind(endpoint);
            socket.Listen(backlog);
            return socket;
        }
        catch (SocketException exception)
        {
            socket?.Dispose();
            bool missing = exception.SocketErrorCode is SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported or SocketError.ProtocolNotSupported;
            if (optional && missing) return null;
            throw Failed(endpoint.ToString(), endpoint.Port, exception);
        }
    }

    private static Socket OpenUnix(ServerOptions options)
    {
        string path = options.UnixSocket;
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            File.Delete(path);      // of the last run; a live server's is taken over, as Redis does
            Bind(socket, path, options.UnixSocketPerm);
            socket.Listen(options.TcpBacklog);
            return socket;
        }
        catch (Exception exception) when (exception is SocketException or IOException or UnauthorizedAccessException)
        {
            socket.Dispose();
            throw Failed(path, 0, exception);
        }
    }

    /// <summary>Binds under a umask that leaves exactly the permission asked for: changed afterwards, the socket would for a moment be open to all.</summary>
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

    private static ListenException Failed(string address, int port, Exception exception)
    {
        var error = (exception as SocketException)?.SocketErrorCode;
        string reason = error switch
        {
            SocketError.AddressAlreadyInUse => "Address already in use",
            SocketError.AddressNotAvailable => "Cannot assign requested address",
            SocketError.AccessDenied => "Permission denied",
            _ => exception.Message,
        };
        string kind = port == 0 && address.StartsWith('/') ? "Unix" : "TCP";
        return new ListenException($"Could not create server {kind} listening socket {address}: bind: {reason}",
            error == SocketError.AddressAlreadyInUse, port, exception);
    }
}
