namespace Kv.Server.PubSub;

/// <summary>Who receives what is published: a session, or whoever else subscribes within the process.</summary>
internal interface ISubscriber
{
    /// <summary>Hands over a message with one reference, to be released when it has been sent or dropped.</summary>
    /// <remarks>Threads: any, with a channel's lock held. So it only enqueues: no I/O, no waiting, no call back into
    /// pub/sub, and it never throws. A subscriber that is closed releases at once.</remarks>
    void Push(SharedMessage message);
}
