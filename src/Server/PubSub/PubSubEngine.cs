using System.Diagnostics;
using Kv.Server.Patterns;
using Kv.Storage;

namespace Kv.Server.PubSub;

/// <summary>Publish and subscribe of one server, across its workers.</summary>
/// <remarks>
/// Threads: publish from any; a subscriber joins and leaves from its own thread, with its own
/// <see cref="SubscriptionSet"/>. Order: a subscriber receives what one publisher sends to it in the order of sending,
/// and all subscribers of a channel receive its messages in one order (<see cref="Channel.Push"/>).
/// Locks: a channel's, one at a time; nothing of the server runs under it but <see cref="ISubscriber.Push"/>.
/// </remarks>
/// <param name="charge">Accounts for the native bytes of messages that are on their way.</param>
/// <param name="chargeManaged">Accounts for subscriptions, channels and patterns, which are managed objects.</param>
internal sealed class PubSubEngine(Action<long>? charge, Action<long>? chargeManaged = null)
{
    /// <summary>A <see cref="Subscription"/> of 48 bytes and its place in a dictionary that is two thirds
    /// full.</summary>
    private const int SubscriptionBytes = 48 + 64;

    private readonly ChannelMap _channels = new(chargeManaged), _shardChannels = new(chargeManaged);
    private readonly PatternMap _patterns = new(chargeManaged);
    private long _subscribers;
    private long _messageBytes;

    public long ChannelCount => _channels.Count;
    public long ShardChannelCount => _shardChannels.Count;
    public long PatternCount => _patterns.Count;

    // Volatile reads: figures for INFO, a moment old at worst.
    /// <summary>Subscribers with at least one subscription.</summary>
    public long SubscriberCount => Volatile.Read(ref _subscribers);

    /// <summary>Native bytes of messages that somebody has not sent yet.</summary>
    public long MessageBytes => Volatile.Read(ref _messageBytes);

    /// <summary>Subscribes to one channel or pattern.</summary>
    /// <returns>False when the subscriber had this subscription already.</returns>
    public bool Subscribe(SubscriptionKind kind, ReadOnlySpan<byte> name, ISubscriber subscriber, SubscriptionSet set)
    {
        var own = set.Of(kind);
        if (own.Contains(name)) return false;
        var copy = name.ToArray();
        var subscription = kind switch
        {
            SubscriptionKind.Channel => _channels.Join(copy, subscriber),
            SubscriptionKind.Pattern => _patterns.Join(copy, subscriber),
            _ => _shardChannels.Join(copy, subscriber),
        };
        try
        {
            Fault.Point("pubsub.note");
            own.Add(subscription.Channel.Name, subscription);
        }
        catch
        {
            Leave(kind, subscription);      // a subscription that is not in the set could never be ended
            throw;
        }

        chargeManaged?.Invoke(SubscriptionBytes);
        // Interlocked: the subscribers' own threads share this count.
        if (set.Count == 1) Interlocked.Increment(ref _subscribers);
        return true;
    }

    /// <summary>Ends one subscription. When this returns, nothing more is pushed for it.</summary>
    /// <remarks>The caller delivers what was pushed before, and then replies.</remarks>
    /// <returns>Whether there was one.</returns>
    public bool Unsubscribe(SubscriptionKind kind, ReadOnlySpan<byte> name, SubscriptionSet set)
    {
        Fault.Point("pubsub.leave");        // nothing after it throws: links are untied, names removed
        if (!set.Of(kind).Remove(name, out var subscription)) return false;
        Leave(kind, subscription);
        chargeManaged?.Invoke(-SubscriptionBytes);
        if (set.Count == 0) CountOut();
        return true;
    }

    /// <summary>Ends all subscriptions of a subscriber that goes away or starts over (RESET).</summary>
    public void UnsubscribeAll(SubscriptionSet set)
    {
        if (set.Count == 0) return;
        foreach (var kind in (ReadOnlySpan<SubscriptionKind>)[SubscriptionKind.Channel, SubscriptionKind.Pattern,
            SubscriptionKind.ShardChannel])
        {
            // One by one: what has left the account is not kept by the set until the last one has left.
            var own = set.Of(kind);
            foreach (var (name, subscription) in own.All)
            {
                own.Remove(name, out _);
                Leave(kind, subscription);
                chargeManaged?.Invoke(-SubscriptionBytes);
            }
        }

        Debug.Assert(set.Count == 0, "all of them have ended");
        CountOut();
    }

    private void CountOut()
    {
        long left = Interlocked.Decrement(ref _subscribers);
        Debug.Assert(left >= 0, "who has no subscription any more was counted when the first began");
    }

    /// <summary>Sends a message to the subscribers of a channel and of every pattern that matches it.</summary>
    /// <returns>How many copies were sent: a client subscribed to the channel and a matching pattern gets
    /// two.</returns>
    public long Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload)
    {
        var publishing = BeginPublish(channel, payload);
        publishing.GoOn(channel, payload, mayStop: false);
        return publishing.Receivers;
    }

    /// <summary>Sends a message to the subscribers of a channel.</summary>
    /// <returns>Sends it to the subscribers of matching patterns (<see cref="Publishing.GoOn"/>).</returns>
    public Publishing BeginPublish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload)
    {
        Fault.Point("pubsub.publish");
        long receivers = _channels.Find(channel) is { } found
            ? Push(found, SharedMessage.Encode("message"u8, channel, payload, Account)) : 0;
        return new Publishing(this, _patterns.Walk(), receivers);
    }

    /// <summary>Sends a message to the subscribers of a pattern, if it matches.</summary>
    /// <returns>To how many subscribers.</returns>
    internal int PublishTo(Channel pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload) =>
        GlobPattern.IsMatch(pattern.Name, channel)
            ? Push(pattern, SharedMessage.Encode("pmessage"u8, pattern.Name, channel, payload, Account))
            : 0;

    /// <summary>Sends a message to the subscribers of a shard channel; patterns do not match those.</summary>
    /// <returns>To how many subscribers.</returns>
    public long PublishShard(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload) =>
        _shardChannels.Find(channel) is { } found
            ? Push(found, SharedMessage.Encode("smessage"u8, channel, payload, Account))
            : 0;

    /// <summary>The names of all channels in one of <see cref="ChannelMap.Parts"/> parts, as of one instant.</summary>
    public byte[][] ChannelNames(bool shard, int part) => (shard ? _shardChannels : _channels).Names(part);

    public int SubscribersOf(ReadOnlySpan<byte> channel, bool shard) =>
        (shard ? _shardChannels : _channels).CountOf(channel);

    private static int Push(Channel to, SharedMessage message)
    {
        try
        {
            return to.Push(message);
        }
        finally
        {
            message.Release();      // the publisher's own; receivers hold theirs
        }
    }

    private void Leave(SubscriptionKind kind, Subscription subscription)
    {
        if (kind == SubscriptionKind.Pattern) _patterns.Leave(subscription);
        else (kind == SubscriptionKind.Channel ? _channels : _shardChannels).Leave(subscription);
    }

    /// <summary>Counts native bytes of messages that are taken or freed.</summary>
    public void Account(long bytes)
    {
        // Interlocked: publishers take and receivers free on different threads.
        long all = Interlocked.Add(ref _messageBytes, bytes);
        Debug.Assert(all >= 0, "what is freed was taken");
        charge?.Invoke(bytes);
    }
}
