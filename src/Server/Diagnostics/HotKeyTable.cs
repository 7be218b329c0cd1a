using System.Diagnostics;

namespace Kv.Server.Diagnostics;

//  which uses of keys are sampled:   every one, until there were 512 in a quarter of a second; then one in 2 of the
//  next, after 512 more one in 4, and so on; with each quarter of a second that passes twice as many again

/// <summary>The keys that one worker has used most of late, from samples of its commands.</summary>
/// <remarks>
/// Space-saving (Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
/// Streams", ICDT 2005) with counts that are halved every half minute: a key that is new takes the place of the one
/// with the least, and inherits its count, of which it is known that it is not its own. A sample counts for as many
/// uses as are not sampled between two. A key with a smaller share of all uses than one in <see cref="KeysMax"/> may
/// lose its place and its count: with 128 places keys by Zipf's law of 0.8 were shown with a tenth of their uses from
/// the fourth on, and some of the first ten not at all. Threads: a worker adds, anybody reads; a worker that finds
/// somebody reading loses its sample and does not wait. Cost: some 100 to 500 ns a sample, a few thousand samples a
/// second at most. Memory: 88 KB.
/// </remarks>
internal sealed class HotKeyTable
{
    public const int KeysMax = 512;

    /// <summary>Of a longer name this much is kept.</summary>
    public const int NameBytesMax = 128;

    public const long HalfLifeMs = 30_000;

    private const long TickMs = 250;
    private const int SamplesPerStep = 512, IntervalMax = 1 << 20;

    /// <summary>Fewer samples say nothing, where not each use is one.</summary>
    private const int SamplesMin = 4;

    private readonly Lock _guard = new();
    private readonly ulong[] _ids = new ulong[KeysMax];
    private readonly Entry[] _entries = new Entry[KeysMax];

    // What each has inherited and got itself; apart from the entries, since all of it is looked at to find the least.
    private readonly double[] _counts = new double[KeysMax];
    private readonly byte[] _names = new byte[KeysMax * NameBytesMax];
    private int _count, _interval = 1, _samplesOfStep;
    private long _tick, _halvedAtMs, _beganMs;
    private double _total, _earlierMs;
    private uint _random;

    /// <param name="seed">Tables with different ones sample differently.</param>
    public HotKeyTable(long nowMs, uint seed)
    {
        _beganMs = _halvedAtMs = nowMs;
        _tick = nowMs / TickMs;
        _random = (seed * 2654435761) | 1;
    }

    private struct Entry
    {
        public double Reads, Writes;
        public int Database, NameBytes;

        public readonly double Own => Reads + Writes;
    }

    /// <summary>How many commands there are from one sample to the next one; by chance, so that the samples of commands
    /// that repeat in a pipeline are not always of the same one.</summary>
    /// <param name="nowMs">As <see cref="HotKeys.NowMs"/>, here and below.</param>
    /// <remarks>Threads: the worker's, as <see cref="Add"/>, which comes first.</remarks>
    public int NextGap(long nowMs)
    {
        FollowRate(nowMs);
        if (_interval == 1) return 1;
        return 1 + (int)(NextRandom() % (uint)((2 * _interval) - 1));
    }

    /// <summary>A number from 0 to below <paramref name="bound"/>.</summary>
    public int Below(int bound) => (int)(NextRandom() % (uint)bound);

    /// <summary>Adds a sample, for as many uses as there were since the one before.</summary>
    /// <param name="hash">Of the key's name.</param>
    /// <param name="keys">How many keys the command has, of which this is one by chance.</param>
    public void Add(ulong hash, int database, ReadOnlySpan<byte> name, bool isWrite, int keys, long nowMs)
    {
        Debug.Assert(keys > 0, "the key is one of them");
        // Nobody waits for statistics.
        if (!_guard.TryEnter()) return;
        try
        {
            Halve(nowMs);
            double uses = (double)_interval * keys;
            _total += uses;
            ulong id = IdOf(hash, database);
            int at = _ids.AsSpan(0, _count).IndexOf(id);
            if (at < 0) at = Take(id, database, name);
            ref var entry = ref _entries[at];
            // Another key of equal hash: once in 2^64 pairs.
            if (entry.Database != database || entry.NameBytes != name.Length) return;
            _counts[at] += uses;
            if (isWrite) entry.Writes += uses;
            else entry.Reads += uses;
        }
        finally
        {
            _guard.Exit();
        }
    }

