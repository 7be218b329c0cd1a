using System.Text;

namespace Kv.Server.Http;

/// <summary>The lines of a request after its first one, as far as pages ask for them.</summary>
/// <param name="IsWhole">Whether the empty line that ends them has come; else there is nothing else.</param>
/// <param name="Host">What the client calls the server; empty where it does not say.</param>
/// <param name="Authorization">Empty where there is none.</param>
internal readonly record struct HttpHead(bool IsWhole, string Host, string Authorization)
{
    /// <summary>More no name and no password of ours takes; of a longer value only this much is looked at.</summary>
    private const int ValueBytesMax = 2048;

    /// <summary>Reads them.</summary>
    /// <param name="request">What has come, from the first line on, whatever comes after.</param>
    public static HttpHead Read(ReadOnlySpan<byte> request)
    {
        string host = "", authorization = "";
        bool isFirst = true;
        // Ends: each line is shorter than what was left before it.
        while (request.IndexOf((byte)'\n') is >= 0 and var end)
        {
            var line = request[..end].TrimEnd((byte)'\r');
            request = request[(end + 1)..];
            if (line.IsEmpty) return new HttpHead(true, host, authorization);
            int colon = line.IndexOf((byte)':');
            if (!isFirst && colon > 0)
            {
                if (Ascii.EqualsIgnoreCase(line[..colon], "host"u8)) host = ValueOf(line, colon);
                else if (Ascii.EqualsIgnoreCase(line[..colon], "authorization"u8)) authorization = ValueOf(line, colon);
            }

            isFirst = false;
        }

        return default;
    }

    private static string ValueOf(ReadOnlySpan<byte> line, int colon)
    {
        var value = line[(colon + 1)..];
        return Encoding.Latin1.GetString(value[..Math.Min(value.Length, ValueBytesMax)]).Trim();
    }
}
