using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>One database: an index, its segments, its counters. FLUSHDB drops it whole; SWAPDB gives it another
/// number.</summary>
/// <remarks>
/// Threads: any inside of an epoch. Counters are striped: a session changes its own stripe, plainly; sums are exact
/// when writers are quiet.
/// </remarks>
internal sealed unsafe class Database
{
    /// <summary>A session's share of the counters, a cache line of its own.</summary>
    public struct Stripe
    {
        public long Keys, WithExpiry, ExpirySum, Outside, WithFieldExpiry, ExpiredFields, Expired, Inserts;
    }

    private readonly Store _store;
    private readonly Stripe* _stripes;
    private readonly int _stripesMax;
    private int _stripesUsed;

    private Database(Store store, int id, HashIndex index, Stripe* stripes, int stripesMax)
    {
        _store = store;
        Segments = new SegmentSet(id);
        Index = index;
        _stripes = stripes;
        _stripesMax = stripesMax;
        Handle = new GCHandle<Database>(this);
    }

    /// <summary>Makes an empty database; null when the system refuses the memory.</summary>
    public static Database? TryCreate(Store store, int id, long indexBytes)
    {
        int stripesMax = store.Options.SessionsMax;
        if (store.Budget.RefusesAllocation()) return null;
        var stripes = (Stripe*)VirtualMemory.Reserve((nuint)(stripesMax * sizeof(Stripe)));
        if (stripes == null) return null;
        try
        {
            Fault.Point("database.create");
            return new Database(store, id, new HashIndex(store.Log, store.Budget, store.Deferred, store.Hash,
                indexBytes, store.Options.Background), stripes, stripesMax);
        }
        catch (Exception exception) when (exception is OutOfMemoryException or FaultException)
        {
            VirtualMemory.Release((byte*)stripes, (nuint)(stripesMax * sizeof(Stripe)));
            return null;
        }
    }

    /// <summary>What unmanaged memory knows it by.</summary>
    public GCHandle<Database> Handle { get; }

    /// <summary>Its own number, never used again; the one that clients know changes with SWAPDB.</summary>
    public int Id => Segments.DatabaseId;

    public HashIndex Index { get; }

    /// <summary>Where its records are.</summary>
    public SegmentSet Segments { get; }

    /// <summary>True once a flush has taken the database out of the table.</summary>
    public bool IsDropped => Segments.IsDropped;

    public long Keys => Sum(0);
    public long WithExpiry => Sum(1);

    /// <summary>Hashes that have fields with an expiry.</summary>
    public long WithFieldExpiry => Sum(4);

    /// <summary>Fields of hashes removed because their time had passed.</summary>
    public long ExpiredFields => Sum(5);

    /// <summary>Keys removed because their time had passed.</summary>
    public long Expired => Sum(6);

    /// <summary>Sum of the expiries, each as <see cref="ExpiryPart"/>.</summary>
    public long ExpirySum => Sum(2);

    /// <summary>Records that hold memory outside of the log: blocks and long keys.</summary>
    public long Outside => Sum(3);

    /// <summary>The counters that belong to one session.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Stripe* StripeOf(int slot)
    {
        Debug.Assert((uint)slot < (uint)_stripesMax, "it is a session's");
        if (slot >= Volatile.Read(ref _stripesUsed)) Use(slot);
        return _stripes + slot;
    }

    /// <summary>What an expiry adds to the sum: seconds, so that a billion keys do not overflow it.</summary>
    public static long ExpiryPart(long expiryMs) => expiryMs >> 10;

    /// <summary>Frees everything. Nobody can reach the database any more.</summary>
    public void Free()
    {
        SegmentedLog log = _store.Log;
        bool walk = Outside != 0;
        List<int> segments = [];
        Segments.CopyTo(segments);
        foreach (int segment in segments)
        {
            if (walk) ReleaseOutside(log, segment);
            log.Free(segment, SegmentWriter.ChargedFor(log.Info(segment)->Tail));
        }

        Index.Dispose();
        VirtualMemory.Release((byte*)_stripes, (nuint)(_stripesMax * sizeof(Stripe)));
        Handle.Dispose();
    }

    private void ReleaseOutside(SegmentedLog log, int segment)
    {
        var scan = new LogScanner(log, segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (RecordWord.IsDead(word)) continue;
            if (RecordWord.KeyField(word) == RecordWord.LongKey) _store.Release(Record.LongKeyBlock(record, word));
            if (RecordWord.HoldsBlock(word)) _store.Release(Record.BlockOf(record, word));
            if (RecordWord.HoldsRegion(word)) Record.RegionOf(record, word).Free();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Use(int slot)
    {
        // Ends: the number only grows, to at most the slot count.
        int seen = Volatile.Read(ref _stripesUsed);
        while (seen <= slot)
        {
            int found = Interlocked.CompareExchange(ref _stripesUsed, slot + 1, seen);
            if (found == seen) return;
            seen = found;
        }
    }

    private long Sum(int field)
    {
        long sum = 0;
        int used = Volatile.Read(ref _stripesUsed);
        for (int slot = 0; slot < used; slot++) sum += Volatile.Read(ref ((long*)(_stripes + slot))[field]);
        return sum;
    }
}
