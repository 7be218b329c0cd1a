using System.Net.Sockets;
using Kv.Protocol;

namespace RespBenchmark.Network;

/// <summary>A blocking connection beside the load: INFO, CONFIG GET, DBSIZE, samples, FLUSHALL.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class ControlConnection : IDisposable
{
    private readonly Connection _connection;

    private ControlConnection(Connection connection) => _connection = connection;

    /// <exception cref="ConnectException">It could not be connected.</exception>
    /// <exception cref="TargetException">The server answered the handshake with an error.</exception>
    public static ControlConnection Open(Target target, TimeSpan? timeout = null)
    {
        // What it asks is not part of what is measured; version 2's shapes are the simpler ones.
        Connection connection = new Dialer(target with { RespVersion = 2, Tracking = false }).Open();
        connection.Socket.ReceiveTimeout = connection.Socket.SendTimeout =
            (int)(timeout ?? TimeSpan.FromSeconds(60)).TotalMilliseconds;
        return new ControlConnection(connection);
    }

    /// <summary>Sends one request and reads its reply, an error reply too.</summary>
    /// <exception cref="TargetException">The connection failed, or what came back is no RESP.</exception>
    public RespValue Send(params ReadOnlySpan<string> arguments) => Send(Handshake.Encode(arguments));

    /// <summary>Sends one request in its wire form and reads its reply, an error reply too.</summary>
    public RespValue Send(ReadOnlySpan<byte> request)
    {
        try
        {
            _connection.Write(request);
            return _connection.ReadReply();
        }
        catch (Exception error) when (error is SocketException or IOException)
        {
            throw new TargetException(error.Message);
        }
    }

    /// <summary>The reply's text; null when the server answers an error or nothing.</summary>
    public string? TryText(params ReadOnlySpan<string> arguments)
    {
        RespValue reply = Send(arguments);
        return reply.IsError || reply.IsNull ? null : reply.Text;
    }

    public void Dispose() => _connection.Dispose();
}
