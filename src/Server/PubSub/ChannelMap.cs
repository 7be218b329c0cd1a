using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.PubSub;

/// <summary>Which subscribers each channel has: a hash map in shards, each with a lock of its own.</summary>
/// <remarks>
/// Threads: any. One lock a shard guards its map and the lists of its channels. Copy-on-write arrays of subscribers
/// would spare publishers the lock, which is cheap when nobody else wants it, but make n subscribers joining one
/// channel copy n²/2 references, and could give two subscribers of a channel different orders of its messages.
/// Two publishers wait for each other only within a shard, and for no longer than enqueueing takes.
/// </remarks>
/// <param name="charge">Accounts for the channels, which are managed objects.</param>
internal sealed class ChannelMap(Action<long>? charge = null)
{
    private const int ShardCount = 32;

    private readonly Shard[] _shards = NewShards();
    private long _count;

    /// <summary>Channels with at least one subscriber.</summary>
    // Volatile: only shown to people (INFO), so it does not matter that a map changes a moment before the count.
    public long Count => Volatile.Read(ref _count);

    public Subscription Join(byte[] name, ISubscriber subscriber)
    {
        var shard = ShardOf(name);
        lock (shard.Guard)
        {
            bool isNew = !shard.Channels.TryGet(name, out var channel);
            channel ??= new Channel(name, shard.Guard);
            var subscription = new Subscription(channel, subscriber);
            Fault.Point("pubsub.join");
            if (isNew)
            {
                // The last step that may fail, and before the first change that would be left behind.
                shard.Channels.Add(name, channel);
                // Interlocked: shards have different locks and one count.
                Interlocked.Increment(ref _count);
                charge?.Invoke(channel.Bytes);
            }

            channel.AddLatched(subscription);
            return subscription;
        }
    }

    /// <summary>Ends a subscription: when this returns, nothing more is pushed for it.</summary>
    public void Leave(Subscription subscription)
    {
        var channel = subscription.Channel;
        lock (channel.Guard)
        {
            channel.RemoveLatched(subscription);
            if (channel.Count > 0) return;
            bool isRemoved = ShardOf(channel.Name).Channels.Remove(channel.Name, out var removed);
            Debug.Assert(isRemoved && removed == channel, "a channel with subscribers is in its map");
            Interlocked.Decrement(ref _count);
            charge?.Invoke(-channel.Bytes);
        }
    }

    /// <summary>Finds a channel; null when nobody subscribes to it.</summary>
    /// <remarks>It may lose its subscribers before the caller pushes; whoever joins after this call is too late for the
    /// message anyway.</remarks>
    public Channel? Find(ReadOnlySpan<byte> name)
    {
        var shard = ShardOf(name);
        lock (shard.Guard)
            return shard.Channels.TryGet(name, out var channel) ? channel : null;
    }

    public int CountOf(ReadOnlySpan<byte> name)
    {
        var shard = ShardOf(name);
        lock (shard.Guard)
            return shard.Channels.TryGet(name, out var channel) ? channel.Count : 0;
    }

    /// <summary>How many parts <see cref="Names"/> has.</summary>
    public static int Parts => ShardCount;

    /// <summary>The names of all channels with subscribers in one part of the map, as of one instant.</summary>
    public byte[][] Names(int part)
    {
        var shard = _shards[part];
        lock (shard.Guard) return shard.Channels.Names;
    }

    private static Shard[] NewShards()
    {
        var shards = new Shard[ShardCount];
        for (int i = 0; i < shards.Length; i++) shards[i] = new Shard();
        return shards;
    }

    private Shard ShardOf(ReadOnlySpan<byte> name) => _shards[ChannelNames.Hash(name) & (ShardCount - 1)];

    private sealed class Shard
    {
        public readonly Lock Guard = new();
        public readonly NameMap<Channel> Channels = new();
    }
}
