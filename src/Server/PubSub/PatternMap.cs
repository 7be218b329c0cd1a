using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.PubSub;

/// <summary>Which subscribers each pattern has. Publishers match against lists of patterns, without a lock.</summary>
/// <remarks>
/// Threads: any. A list has the patterns of one part of the map; joining and leaving discard the list of their part,
/// and the next publisher who comes to that part makes a new list. The publisher looks at every pattern of the part
/// anyway, so the copy costs no more than matching does; and since it takes one part after another, it copies no more
/// than one list between two looks at the clock: 4,096 patterns, or a 256th of all. (One list of all patterns was
/// copied in one turn: 70 ms for a million.)
///
/// A publisher reads how many patterns ever joined, then the parts. A pattern that joins later has a higher number and
/// is left out, though a list made later contains it: a subscriber that got the message by one pattern and then joins
/// another must not get it again. A pattern that was there when the publisher began is found:
/// - in the list of its part, if nobody has joined or left that part since the list was made;
/// - else in the part itself, by a new list;
/// - and if the map was split in the meantime, in the old part, which no longer changes. A map that became empty has
///   lost all patterns that were there.
/// A pattern that has left may still be in some list: without subscribers.
/// </remarks>
/// <param name="charge">Accounts for the patterns, which are managed objects.</param>
internal sealed class PatternMap(Action<long>? charge = null)
{
    private readonly Lock _guard = new();
    private readonly NameMap<Pattern> _patterns = new();
    private NamePart<Pattern>[] _parts = [];
    private long _joined;

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
            entry ??= new Pattern(pattern, _guard, _joined);
            var subscription = new Subscription(entry, subscriber);
            Fault.Point("pubsub.join");
            if (isNew)
            {
                _patterns.Add(pattern, entry);
                charge?.Invoke(entry.Bytes);
                PublishLatched(_joined + 1);
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
            bool isRemoved = _patterns.Remove(entry.Name, out var removed);
            Debug.Assert(isRemoved && removed == entry, "a pattern with subscribers is in the map");
            charge?.Invoke(-entry.Bytes);
            PublishLatched(_joined);
        }
    }

    /// <summary>Begins a walk over all patterns that there are now.</summary>
    // The number first: parts older than the number could lack a pattern that it counts.
    public PatternWalk Walk()
    {
        long joined = Volatile.Read(ref _joined);
        return new PatternWalk(this, Volatile.Read(ref _parts), joined);
    }

    /// <summary>The patterns of one part.</summary>
    /// <remarks>A pattern may lose its subscribers before the caller pushes: its list of them is empty then.</remarks>
    public Pattern[] ListOf(NamePart<Pattern> part)
    {
        if (part.LastList is { } list) return list;
        lock (_guard) return part.List();
    }

    // Volatile, and the parts first: a publish that begins after a subscription was confirmed finds the pattern.
    private void PublishLatched(long joined)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && joined >= _joined, "the number of those who joined only grows");
        Volatile.Write(ref _parts, _patterns.Count == 0 ? [] : _patterns.InParts);
        Volatile.Write(ref _joined, joined);
    }
}
