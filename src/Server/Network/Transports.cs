using Kv.Server.Configuration;

namespace Kv.Server.Network;

/// <summary>Chooses the transport.</summary>
internal static class Transports
{
    public static ITransport Create(KvServer server) => server.Options.Transport switch
    {
        TransportKind.Epoll when OperatingSystem.IsLinux() => new EpollTransport(server),
        _ => new PipelineTransport(server),
    };
}
