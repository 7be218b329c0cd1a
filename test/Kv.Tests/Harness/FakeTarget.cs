using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Kv.Tests.Harness;

/// <summary>A server that one client connects to, and that answers what the test says, when it says it.</summary>
public sealed class FakeTarget : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly StringBuilder _received = new();
    private Socket? _client;

    public FakeTarget()
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        _listener.ReceiveTimeout = 60_000;
    }

    public int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    private Socket Client
    {
        get
        {
            if (_client != null) return _client;
            _client = _listener.Accept();
            _client.ReceiveTimeout = 60_000;
            return _client;
        }
    }

    /// <summary>Waits until so much has come, since the last such call, that it has a text.</summary>
    public void Await(string text)
    {
        // Ends: with the text, at the end of the connection, or when nothing comes for long.
        byte[] buffer = new byte[64 * 1024];
        for (int at; (at = _received.ToString().IndexOf(text, StringComparison.Ordinal)) < 0; )
        {
            int count = Client.Receive(buffer);
            if (count == 0) throw new EndOfStreamException($"no {text} in {_received}");
            _received.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }

        _received.Clear();
    }

    public void Answer(string text) => Client.Send(Encoding.Latin1.GetBytes(text));

    /// <summary>Waits until the client has closed.</summary>
    public void AwaitEnd()
    {
        byte[] buffer = new byte[64 * 1024];
        try
        {
            // Ends: with the connection.
            while (Client.Receive(buffer) != 0)
            {
            }
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionReset)
        {
            // Closed with bytes unread.
        }
    }

    /// <summary>Closes the connection; the client may have bytes to read yet.</summary>
    public void Close() => Client.Close();

    public void Dispose()
    {
        _client?.Dispose();
        _listener.Dispose();
    }
}
