using System.Diagnostics;
using System.Text;

namespace Kv.Server.Http;

/// <summary>The first line of a request: "GET /metrics HTTP/1.1". Headers mean nothing to the pages that there
/// are.</summary>
/// <param name="Path">Without the query.</param>
internal readonly record struct HttpRequestLine(string Method, string Path)
{
    /// <summary>More bytes no path of ours has; of a longer one nothing is kept.</summary>
    private const int PathBytesMax = 256;

    public bool IsHead => Method == "HEAD";

    /// <summary>Makes a request of the three words of its line.</summary>
    /// <returns>False when they are not those of HTTP 1.</returns>
    public static bool TryRead(ReadOnlySpan<byte> method, ReadOnlySpan<byte> target, ReadOnlySpan<byte> version,
        out HttpRequestLine request)
    {
        request = default;
        if (version.Length != 8 || !version.StartsWith("HTTP/1."u8) || !char.IsAsciiDigit((char)version[7]))
            return false;
        if (target.IsEmpty || (target[0] != '/' && !target.SequenceEqual("*"u8))) return false;
        if (method.IsEmpty || method.Length > 16 || method.ContainsAnyExceptInRange((byte)'A', (byte)'Z')) return false;
        int query = target.IndexOf((byte)'?');
        if (query >= 0) target = target[..query];
        Debug.Assert(!target.Contains((byte)'?'), "a path is without its query");
        request = new HttpRequestLine(Encoding.ASCII.GetString(method),
            target.Length <= PathBytesMax ? Encoding.Latin1.GetString(target) : "");
        return true;
    }

    /// <summary>Reads the line itself, without its end.</summary>
    public static bool TryRead(ReadOnlySpan<byte> line, out HttpRequestLine request)
    {
        request = default;
        int first = line.IndexOf((byte)' '), last = line.LastIndexOf((byte)' ');
        return first >= 0 && last > first
            && TryRead(line[..first], line[(first + 1)..last], line[(last + 1)..], out request);
    }
}
