using System.Net;

namespace Kv.Server.Configuration;

/// <summary>One word of <c>bind</c>, taken apart.</summary>
/// <param name="Host">An IP address or a host name.</param>
/// <param name="Address">The address, or null when <paramref name="Host"/> is a name to look up.</param>
/// <param name="Optional">It may be missing on this machine: then it is left out in silence.</param>
public readonly record struct BindAddress(string Host, IPAddress? Address, bool Optional)
{
    /// <summary>Reads <c>[-]address</c>, where <c>*</c> is every IPv4 and <c>::*</c> every IPv6 address.</summary>
    /// <returns>False when it can be neither an address nor a name.</returns>
    public static bool TryParse(string word, out BindAddress result)
    {
        bool optional = word.StartsWith('-');
        string host = optional ? word[1..] : word;
        if (host.StartsWith('[') && host.EndsWith(']')) host = host[1..^1];
        var address = host switch
        {
            // The default: the system's parser is generic, and compiled at each start.
            "127.0.0.1" => IPAddress.Loopback,
            "::1" => IPAddress.IPv6Loopback,
            "*" => IPAddress.Any,
            "::*" => IPAddress.IPv6Any,
            _ => IPAddress.TryParse(host, out var parsed) ? parsed : null,
        };
        // "1.2.3" and "80" are addresses to the system's parser, yet surely a slip of whoever wrote them.
        bool short4 = address is { AddressFamily: System.Net.Sockets.AddressFamily.InterNetwork }
            && host != "*" && host.Count(c => c == '.') != 3;
        result = new BindAddress(host, address, optional);
        return !short4 && (address is not null || IsHostName(host));
    }

    /// <summary>The addresses meant, asking the resolver for a name.</summary>
    /// <exception cref="System.Net.Sockets.SocketException">The name is unknown.</exception>
    public IPAddress[] Resolve() => Address is null ? Dns.GetHostAddresses(Host) : [Address];

    private static bool IsHostName(string host) =>
        host.Length is > 0 and <= 253 && char.IsAsciiLetterOrDigit(host[0])
        && !host.All(c => char.IsAsciiDigit(c) || c == '.')
        && host.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '.' or '_');
}
