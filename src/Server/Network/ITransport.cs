using System.Net;

namespace Kv.Server.Network;

/// <summary>Brings clients' bytes to sessions and replies back.</summary>
internal interface ITransport
{
    /// <summary>How long after shutdown-timeout a worker has to close its connections.</summary>
    const int StopGraceMs = 1000;

    /// <summary>When the server stops, a client that has read nothing of its replies for this long is no longer waited
    /// for.</summary>
    const int StopUnreadMs = 2000;

    string Name { get; }

    int WorkerCount { get; }

    /// <summary>Where it listens, with real ports; empty before the start.</summary>
    IReadOnlyList<EndPoint> Endpoints { get; }

    /// <summary>Listens on all addresses of the options, or on none.</summary>
    /// <exception cref="ListenException">An address cannot be listened on.</exception>
    Task StartAsync(CancellationToken cancellation);

    /// <summary>Whether those who serve clients have all come by within a time: what a timer alone does not
    /// prove.</summary>
    bool MakesProgress(int withinMs);

    /// <summary>Stops accepting, runs what was received, closes all connections, and ends its threads.</summary>
    /// <returns>False when a thread did not end within shutdown-timeout and <see cref="StopGraceMs"/>: it may still use
    /// the store.</returns>
    Task<bool> StopAsync(CancellationToken cancellation);
}
