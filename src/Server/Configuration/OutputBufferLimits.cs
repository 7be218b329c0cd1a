namespace Kv.Server.Configuration;

/// <summary>When a client that does not read its replies is closed. 0 switches a limit off.</summary>
/// <param name="HardBytes">Closed at once when this many bytes wait.</param>
/// <param name="SoftBytes">Closed when this many bytes have waited for <paramref name="SoftSeconds"/>.</param>
/// <param name="SoftSeconds">How long <paramref name="SoftBytes"/> may be exceeded without a break.</param>
public readonly record struct OutputBufferLimit(long HardBytes, long SoftBytes, int SoftSeconds)
{
    /// <summary>Never closed.</summary>
    public static OutputBufferLimit None => default;
}

/// <summary>The limits of the three classes of clients. Immutable, so that a reader never sees half a change.</summary>
public sealed record OutputBufferLimits
{
    /// <summary>Clients that send commands.</summary>
    public OutputBufferLimit Normal { get; init; }

    /// <summary>Replicas.</summary>
    public OutputBufferLimit Replica { get; init; } = new(256L << 20, 64L << 20, 60);

    /// <summary>Clients with a subscription.</summary>
    public OutputBufferLimit PubSub { get; init; } = new(32L << 20, 8L << 20, 60);
}
