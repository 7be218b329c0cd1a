using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Remembers which keys were evicted young: one of them that comes again is kept longer than a new
/// one.</summary>
/// <remarks>
/// Threads: the store's adds, any takes. Each place is one word, written whole, of a hash that is mixed from a random
/// seed; a key that takes another's place is a mistake that costs one eviction. As many places as there are keys: the
/// newest that were evicted, about. S3-FIFO's ghost queue (SOSP 2023), without its order.
/// </remarks>
internal sealed class EvictedKeys(MemoryBudget budget)
{
    private const int PlacesMin = 1024, PlacesMax = 1 << 28;

    private uint[]? _places;

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

    public void Add(ulong hash, int database)
    {
        uint[]? places = Volatile.Read(ref _places);
        if (places == null) return;
        ulong mixed = Mix(hash, database);
        Volatile.Write(ref places[(int)mixed & (places.Length - 1)], Mark(mixed));
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
        if (Volatile.Read(ref place) != Mark(mixed)) return false;
        Volatile.Write(ref place, 0);
        return true;
    }

    private void Replace(uint[]? places)
    {
        budget.ChargeTable(((places?.Length ?? 0) - (_places?.Length ?? 0)) * (long)sizeof(uint));
        Volatile.Write(ref _places, places);
    }

    private static ulong Mix(ulong hash, int database) => ((hash ^ (uint)database) * 0x9E3779B97F4A7C15UL) >> 4;

    private static uint Mark(ulong mixed) => (uint)(mixed >> 28) | 1;
}
