using Kv.Protocol;
using Kv.Server.PubSub;

namespace Kv.Server.Tracking;

/// <summary>A client, as far as tracking is concerned.</summary>
internal interface ITrackingClient : ISubscriber
{
    /// <summary>No other client ever has it.</summary>
    long Id { get; }

    RespVersion Version { get; }

    /// <summary>How it tracks keys; null: not at all. Set by <see cref="TrackingEngine"/>, read from any
    /// thread.</summary>
    ClientTracking? Tracking { get; set; }

    /// <summary>Closes the connection soon. From any thread.</summary>
    void Kill();
}
