using Kv.Storage;

namespace Kv.Server.PubSub;

/// <summary>Which subscribers each pattern has. Publishers match against a snapshot of all patterns, without a
/// lock.</summary>
/// <remarks>
/// Threads: any. Joining and leaving discard the snapshot, and the next publisher makes a new one: it looks at every
/// pattern anyway, so the copy costs it no more than matching does, and a client that sends a million patterns pays for
/// no copies in between.
/// </remarks>
/// <param name="charge">Accounts for the patterns, which are managed objects.</param>
internal sealed class PatternMap(Action<long>? charge = null)
{
    private readonly Lock _guard = new();
    private readonly NameMap<Channel> _patterns = new();
    private Channel[]? _snapshot = [];

    /// <summary>Distinct patterns with at least one subscriber.</summary>
    public int Count
    {
        get { lock (_guard) return _patterns.Count; }
    }

    public Subscription Join(byte[] pattern, ISubscriber subscriber)
    {
        lock (_guard)
        {
            bool isNew = !_patterns.TryGet(pattern, out var entry);
            entry ??= new Channel(pattern, _guard);
            var subscription = new Subscription(entry, subscriber);
            Fault.Point("pubsub.join");
            if (isNew)
            {
                _patterns.Add(pattern, entry);
                charge?.Invoke(entry.Bytes);
                // Volatile: a publish that begins after this subscriber was told so must find no older snapshot.
                Volatile.Write(ref _snapshot, null);
            }

            entry.AddLatched(subscription);
            return subscription;
        }
    }

    /// <summary>Ends a subscription: when this returns, nothing more is pushed for it.</summary>
    public void Leave(Subscription subscription)
    {
        var entry = subscription.Channel;
        lock (_guard)
        {
            entry.RemoveLatched(subscription);
            if (entry.Count > 0) return;
            _patterns.Remove(entry.Name, out _);
            charge?.Invoke(-entry.Bytes);
            Volatile.Write(ref _snapshot, null);
        }
    }

    /// <summary>All patterns now.</summary>
    /// <remarks>One of them may lose its subscribers before the caller pushes: its list is empty then.</remarks>
    public Channel[] All => Volatile.Read(ref _snapshot) ?? Renew();

    private Channel[] Renew()
    {
        lock (_guard)
        {
            if (_snapshot is { } renewed) return renewed;
            var snapshot = new Channel[_patterns.Count];
            int count = 0;
            foreach (var (_, pattern) in _patterns.All) snapshot[count++] = pattern;
            // Volatile: the array's elements are written before others can see it.
            Volatile.Write(ref _snapshot, snapshot);
            return snapshot;
        }
    }
}