    /// <summary>Adds what is in the table to that of others.</summary>
    /// <param name="sum">By hash and database.</param>
    /// <returns>Uses of all keys a second.</returns>
    public double AddTo(Dictionary<ulong, HotKey> sum, long nowMs)
    {
        lock (_guard)
        {
            Halve(nowMs);
            // The time decays as the counts do: the ratio is what it is with a rate that does not change.
            double seconds = (_earlierMs + Math.Max(1, nowMs - _beganMs)) / 1000;
            for (int i = 0; i < _count; i++)
            {
                ref readonly var entry = ref _entries[i];
                if (_interval > 1 && entry.Own < SamplesMin * (double)_interval) continue;
                sum.TryGetValue(_ids[i], out var key);
                sum[_ids[i]] = new HotKey(entry.Database, key.Name ?? NameOf(i).ToArray(), entry.NameBytes,
                    key.ReadsPerSecond + (entry.Reads / seconds), key.WritesPerSecond + (entry.Writes / seconds));
            }

            return _total / seconds;
        }
    }

    /// <summary>The uses of a key that are known to be its own; 0 where it is not in the table.</summary>
    /// <param name="nameBytes">The length of its name.</param>
    public double UsesOf(ulong hash, int database, int nameBytes, long nowMs)
    {
        lock (_guard)
        {
            Halve(nowMs);
            int at = _ids.AsSpan(0, _count).IndexOf(IdOf(hash, database));
            if (at < 0) return 0;
            ref readonly var entry = ref _entries[at];
            return entry.Database == database && entry.NameBytes == nameBytes ? entry.Own : 0;
        }
    }

    /// <summary>Forgets everything.</summary>
    public void Reset(long nowMs)
    {
        lock (_guard)
        {
            _count = 0;
            _total = _earlierMs = 0;
            _beganMs = _halvedAtMs = nowMs;
        }
    }

    private static ulong IdOf(ulong hash, int database) => hash ^ ((ulong)database * 0x9E3779B97F4A7C15);

    private void FollowRate(long nowMs)
    {
        long tick = nowMs / TickMs;
        if (tick != _tick)
        {
            // Ends: at 1. Quiet times count, too.
            for (long passed = Math.Min(tick - _tick, 32); passed > 0 && _interval > 1; passed--) _interval /= 2;
            _tick = tick;
            _samplesOfStep = 0;
        }
        else if (++_samplesOfStep >= SamplesPerStep && _interval < IntervalMax)
        {
            _interval *= 2;
            _samplesOfStep = 0;
        }
    }

    private void Halve(long nowMs)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the counts are the lock's");
        // Ends: after so many halves nothing is left.
        for (int i = 0; nowMs - _halvedAtMs >= HalfLifeMs && i < 64; i++)
        {
            _halvedAtMs += HalfLifeMs;
            _earlierMs = (_earlierMs + _halvedAtMs - _beganMs) / 2;
            _beganMs = _halvedAtMs;
            _total /= 2;
            for (int at = _count - 1; at >= 0; at--)
            {
                ref var entry = ref _entries[at];
                entry.Reads /= 2;
                entry.Writes /= 2;
                _counts[at] /= 2;
                if (_counts[at] < 0.5) Remove(at);
            }
        }

        if (nowMs - _halvedAtMs >= HalfLifeMs) _beganMs = _halvedAtMs = nowMs;
    }

    private int Take(ulong id, int database, ReadOnlySpan<byte> name)
    {
        int at;
        if (_count < KeysMax)
        {
            at = _count++;
            _counts[at] = 0;
        }
        else
        {
            at = IndexOfLeast(_counts);
        }

        _ids[at] = id;
        _entries[at] = new Entry { Database = database, NameBytes = name.Length };
        name[..Math.Min(name.Length, NameBytesMax)].CopyTo(_names.AsSpan(at * NameBytesMax));
        return at;
    }

    private static int IndexOfLeast(double[] counts)
    {
        int at = 0;
        for (int i = 1; i < counts.Length; i++)
            if (counts[i] < counts[at]) at = i;
        return at;
    }

    private void Remove(int at)
    {
        int last = --_count;
        if (at == last) return;
        _ids[at] = _ids[last];
        _counts[at] = _counts[last];
        _entries[at] = _entries[last];
        _names.AsSpan(last * NameBytesMax, NameBytesMax).CopyTo(_names.AsSpan(at * NameBytesMax));
    }

    private ReadOnlySpan<byte> NameOf(int at) =>
        _names.AsSpan(at * NameBytesMax, Math.Min(_entries[at].NameBytes, NameBytesMax));

    private uint NextRandom()
    {
        // Xorshift, which is never 0.
        _random ^= _random << 13;
        _random ^= _random >> 17;
        _random ^= _random << 5;
        return _random;
    }
}
