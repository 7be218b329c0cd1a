using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Estimates how many reads would have found their key with twice the memory.</summary>
/// <remarks>
/// A store of twice the size has what this one has, and about as much again of what was evicted last. So a sample of
/// the evicted keys is remembered, newest first, as many as their share of the bytes that are alive now; a read that
/// does not find its key, but finds it here, stands for as many as one key of the sample stands for. One that comes
/// back leaves, one whose time passes does not count. The sample is of keys by their hash, one in 16 at first; whenever
/// the table is full it is halved. Source: the sampling of SHARDS (FAST 2015).
/// Cost: 400 KB; a compare for each miss, insert and eviction, the lock for one in 16 of them or fewer.
/// Threads: any; what is in the table under the lock.
/// </remarks>
internal sealed class EvictionShadow(MemoryBudget budget)
{
    /// <summary>One key of 2 to this power is in the sample at first, and places of the table.</summary>
    private const int ShiftMin = 4, ShiftMax = 40, Places = 8192;

    /// <summary>A place, and one of the map from keys to places, about.</summary>
    private const long BytesOfPlace = 24 + 24;

    /// <param name="Mixed">What a key is known by; 0: nothing is here any more.</param>
    private record struct Entry(ulong Mixed, long ExpiryMs, long Bytes);

    private readonly Lock _lock = new();
    private Dictionary<ulong, int>? _placeOf;
    private Entry[] _ring = [];
    private ulong _below;       // a key is in the sample when what it is known by is less; 0: nothing is sampled
    private int _shift = ShiftMin;
    private int _oldest, _used;
    private long _bytes, _most, _hits;

    /// <summary>Reads that would have found their key, as estimated.</summary>
    public long Hits => Volatile.Read(ref _hits);

    /// <summary>Begins, or fits the simulated store to the bytes that are alive now.</summary>
    public void Fit(long aliveBytes)
    {
        lock (_lock)
        {
            if (_placeOf == null)
            {
                _ring = new Entry[Places];
                _placeOf = new Dictionary<ulong, int>(Places);
                budget.ChargeTable(Places * BytesOfPlace);
                Volatile.Write(ref _below, ulong.MaxValue >> ShiftMin);
            }

            _most = aliveBytes;
            DropOld();
        }
    }

    /// <summary>Ends: nothing is evicted any more.</summary>
    public void Clear()
    {
        if (Volatile.Read(ref _below) == 0) return;
        lock (_lock)
        {
            Volatile.Write(ref _below, 0);
            budget.ChargeTable(-Places * BytesOfPlace);
            _placeOf = null;
            _ring = [];
            (_shift, _oldest, _used, _bytes) = (ShiftMin, 0, 0, 0);
        }
    }

    /// <summary>A key has been evicted.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Add(ulong hash, int database, long bytes, long expiryMs)
    {
        ulong mixed = Mix(hash, database);
        if (mixed < Volatile.Read(ref _below)) AddSlow(mixed, bytes, expiryMs);
    }

    /// <summary>A key is there again.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Remove(ulong hash, int database)
    {
        ulong mixed = Mix(hash, database);
        if (mixed < Volatile.Read(ref _below)) RemoveSlow(mixed);
    }

    /// <summary>A read has not found its key.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void NoteMiss(ulong hash, int database, long nowMs)
    {
        ulong mixed = Mix(hash, database);
        if (mixed < Volatile.Read(ref _below)) NoteMissSlow(mixed, nowMs);
    }

    // Never 0, and as good as random in its high bits.
    private static ulong Mix(ulong hash, int database)
    {
        ulong mixed = (hash ^ (uint)database) * 0x9E3779B97F4A7C15UL;
        return (BitOperations.RotateLeft(mixed, 32) * 0xD6E8FEB86659FD93UL) | 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AddSlow(ulong mixed, long bytes, long expiryMs)
    {
        lock (_lock)
        {
            if (mixed >= _below) return;        // it was halved meanwhile, or has ended
            Take(mixed);
            if (_used == Places) MakePlace();
            if (mixed >= _below) return;
            int place = (_oldest + _used++) & (Places - 1);
            _ring[place] = new Entry(mixed, expiryMs, bytes);
            _placeOf![mixed] = place;
            _bytes += bytes;
            DropOld();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void RemoveSlow(ulong mixed)
    {
        lock (_lock)
        {
            if (mixed < _below) Take(mixed);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteMissSlow(ulong mixed, long nowMs)
    {
        lock (_lock)
        {
            if (mixed >= _below || !_placeOf!.TryGetValue(mixed, out int place)) return;
            long expiryMs = _ring[place].ExpiryMs;
            if (expiryMs == Record.NoExpiry || expiryMs > nowMs) Volatile.Write(ref _hits, _hits + (1L << _shift));
        }
    }

    private void Take(ulong mixed)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the table is the lock's");
        if (!_placeOf!.Remove(mixed, out int place)) return;
        _bytes -= _ring[place].Bytes;
        _ring[place] = default;
        Debug.Assert(_bytes >= 0, "what is forgotten was counted");
    }

    /// <summary>Forgets the oldest ones that would not fit any more.</summary>
    private void DropOld()
    {
        long most = _most >> _shift;
        // Ends: each round takes one place off.
        while (_used != 0 && (_bytes > most || _ring[_oldest].Mixed == 0))
        {
            if (_ring[_oldest].Mixed != 0) Take(_ring[_oldest].Mixed);
            _oldest = (_oldest + 1) & (Places - 1);
            _used--;
        }
    }

    /// <summary>Closes the gaps of those who have left, or halves the sample where there are few.</summary>
    private void MakePlace()
    {
        if (_placeOf!.Count > Places / 4 * 3 && _shift < ShiftMax)
        {
            _shift++;
            Volatile.Write(ref _below, ulong.MaxValue >> _shift);
        }

        int kept = 0;
        var ring = _ring;
        for (int i = 0; i < _used; i++)
        {
            // Each moves to a place that has been read: those before the oldest one come last.
            Entry entry = ring[(_oldest + i) & (Places - 1)];
            if (entry.Mixed == 0) continue;
            ring[(_oldest + i) & (Places - 1)] = default;
            if (entry.Mixed >= _below)
            {
                _bytes -= entry.Bytes;
                _placeOf.Remove(entry.Mixed);
                continue;
            }

            int place = (_oldest + kept++) & (Places - 1);
            ring[place] = entry;
            _placeOf[entry.Mixed] = place;
        }

        _used = kept;
        Debug.Assert(_used == _placeOf.Count, "the map has what the ring has");
    }
}
