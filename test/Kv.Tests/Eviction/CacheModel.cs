using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Eviction;

/// <summary>A cache of a number of keys that does what its policy's name says, exactly: no sampling, no segments, no
/// bound on what it costs.</summary>
internal abstract class CacheModel
{
    /// <summary>The model of a policy.</summary>
    /// <param name="expiries">Of keys by number: 0 where a key has none.</param>
    public static CacheModel Of(MaxMemoryPolicy policy, Func<int, long> expiries) => policy switch
    {
        MaxMemoryPolicy.AllKeysLru => new Recency(),
        MaxMemoryPolicy.AllKeysLfu => new Ranked(key => 0, counts: true),
        MaxMemoryPolicy.AllKeysRandom => new Chance(),
        MaxMemoryPolicy.VolatileLru => new Volatile(new Recency(), expiries),
        MaxMemoryPolicy.VolatileLfu => new Volatile(new Ranked(key => 0, counts: true), expiries),
        MaxMemoryPolicy.VolatileRandom => new Volatile(new Chance(), expiries),
        MaxMemoryPolicy.VolatileTtl => new Volatile(new Ranked(expiries, counts: false), expiries),
        _ => throw new ArgumentOutOfRangeException(nameof(policy), policy, "nothing is evicted"),
    };

    protected abstract int Count { get; }

    /// <summary>Reads a key, and makes it if it is not there; evicts until there are no more than so many, of which the
    /// new one is not one.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Read(int key, long most)
    {
        if (TryUse(key)) return true;
        // Ends: each round takes one off.
        while (Count >= Math.Max(1, most) && TryEvict())
        {
        }

        Add(key);
        return false;
    }

    /// <returns>False when it is not there.</returns>
    protected abstract bool TryUse(int key);

    protected abstract void Add(int key);

    /// <returns>False when nothing may go.</returns>
    protected abstract bool TryEvict();

    /// <summary>What was used longest ago goes.</summary>
    private sealed class Recency : CacheModel
    {
        private readonly Dictionary<int, LinkedListNode<int>> _places = [];
        private readonly LinkedList<int> _used = [];

        protected override int Count => _places.Count;

        protected override bool TryUse(int key)
        {
            if (!_places.TryGetValue(key, out var place)) return false;
            _used.Remove(place);
            _used.AddFirst(place);
            return true;
        }

        protected override void Add(int key) => _places[key] = _used.AddFirst(key);

        protected override bool TryEvict()
        {
            if (_used.Last is not { } last) return false;
            _places.Remove(last.Value);
            _used.RemoveLast();
            return true;
        }
    }

    /// <summary>What ranks lowest goes: of what was used least often since it is there, what was used longest ago; or
    /// what expires first.</summary>
    private sealed class Ranked(Func<int, long> rankOfNew, bool counts) : CacheModel
    {
        private readonly Dictionary<int, (long Rank, long Tick)> _ranks = [];
        private readonly SortedSet<(long Rank, long Tick, int Key)> _order = [];
        private long _tick;

        protected override int Count => _ranks.Count;

        protected override bool TryUse(int key)
        {
            if (!_ranks.TryGetValue(key, out var rank)) return false;
            if (!counts) return true;
            _order.Remove((rank.Rank, rank.Tick, key));
            Put(key, rank.Rank + 1);
            return true;
        }

        protected override void Add(int key) => Put(key, rankOfNew(key));

        protected override bool TryEvict()
        {
            if (_order.Count == 0) return false;
            _ranks.Remove(_order.Min.Key);
            _order.Remove(_order.Min);
            return true;
        }

        private void Put(int key, long rank)
        {
            _ranks[key] = (rank, ++_tick);
            _order.Add((rank, _tick, key));
        }
    }

    /// <summary>Any goes, each as likely as another.</summary>
    private sealed class Chance : CacheModel
    {
        private readonly Dictionary<int, int> _places = [];
        private readonly List<int> _keys = [];
        private readonly Random _random = Seed.NewRandom(3);

        protected override int Count => _keys.Count;

        protected override bool TryUse(int key) => _places.ContainsKey(key);

        protected override void Add(int key)
        {
            _places[key] = _keys.Count;
            _keys.Add(key);
        }

        protected override bool TryEvict()
        {
            if (_keys.Count == 0) return false;
            int place = _random.Next(_keys.Count);
            _places.Remove(_keys[place]);
            _keys[place] = _keys[^1];
            _keys.RemoveAt(_keys.Count - 1);
            if (place != _keys.Count) _places[_keys[place]] = place;
            return true;
        }
    }

    /// <summary>Keys without an expiry stay; the others go as in another model.</summary>
    private sealed class Volatile(CacheModel others, Func<int, long> expiries) : CacheModel
    {
        private readonly HashSet<int> _lasting = [];

        protected override int Count => _lasting.Count + others.Count;

        protected override bool TryUse(int key) => expiries(key) == 0 ? _lasting.Contains(key) : others.TryUse(key);

        protected override void Add(int key)
        {
            if (expiries(key) == 0) _lasting.Add(key);
            else others.Add(key);
        }

        protected override bool TryEvict() => others.TryEvict();
    }
}
