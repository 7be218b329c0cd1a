namespace Kv.Server.PubSub;

/// <summary>What one subscriber is subscribed to, by name: channels, patterns, shard channels.</summary>
/// <remarks>Threads: its subscriber's own only.</remarks>
internal sealed class SubscriptionSet
{
    public readonly NameMap<Subscription> Channels = new();
    public readonly NameMap<Subscription> Patterns = new();
    public readonly NameMap<Subscription> ShardChannels = new();

    /// <summary>What SUBSCRIBE and PSUBSCRIBE answer: channels and patterns together.</summary>
    public int PlainCount => Channels.Count + Patterns.Count;

    public int Count => PlainCount + ShardChannels.Count;

    public NameMap<Subscription> Of(SubscriptionKind kind) => kind switch
    {
        SubscriptionKind.Channel => Channels,
        SubscriptionKind.Pattern => Patterns,
        _ => ShardChannels,
    };
}
