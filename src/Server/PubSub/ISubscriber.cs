namespace Kv.Server.PubSub;

/// <summary>Who receives what is published: a session, or whoever else subscribes within the process.</summary>
internal interface ISubscriber
{
    /// <summary>Hands over a message and one reference to it, which the subscriber releases when it has sent or dropped it.</summary>
    /// <remarks>Threads: any, with a channel's lock held. So it only enqueues: no I/O, no waiting, no call back into pub/sub,
    /// and it never throws. A subscriber that is closed or too slow releases at once.</remarks>
    void Push(SharedMessage message);
}
