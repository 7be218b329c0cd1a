using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Kv.Server.Http;

/// <summary>Replies of HTTP as bytes. Each is the last of its connection.</summary>
internal static class HttpReply
{
    public const string PlainText = "text/plain; charset=utf-8";

    /// <summary>A whole reply with a short text.</summary>
    /// <param name="status">"200 OK"</param>
    /// <param name="isHead">Whether only the head is asked for.</param>
    /// <param name="header">One more line of the head; empty for none.</param>
    public static byte[] Text(string status, string text, bool isHead = false, string header = "")
    {
        byte[] body = Encoding.UTF8.GetBytes(text);
        byte[] head = Head(status, PlainText, body.Length, header);
        return isHead ? head : [.. head, .. body];
    }

    /// <summary>The head of a reply.</summary>
    /// <param name="bytes">Of the body; null where a HEAD leaves them open.</param>
    public static byte[] Head(string status, string contentType, int? bytes, string header = "")
    {
        Debug.Assert(status.Length > 4 && int.TryParse(status.AsSpan(0, 3), out _), "a status begins with its number");
        Debug.Assert(!header.EndsWith('\n'), "lines of the head are ended here");
        var text = new StringBuilder();
        text.Append("HTTP/1.1 ").Append(status).Append("\r\nContent-Type: ").Append(contentType);
        if (bytes is { } length) text.Append(CultureInfo.InvariantCulture, $"\r\nContent-Length: {length}");
        if (header.Length > 0) text.Append("\r\n").Append(header);
        text.Append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
        return Encoding.ASCII.GetBytes(text.ToString());
    }
}
