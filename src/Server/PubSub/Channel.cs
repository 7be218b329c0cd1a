using System.Diagnostics;

namespace Kv.Server.PubSub;

/// <summary>A channel or pattern that somebody subscribes to, and who.</summary>
/// <remarks>
/// Threads: everything but the name is used under <see cref="Guard"/> only, which neighbours in the same map share.
/// Invariant: a channel is in its map exactly while it has subscribers.
/// A list of links, so that the ten-thousandth subscriber joins and leaves in the time of the first.
/// </remarks>
internal class Channel(byte[] name, Lock guard)
{
    private Subscription? _first;

    public readonly byte[] Name = name;

    /// <summary>Bytes of the managed heap for this object, its name, and its place in a dictionary that is two thirds
    /// full.</summary>
    public virtual int Bytes => 40 + 24 + 64 + Name.Length;

    public readonly Lock Guard = guard;

    public int Count { get; private set; }

    public void AddLatched(Subscription subscription)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "a channel's list belongs to its lock");
        Debug.Assert(subscription.Channel == this && subscription.Previous == null && subscription.Next == null,
            "a subscription is in one list, once");
        subscription.Next = _first;
        if (_first != null) _first.Previous = subscription;
        _first = subscription;
        Count++;
    }

    public void RemoveLatched(Subscription subscription)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "a channel's list belongs to its lock");
        Debug.Assert(subscription.Previous != null || _first == subscription, "who leaves has joined, once");
        if (subscription.Previous != null) subscription.Previous.Next = subscription.Next;
        else _first = subscription.Next;
        if (subscription.Next != null) subscription.Next.Previous = subscription.Previous;
        subscription.Previous = subscription.Next = null;
        Count--;
        Debug.Assert(Count >= 0 && (Count == 0) == (_first == null), "the count is that of the list");
    }

    /// <summary>Hands a message to everyone who is subscribed now.</summary>
    /// <returns>How many subscribers there were.</returns>
    /// <remarks>The lock is held over the whole list: all subscribers of a channel see its messages in one order, and
    /// none who has left (<see cref="ChannelMap.Leave"/> returned) is pushed to any more. Pushing only enqueues: nobody
    /// waits for a slow one.</remarks>
    public int Push(SharedMessage message)
    {
        lock (Guard)
        {
            message.AddReferences(Count);
            for (var subscription = _first; subscription != null; subscription = subscription.Next)
                subscription.Subscriber.Push(message);
            return Count;
        }
    }
}
