using System.Net;
using System.Net.Sockets;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Http;

/// <summary>What came back for some bytes, up to the end of the connection.</summary>
internal sealed record HttpTalk(string Raw)
{
    public string Head => Raw[..(Raw.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 2)];

    public string Body => Raw[(Raw.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];

    public string StatusLine => Raw[..Raw.IndexOf("\r\n", StringComparison.Ordinal)];

    /// <summary>The value of a header, or null.</summary>
    public string? Header(string name) => Head.Split("\r\n")
        .FirstOrDefault(line => line.StartsWith(name + ": ", StringComparison.Ordinal))?[(name.Length + 2)..];

    /// <summary>Sends a request, and checks that the reply is whole and the last.</summary>
    public static HttpTalk Get(EndPoint server, string path, string method = "GET")
    {
        var reply = Say(server, $"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n");
        if (method != "HEAD") Assert.Equal(reply.Body.Length.ToString(), reply.Header("Content-Length"));
        Assert.Equal("close", reply.Header("Connection"));
        return reply;
    }

    /// <summary>Sends bytes, each part in a packet of its own, and reads to the end. Who is slow to send what comes
    /// after a reply may find the connection closed.</summary>
    public static HttpTalk Say(EndPoint server, params string[] parts)
    {
        using var client = new RespClient(server);
        try
        {
            foreach (string part in parts) client.Send(Encoding.Latin1.GetBytes(part));
        }
        catch (SocketException)
        {
            // What was received before is still there.
        }

        return ReadToEnd(client.Socket);
    }

    public static HttpTalk ReadToEnd(Socket socket)
    {
        var text = new StringBuilder();
        byte[] buffer = new byte[65536];
        SocketError error;
        while (socket.Receive(buffer, 0, buffer.Length, SocketFlags.None, out error) is > 0 and var count)
            text.Append(Encoding.Latin1.GetString(buffer, 0, count));
        Assert.True(error is SocketError.Success or SocketError.ConnectionReset, $"{error} after {text}");
        return new HttpTalk(text.ToString());
    }
}
