using System.Net;

namespace Kv.Server.Network;

/// <summary>Brings clients' bytes to sessions and replies back.</summary>
internal interface ITransport
{
    string Name { get; }

    int WorkerCount { get; }

    /// <summary>Where it listens, with real ports; empty before the start.</summary>
    IReadOnlyList<EndPoint> Endpoints { get; }

    /// <summary>Listens on all addresses of the options, or on none.</summary>
    /// <exception cref="ListenException">An address cannot be listened on.</exception>
    Task StartAsync(CancellationToken cancellation);

    /// <summary>Stops accepting, answers what was received, closes all connections, and ends its threads.</summary>
    Task StopAsync(CancellationToken cancellation);
}
