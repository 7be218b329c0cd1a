using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  hash of a key:   | stripe 8 | ... |        filter, native:   | 64 places | 64 places | ... 8 KB, a bit a place
//                   | place 16     | ... |                        ^ what every write looks at: 0 nearly always
//                                             counts, native:   | keys 32 | keys 32 | ... 256 KB, one a place

/// <summary>Which readers keep copies of which keys, whatever the database: names of keys, and numbers of
/// readers.</summary>
/// <remarks>
/// A reader adds itself before it reads the key; a writer looks here once it owns the key, and before anybody can see
/// what it does (<see cref="WatchTable"/> has the proof). Whoever finds a key takes it out, with all of its readers.
/// Threads: any. The stripes' locks are innermost, and held for some instructions.
/// Cost: of a write, one load of 8 KB that stay in the processor's nearest cache, unless another key has the same place
/// in the filter; of a read by one who keeps copies, a lock and a look-up. Memory: some 56 bytes a key beside its
/// bytes, 8 a further reader; all of it is native, and charged.
/// </remarks>
internal sealed unsafe class TrackedKeys(MemoryBudget budget) : IDisposable
{
    private const int StripeBits = 8, PlaceBits = 16;
    private const int PlaceShift = 64 - PlaceBits, WordShift = PlaceShift + 6;

    private readonly TrackedStripe[] _stripes = NewStripes();
    private readonly ulong* _filter = (ulong*)NativeMemory.AllocZeroed(1 << (PlaceBits - 6), sizeof(ulong));
    private uint* _counts;
    private long _count, _readers;

    // Volatile: figures for INFO, and for a limit that may be passed for a moment.
    public long Count => Volatile.Read(ref _count);

    /// <summary>Pairs of a key and a reader.</summary>
    public long Readers => Volatile.Read(ref _readers);

    /// <summary>Whether a number is still a reader's; null: all are. Asked under a stripe's lock: it waits for
    /// nobody.</summary>
    public Func<long, bool>? IsReader { get; set; }

    /// <summary>Called before the first key is added, by one thread.</summary>
    public void Prepare()
    {
        if (_counts != null) return;
        _counts = (uint*)NativeMemory.AllocZeroed(1 << PlaceBits, sizeof(uint));
        budget.ChargeExternal(sizeof(uint) << PlaceBits);
    }

    /// <summary>Whether a key may be here. Asked by its owner.</summary>
    // Volatile: after the full fence of the owner's compare-and-swap, as in WatchTable.IsAny.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool MayHave(ulong hash) =>
        ((Volatile.Read(ref _filter[hash >> WordShift]) >> (int)(hash >> PlaceShift)) & 1) != 0;

    /// <summary>Notes that a reader is about to read a key. After the last one the reader needs a full
    /// fence.</summary>
    /// <exception cref="OutOfMemoryException">Nothing was changed.</exception>
    public void Add(ulong hash, ReadOnlySpan<byte> key, long reader)
    {
        Debug.Assert(_counts != null, "the table has been prepared");
        var stripe = StripeOf(hash);
        lock (stripe.Guard)
        {
            int place = stripe.Find(hash, key);
            if (place < 0) AddNew(stripe, hash, key, reader);
            else AddReader(stripe, place, reader);
        }
    }

    /// <summary>Takes a key out.</summary>
    /// <param name="kept">A reader that stays, if it is one of them; 0: none does.</param>
    /// <returns>Its readers; none if it was not there.</returns>
    public TakenKey Take(ulong hash, ReadOnlySpan<byte> key, long kept)
    {
        var stripe = StripeOf(hash);
        lock (stripe.Guard)
        {
            int place = stripe.Find(hash, key);
            if (place < 0) return default;
            bool keeps = kept != 0 && TrackedEntry.ReadersOf(stripe[place]).Contains(kept);
            return keeps ? TakeOthers(stripe, place, kept) : Take(stripe, place);
        }
    }

    /// <summary>Takes some key out, each as likely as another, about.</summary>
    public TakenKey TakeAny()
    {
        int first = Random.Shared.Next(_stripes.Length);
        for (int i = 0; i < _stripes.Length; i++)
        {
            var stripe = _stripes[(first + i) % _stripes.Length];
            lock (stripe.Guard)
                if (stripe.Count != 0) return Take(stripe, stripe.Random());
        }

        return default;
    }

    /// <summary>Takes all keys out.</summary>
    /// <returns>Frees them, which may take long; null when there were none.</returns>
    public Action? TakeAll()
    {
        if (Count == 0) return null;
        var detached = new TrackedStripe[_stripes.Length];
        const int Places = 1 << (PlaceBits - StripeBits), Words = Places / 64;
        for (int i = 0; i < _stripes.Length; i++)
        {
            lock (_stripes[i].Guard)
            {
                detached[i] = _stripes[i].Detach();
                Interlocked.Add(ref _count, -detached[i].Count);
                new Span<uint>(_counts + (i * Places), Places).Clear();
                for (int word = i * Words; word < (i + 1) * Words; word++) Volatile.Write(ref _filter[word], 0);
            }
        }

        return () =>
        {
            foreach (var stripe in detached) Free(stripe);
        };
    }

