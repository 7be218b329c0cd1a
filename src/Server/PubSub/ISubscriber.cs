namespace Kv.Server.PubSub;

/// <summary>A receiver of published messages: a session, or another subscriber within the process.</summary>
internal interface ISubscriber
{
    /// <summary>Hands over a message with one reference, to be released when it has been sent or dropped.</summary>
    /// <remarks>Threads: any, with a channel's lock held. So it only enqueues: no I/O, no waiting, no call back into
    /// pub/sub, and it never throws. A subscriber that is closed releases at once.</remarks>
    void Push(SharedMessage message);
}
