using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  a place, 32 bits; 0: nobody's
//   31        6 5      2    1      0
//  +-----------+--------+-------+-----+
//  |   mark    | cohort | queue |  1  |      mark: of the key's hash      queue: of the segment it was evicted from
//  +-----------+--------+-------+-----+

/// <summary>Remembers which keys were evicted: one of them that comes again is kept longer than a new one, and how many
/// come again says which queue has lost too much.</summary>
/// <remarks>
/// Threads: the store's adds, any takes. Each place is one word, written whole, of a hash that is mixed from a random
/// seed; a key that takes another's place is a mistake that costs one eviction. As many places as there are keys: the
/// newest that were evicted, about. S3-FIFO's ghost queue (SOSP 2023), without its order. What is evicted in a row is
/// a cohort; its number is used again when nearly all places of the last one that had it are others' by now.
/// </remarks>
internal sealed class EvictedKeys(MemoryBudget budget)
{
    private const int PlacesMin = 1024, PlacesMax = 1 << 28;
    private const int Cohorts = 16, KindShift = 1, MarkShift = 6;
    private const uint Taken = 1, KindMask = (2 * Cohorts) - 1;

    // By cohort and queue. Upkeep's: how many were evicted; anybody's: how many came again.
    private readonly long[] _evicted = new long[2 * Cohorts], _returned = new long[2 * Cohorts];
    private uint[]? _places;
    private uint _cohort;

    /// <summary>Makes room for as many as there are keys.</summary>
    public void Fit(long keys)
    {
        long wanted = Math.Clamp(keys, PlacesMin, PlacesMax);
        int now = _places?.Length ?? 0;
        if (wanted <= now && wanted > now / 4) return;
        int places = (int)BitOperations.RoundUpToPowerOf2((ulong)wanted);
        if (places == now) return;
        Replace(new uint[places]);      // those who are forgotten with the old one come again
    }

    /// <summary>Forgets all.</summary>
    public void Clear()
    {
        if (_places != null) Replace(null);
    }

    public void Add(ulong hash, int database, SegmentQueue queue)
    {
        uint[]? places = Volatile.Read(ref _places);
        if (places == null) return;
        ulong mixed = Mix(hash, database);
        uint kind = KindOf(_cohort, queue);
        Volatile.Write(ref places[(int)mixed & (places.Length - 1)], Mark(mixed) | (kind << KindShift) | Taken);
        _evicted[kind]++;
    }

    /// <summary>Begins another cohort when <paramref name="keys"/> have been evicted in the present one.</summary>
    /// <param name="young">What came of those of the cohort before the present one, which all had as long to come again
    /// as it took to evict the present one; for the young queue.</param>
    /// <param name="main">What came of those of the main queue.</param>
    public bool TryEndCohort(long keys, out EvictedShare young, out EvictedShare main)
    {
        young = main = default;
        if (_evicted[KindOf(_cohort, SegmentQueue.Young)] + _evicted[KindOf(_cohort, SegmentQueue.Main)] < keys)
            return false;
        uint before = (_cohort - 1) % Cohorts, next = (_cohort + 1) % Cohorts;
        young = ShareOf(KindOf(before, SegmentQueue.Young));
        main = ShareOf(KindOf(before, SegmentQueue.Main));
        Forget(KindOf(next, SegmentQueue.Young));
        Forget(KindOf(next, SegmentQueue.Main));
        _cohort = next;
        return true;
    }

    /// <summary>Whether it was evicted not long ago; it is forgotten.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryTake(ulong hash, int database) => Volatile.Read(ref _places) != null && TryTakeSlow(hash, database);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryTakeSlow(ulong hash, int database)
    {
        uint[]? places = Volatile.Read(ref _places);
        if (places == null) return false;
        ulong mixed = Mix(hash, database);
        ref uint place = ref places[(int)mixed & (places.Length - 1)];
        uint found = Volatile.Read(ref place);
        if (found == 0 || found >> MarkShift != Mark(mixed) >> MarkShift) return false;
        Volatile.Write(ref place, 0);
        Interlocked.Increment(ref _returned[(found >> KindShift) & KindMask]);      // two who take it count twice
        return true;
    }

    private void Replace(uint[]? places)
    {
        Debug.Assert(places == null || BitOperations.IsPow2(places.Length), "a place is found by a mask");
        budget.ChargeTable(((places?.Length ?? 0) - (_places?.Length ?? 0)) * (long)sizeof(uint));
        Volatile.Write(ref _places, places);
    }

    private static ulong Mix(ulong hash, int database) => ((hash ^ (uint)database) * 0x9E3779B97F4A7C15UL) >> 4;

    private static uint Mark(ulong mixed) => (uint)(mixed >> 28) >> MarkShift << MarkShift;

    private static uint KindOf(uint cohort, SegmentQueue queue) => (cohort << 1) | (uint)queue;

    private EvictedShare ShareOf(uint kind) => new(_evicted[kind], Volatile.Read(ref _returned[kind]));

    // One that comes again meanwhile may still be counted: one too many of thousands.
    private void Forget(uint kind)
    {
        _evicted[kind] = 0;
        Volatile.Write(ref _returned[kind], 0);
    }
}

/// <summary>How many keys were evicted, and how many of them came again.</summary>
internal readonly record struct EvictedShare(long Evicted, long Returned);
