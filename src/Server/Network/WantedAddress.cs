using System.Net;
using Kv.Server.Configuration;

namespace Kv.Server.Network;

/// <summary>An address to listen on, and whether it may be unavailable.</summary>
// A class, as are CommandRule and TcpListener: lists of structures are compiled at each start.
internal sealed record WantedAddress(IPEndPoint EndPoint, bool Optional)
{
    /// <summary>Whether TLS is spoken there.</summary>
    public bool IsTls { get; init; }

    /// <summary>The addresses for clients: those of plain TCP, then those of TLS.</summary>
    /// <param name="port">Of plain TCP; 0 for none.</param>
    public static List<WantedAddress> OfClients(ServerOptions options, int port)
    {
        List<WantedAddress> wanted = port == 0 ? [] : Of(options, port);
        if (options.Tls.Port != 0)
            wanted.AddRange(Of(options, options.Tls.Port).Select(address => address with { IsTls = true }));
        return wanted;
    }

    /// <summary>The addresses that the options name, each once. Asks the resolver for names, which may take
    /// long.</summary>
    public static List<WantedAddress> Of(ServerOptions options, int port)
    {
        var wanted = new List<WantedAddress>();
        foreach (string word in options.Bind)
        {
            if (!BindAddress.TryParse(word, out var bind))
                throw new ListenException($"'{word}' is no address to bind", false, port);
            foreach (var address in ListeningSocket.Resolve(bind, port))
            {
                var endPoint = new IPEndPoint(address, port);
                if (!wanted.Exists(other => other.EndPoint.Equals(endPoint)))
                    wanted.Add(new WantedAddress(endPoint, bind.Optional));
            }
        }

        return wanted;
    }
}
