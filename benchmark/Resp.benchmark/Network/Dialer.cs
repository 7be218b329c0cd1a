using System.ComponentModel;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;

namespace RespBenchmark.Network;

/// <summary>Opens connections to one target.</summary>
/// <remarks>Threads: any. The target's name is resolved once.</remarks>
internal sealed class Dialer
{
    /// <summary>How long a connection's handshake may take in all its steps, each.</summary>
    private const int HandshakeTimeoutMs = 10_000;

    private readonly Target _target;
    private readonly Handshake _handshake;
    private readonly SslClientAuthenticationOptions? _tls;

    /// <exception cref="ConnectException">The name cannot be resolved, or a file of TLS cannot be read.</exception>
    public Dialer(Target target)
    {
        _target = target;
        _handshake = new Handshake(target);
        EndPoints = Resolve(target);
        _tls = target.Tls is { } tls ? TlsSettings.Read(tls, target) : null;
    }

    /// <summary>Where the target is; the last one that was reached comes first.</summary>
    public EndPoint[] EndPoints { get; }

    public Handshake Handshake => _handshake;

    /// <summary>Whether the target runs on this host: loops then leave it cores.</summary>
    public bool IsLocal =>
        _target.UnixPath is not null || EndPoints.Any(point => point is IPEndPoint ip && IsOfThisHost(ip.Address));

    /// <exception cref="ConnectException">It could not be connected, or secured.</exception>
    /// <exception cref="TargetException">The server answered the handshake with an error.</exception>
    public Connection Open()
    {
        Socket socket = Connect();
        Connection? connection = null;
        try
        {
            socket.ReceiveTimeout = socket.SendTimeout = HandshakeTimeoutMs;
            connection = new Connection(socket, _tls is null ? null : Secure(socket, _tls));
            connection.Ask(_handshake.Bytes, _handshake.Replies);
            socket.ReceiveTimeout = socket.SendTimeout = 0;
            return connection;
        }
        catch (Exception error)
        {
            connection?.Dispose();
            socket.Dispose();
            if (error is TargetException or ConnectException) throw;
            throw new ConnectException(_target.Address, Reason(error));
        }
    }

    private Socket Connect()
    {
        Exception? last = null;
        for (int index = 0; index < EndPoints.Length; index++)
        {
            EndPoint point = EndPoints[index];
            bool unix = point is UnixDomainSocketEndPoint;
            var socket = new Socket(point.AddressFamily, SocketType.Stream,
                unix ? ProtocolType.Unspecified : ProtocolType.Tcp);
            try
            {
                if (!unix) socket.NoDelay = true;
                if (_target.From is { } from && !unix) socket.Bind(new IPEndPoint(from, 0));
                socket.Connect(point);
                (EndPoints[0], EndPoints[index]) = (EndPoints[index], EndPoints[0]);
                return socket;
            }
            catch (SocketException error)
            {
                socket.Dispose();
                last = error;
            }
        }

        throw new ConnectException(_target.Address, last is null ? "no address" : Reason(last));
    }

    private static SslStream Secure(Socket socket, SslClientAuthenticationOptions options)
    {
        var stream = new SslStream(new NetworkStream(socket, ownsSocket: false));
        stream.AuthenticateAsClient(options);
        return stream;
    }

    private static EndPoint[] Resolve(Target target)
    {
        if (target.UnixPath is { } path) return [new UnixDomainSocketEndPoint(path)];
        if (IPAddress.TryParse(target.Host, out IPAddress? address)) return [new IPEndPoint(address, target.Port)];
        try
        {
            IEnumerable<IPAddress> addresses = Dns.GetHostAddresses(target.Host)
                .OrderBy(a => a.AddressFamily != AddressFamily.InterNetwork);
            return addresses.Select(found => (EndPoint)new IPEndPoint(found, target.Port)).ToArray();
        }
        catch (SocketException error)
        {
            throw new ConnectException(target.Address, Reason(error));
        }
    }

    private static bool IsOfThisHost(IPAddress address)
    {
        if (IPAddress.IsLoopback(address)) return true;
        try
        {
            return Dns.GetHostAddresses(Dns.GetHostName()).Contains(address);
        }
        catch (SocketException)
        {
            return false;
        }
    }

    private static string Reason(Exception error) => error switch
    {
        AuthenticationException { InnerException: { } inner } => $"{error.Message} {inner.Message}",
        IOException { InnerException: { } inner } => Reason(inner),
        SocketException { NativeErrorCode: > 0
            and < 4096 } socket => new Win32Exception(socket.NativeErrorCode).Message,
        _ => error.Message,
    };
}
