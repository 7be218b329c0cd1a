using System.Globalization;
using System.Net;

namespace Kv.Tests.Harness;

/// <summary>The server that KV_TEST_SERVER=host:port names; the tests neither start nor stop it, but empty
/// it.</summary>
public sealed class RemoteServer(string address) : TestServer
{
    public static string? Address { get; } =
        Environment.GetEnvironmentVariable("KV_TEST_SERVER") is { Length: > 0 } a ? a : null;

    public override string Name => address;

    public override EndPoint EndPoint { get; } = Resolve(address);

    public override void Dispose()
    {
    }

    private static IPEndPoint Resolve(string address)
    {
        int colon = address.LastIndexOf(':');
        string host = address[..colon].Trim('[', ']');
        int port = int.Parse(address.AsSpan(colon + 1), CultureInfo.InvariantCulture);
        return new IPEndPoint(IPAddress.TryParse(host, out var ip) ? ip : Dns.GetHostAddresses(host)[0], port);
    }
}
