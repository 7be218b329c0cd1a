using System.Net;
using Kv.Server.Configuration;

namespace Kv.Server.Network;

/// <summary>An address to listen on, and whether it may be unavailable.</summary>
internal readonly record struct WantedAddress(IPEndPoint EndPoint, bool Optional)
{
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