    public void Dispose()
    {
        foreach (var stripe in _stripes) Free(stripe);
        NativeMemory.Free(_filter);
        NativeMemory.Free(_counts);
    }

    /// <summary>Gives up an entry that was taken out.</summary>
    internal void Free(TrackedEntry* entry)
    {
        budget.ChargeExternal(-entry->Bytes);
        NativeMemory.Free(entry);
    }

    private void Free(TrackedStripe stripe)
    {
        var (bytes, readers) = stripe.Free();
        budget.ChargeExternal(-bytes);
        Interlocked.Add(ref _readers, -readers);
    }

    private void AddNew(TrackedStripe stripe, ulong hash, ReadOnlySpan<byte> key, long reader)
    {
        Debug.Assert(stripe.Guard.IsHeldByCurrentThread, "the stripe is locked");
        long before = stripe.Bytes;
        stripe.Reserve();
        budget.ChargeExternal(stripe.Bytes - before);
        var entry = TrackedEntry.New(key, reader);
        stripe.Add(hash, entry);
        budget.ChargeExternal(entry->Bytes);
        if (_counts[hash >> PlaceShift]++ == 0) Mark(hash, isUsed: true);
        Interlocked.Increment(ref _count);
        Interlocked.Increment(ref _readers);
    }

    private void AddReader(TrackedStripe stripe, int place, long reader)
    {
        var entry = stripe[place];
        if (TrackedEntry.ReadersOf(entry).BinarySearch(reader) >= 0) return;
        if (entry->Count == entry->Room) entry = MakeRoom(stripe, place);
        TrackedEntry.Insert(entry, reader);
        Interlocked.Increment(ref _readers);
    }

    /// <summary>Forgets readers that have left, and doubles the room if more than half of it is still used. So a key
    /// that never changes does not gather everybody who has ever read it, and each reader is looked at twice at
    /// most for each that comes.</summary>
    private TrackedEntry* MakeRoom(TrackedStripe stripe, int place)
    {
        var entry = stripe[place];
        if (IsReader is { } isReader) Interlocked.Add(ref _readers, -TrackedEntry.Keep(entry, isReader));
        if (entry->Count <= entry->Room / 2) return entry;
        var grown = TrackedEntry.Grow(entry);
        stripe[place] = grown;
        budget.ChargeExternal(grown->Bytes);
        Free(entry);
        return grown;
    }

    private TakenKey Take(TrackedStripe stripe, int place)
    {
        ulong hash = stripe.HashAt(place);
        Debug.Assert(_counts[hash >> PlaceShift] > 0, "the key was counted");
        if (--_counts[hash >> PlaceShift] == 0) Mark(hash, isUsed: false);
        long before = stripe.Bytes;
        var entry = stripe.Take(place);
        stripe.TryShrink();
        budget.ChargeExternal(stripe.Bytes - before);
        Interlocked.Decrement(ref _count);
        Interlocked.Add(ref _readers, -entry->Count);
        return new TakenKey(this, entry);
    }

    private TakenKey TakeOthers(TrackedStripe stripe, int place, long kept)
    {
        var taken = stripe[place];
        var readers = TrackedEntry.ReadersOf(taken);
        if (readers.Length == 1) return default;
        stripe[place] = TrackedEntry.New(TrackedEntry.KeyOf(taken), kept);
        budget.ChargeExternal(stripe[place]->Bytes);
        readers[readers.IndexOf(kept)] = readers[^1];
        taken->Count--;
        Interlocked.Add(ref _readers, -taken->Count);
        return new TakenKey(this, taken);
    }

    /// <summary>Notes whether there is a key at a place. Under the lock of the stripe, which has the whole
    /// word.</summary>
    private void Mark(ulong hash, bool isUsed)
    {
        ref ulong word = ref _filter[hash >> WordShift];
        ulong bit = 1UL << (int)(hash >> PlaceShift);
        Volatile.Write(ref word, isUsed ? word | bit : word & ~bit);
    }

    // The high bits: places begin with them, so 64 places that share a word are one stripe's.
    private TrackedStripe StripeOf(ulong hash) => _stripes[hash >> (64 - StripeBits)];

    private static TrackedStripe[] NewStripes()
    {
        var stripes = new TrackedStripe[1 << StripeBits];
        for (int i = 0; i < stripes.Length; i++) stripes[i] = new TrackedStripe();
        return stripes;
    }
}
