using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  slots, native:   | hash 64 | entry 64 | hash 64 | entry 64 | ...    a power of two, at most 3/4 used;
//                                                                      an entry of 0 ends a search

/// <summary>Some of the keys of <see cref="TrackedKeys"/>: a hash table with one lock.</summary>
/// <remarks>Threads: everything under <see cref="Guard"/>. An entry that was taken out is the taker's.</remarks>
internal sealed unsafe class TrackedStripe
{
    private const int SlotsMin = 16;

    private Slot* _slots;
    private int _mask = -1;

    public Lock Guard { get; } = new();

    public int Count { get; private set; }

    /// <summary>Native bytes of the slots.</summary>
    public long Bytes => (long)(_mask + 1) * sizeof(Slot);

    /// <summary>The place of a key; -1: it is not here.</summary>
    public int Find(ulong hash, ReadOnlySpan<byte> key)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the stripe is locked");
        if (Count == 0) return -1;
        // Ends: a quarter of the slots is free.
        for (int at = (int)hash & _mask; _slots[at].Entry != null; at = (at + 1) & _mask)
            if (_slots[at].Hash == hash && TrackedEntry.KeyOf(_slots[at].Entry).SequenceEqual(key)) return at;
        return -1;
    }

    public TrackedEntry* this[int place]
    {
        get => _slots[place].Entry;
        set => _slots[place].Entry = value;
    }

    public ulong HashAt(int place) => _slots[place].Hash;

    /// <summary>Makes room for one more. It may move all.</summary>
    public void Reserve()
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the stripe is locked");
        int capacity = _mask + 1;
        if ((Count + 1) * 4L > capacity * 3L) Resize(Math.Max(SlotsMin, checked(capacity * 2)));
    }

    /// <summary>Gives slots back of which hardly any are used, and moves all. Without memory to move them they
    /// stay.</summary>
    public void TryShrink()
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the stripe is locked");
        int capacity = _mask + 1;
        if (capacity <= SlotsMin || Count * 8L > capacity) return;
        try
        {
            Resize(capacity / 2);
        }
        catch (OutOfMemoryException)
        {
            // Whoever takes a key out needs no memory for it.
        }
    }

    /// <summary>Adds a key that is not here, after <see cref="Reserve"/>.</summary>
    public void Add(ulong hash, TrackedEntry* entry)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread && Count <= _mask, "there is room");
        Put(new Slot { Hash = hash, Entry = entry });
        Count++;
    }

    /// <summary>Takes a key out.</summary>
    public TrackedEntry* Take(int place)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread && _slots[place].Entry != null, "there is a key");
        var taken = _slots[place].Entry;
        int hole = place;
        // Those behind it that a search would no longer reach move up. Ends: a quarter of the slots is free.
        for (int at = (hole + 1) & _mask; _slots[at].Entry != null; at = (at + 1) & _mask)
        {
            int home = (int)_slots[at].Hash & _mask;
            if (((at - home) & _mask) < ((at - hole) & _mask)) continue;
            _slots[hole] = _slots[at];
            hole = at;
        }

        _slots[hole] = default;
        Count--;
        return taken;
    }

    /// <summary>The first key from a random place on.</summary>
    public int Random()
    {
        Debug.Assert(Guard.IsHeldByCurrentThread && Count > 0, "there is a key");
        int at = System.Random.Shared.Next() & _mask;
        // Ends: at a key.
        while (_slots[at].Entry == null) at = (at + 1) & _mask;
        return at;
    }

    /// <summary>Takes all keys out: into a stripe that nobody else has.</summary>
    public TrackedStripe Detach()
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the stripe is locked");
        var detached = new TrackedStripe { _slots = _slots, _mask = _mask, Count = Count };
        Forget();
        return detached;
    }

    /// <summary>Frees everything.</summary>
    /// <returns>How many bytes there were, and readers.</returns>
    public (long Bytes, long Readers) Free()
    {
        long bytes = Bytes, readers = 0;
        for (int i = 0; i <= _mask; i++)
        {
            var entry = _slots[i].Entry;
            if (entry == null) continue;
            bytes += entry->Bytes;
            readers += entry->Count;
            NativeMemory.Free(entry);
        }

        NativeMemory.Free(_slots);
        Forget();
        return (bytes, readers);
    }

    private void Forget()
    {
        _slots = null;
        _mask = -1;
        Count = 0;
    }

    private void Resize(int capacity)
    {
        Slot* old = _slots;
        int before = _mask + 1;
        _slots = (Slot*)NativeMemory.AllocZeroed((nuint)capacity, (nuint)sizeof(Slot));
        _mask = capacity - 1;
        for (int i = 0; i < before; i++)
            if (old[i].Entry != null) Put(old[i]);
        NativeMemory.Free(old);
    }

    private void Put(in Slot slot)
    {
        int at = (int)slot.Hash & _mask;
        // Ends: a quarter of the slots is free.
        while (_slots[at].Entry != null) at = (at + 1) & _mask;
        _slots[at] = slot;
    }

    private struct Slot
    {
        public ulong Hash;
        public TrackedEntry* Entry;
    }
}
