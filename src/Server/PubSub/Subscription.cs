namespace Kv.Server.PubSub;

/// <summary>One subscriber's place in the list of one channel or pattern.</summary>
/// <remarks>Threads: the links belong to the lock of <see cref="Channel"/>; the rest never changes. 48 bytes.</remarks>
internal sealed class Subscription(Channel channel, ISubscriber subscriber)
{
    public readonly Channel Channel = channel;
    public readonly ISubscriber Subscriber = subscriber;
    public Subscription? Previous, Next;
}
