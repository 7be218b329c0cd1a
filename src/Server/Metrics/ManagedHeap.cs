using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>Charges a store's budget with what the managed heap holds, beyond what is charged piece by piece, if the
/// process is nothing but a server.</summary>
/// <remarks>
/// Threads: its timer's. Counted is what was alive after the last full collection: sessions, buffers of the runtime's
/// streams, code. Objects that are charged by themselves (subscriptions, watched keys, places of blocked clients) count
/// from the moment they come until they go. Dead objects that are not collected yet do not count. When there are many,
/// because much that was charged has gone, a collection is asked for: the runtime itself collects only when something
/// is allocated, and a server whose clients have left may allocate nothing. While writes are refused for lack of
/// memory, or the process takes more than it may, fewer dead bytes are enough, and they are looked for more often: no
/// write must be refused because of garbage, and what clients leave must not lie beside what others bring. What the
/// runtime keeps of it all is the matter of <see cref="HeapReturn"/>.
/// </remarks>
internal sealed class ManagedHeap : IDisposable
{
    /// <summary>How many bytes may be dead without a collection: this many, or one in <see cref="DeadShare"/> of those
    /// alive.</summary>
    private const long DeadBytesMin = 16 * 1024 * 1024, DeadShare = 4;

    /// <summary><see cref="DeadBytesMin"/> and <see cref="DeadShare"/> while memory is short.</summary>
    private const long DeadBytesMinWhenShort = 1024 * 1024, DeadShareWhenShort = 16;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(250);

    /// <summary>Ten seconds: until a collection is asked for again, and until a heap that has stayed large is collected
    /// anew. The latter takes twice as long each time, up to half a second a megabyte (marking a megabyte takes a
    /// millisecond) and a quarter of an hour.</summary>
    private const int PatienceTicks = 40, AgainTicksMax = 3600;

    /// <summary>The same while memory is short: a second at first, and anew whenever a collection has found the heap
    /// changed, then twice as long each time one from here has not, up to half a minute. An argument of a script, say,
    /// that was alive at the last collection is garbage a moment later, and no write must be refused for it.</summary>
    private const int AgainTicksWhenShort = 4, AgainTicksMaxWhenShort = 120;

    private const long BytesPerAgainTick = 512 * 1024;

    private readonly MemoryBudget _budget;
    private readonly IHeapFigures _figures;
    private readonly HeapReturn _return;
    private readonly ITimer _timer;
    private long _collections;
    private long _chargedBefore, _chargedMost, _usual;
    private bool _isDoubted;
    private readonly long _atStart;
    private int _patience, _again = PatienceTicks / 2, _untilAgain;
    private int _againWhenShort = AgainTicksWhenShort, _untilAgainWhenShort = AgainTicksWhenShort;

    public ManagedHeap(MemoryBudget budget, TimeProvider time, IHeapFigures? figures = null)
    {
        _budget = budget;
        _figures = figures ?? RuntimeHeapFigures.Instance;
        _collections = _figures.FullCollections;
        budget.HeapBytes = _atStart = _usual = _figures.AllocatedBytes;    // nearly all that a start allocates stays
        _return = new HeapReturn(budget, _figures);
        _timer = time.CreateTimer(static heap => ((ManagedHeap)heap!).Look(), this, Tick, Tick);
    }

    public void Dispose() => _timer.Dispose();

    internal void Look()
    {
        long charged = _budget.ManagedBytes;
        bool isShort = _budget.IsOver || _budget.IsBeyond;
        (long deadMin, long share) =
            isShort ? (DeadBytesMinWhenShort, DeadShareWhenShort) : (DeadBytesMin, DeadShare);
        _chargedMost = Math.Max(_chargedMost, charged);
        long collections = _figures.FullCollections;
        if (collections != _collections)
        {
            _collections = collections;
            // What was charged at the moment of the collection is between the two figures. The higher one is taken:
            // else too much would count until the next collection.
            long before = _budget.HeapBytes;
            long heap = _budget.HeapBytes = Math.Max(0, _figures.LiveBytes - Math.Max(charged, _chargedBefore));
            _chargedMost = charged;
            // If it is much more than before, it may have been about to die, no longer charged but still referred to:
            // then a second collection is asked for.
            _isDoubted = heap > _usual + deadMin && !_isDoubted;
            if (!_isDoubted) _usual = heap;
            bool isOwn = _patience > 0;
            _patience = 0;
            int most = (int)Math.Clamp(heap / BytesPerAgainTick, PatienceTicks, AgainTicksMax);
            _again = heap < before - deadMin ? PatienceTicks : Math.Min(2 * _again, most);
            _untilAgain = _again;
            if (Math.Abs(heap - before) > deadMin) _againWhenShort = AgainTicksWhenShort;
            else if (isOwn) _againWhenShort = Math.Min(2 * _againWhenShort, AgainTicksMaxWhenShort);
            _untilAgainWhenShort = _againWhenShort;
        }

        long dead = _chargedMost - charged;
        bool isMuchDead = dead > Math.Max(deadMin, (charged + _budget.HeapBytes) / share);
        // What was alive at the last collection may be dead by now, while nothing is allocated any more.
        _untilAgain--;
        if (isShort) _untilAgainWhenShort--;
        bool isLarge = _budget.HeapBytes > _atStart + deadMin
            && (_untilAgain <= 0 || (isShort && _untilAgainWhenShort <= 0));
        if (_patience > 0)
        {
            _patience--;        // the collection may be under way
        }
        else if (isMuchDead || isLarge || (_isDoubted && charged == _chargedBefore))
        {
            _patience = PatienceTicks;
            _figures.Collect();
        }

        _chargedBefore = charged;
        _return.Look();
    }
}

/// <summary>The figures of a managed heap.</summary>
internal interface IHeapFigures
{
    /// <summary>Bytes of all objects, dead ones included.</summary>
    long AllocatedBytes { get; }

    /// <summary>Bytes of all objects after the last full collection.</summary>
    long LiveBytes { get; }

    /// <summary>A number that changes with every full collection that has ended.</summary>
    long FullCollections { get; }

    /// <summary>What the heap has of the system beside what was alive, as of its last collection.</summary>
    long FreeBytes { get; }

    /// <summary>What the process has of the machine's memory.</summary>
    long ResidentBytes { get; }

    /// <summary>Begins a full collection.</summary>
    void Collect();

    /// <summary>Moves what is alive together, with all threads stopped, and gives the rest to the system.</summary>
    void Compact();
}

/// <summary>The figures of this process' heap.</summary>
internal sealed class RuntimeHeapFigures : IHeapFigures
{
    public static readonly RuntimeHeapFigures Instance = new();

    public long AllocatedBytes => GC.GetTotalMemory(forceFullCollection: false);

    public long LiveBytes
    {
        get
        {
            var last = Last;
            return last.HeapSizeBytes - last.FragmentedBytes;
        }
    }

    public long FreeBytes => Math.Max(0, GC.GetGCMemoryInfo(GCKind.Any).TotalCommittedBytes - LiveBytes);

    public long ResidentBytes => ResidentMemory.Bytes;

    // Not the count of collections: one in the background is counted when it begins.
    public long FullCollections => Last.Index;

    /// <summary>The last full collection that has ended, of either kind.</summary>
    private static GCMemoryInfo Last
    {
        get
        {
            var blocking = GC.GetGCMemoryInfo(GCKind.FullBlocking);
            var background = GC.GetGCMemoryInfo(GCKind.Background);
            return background.Index > blocking.Index ? background : blocking;
        }
    }

    // In the background: else all threads would stand still, for 0.2 s with a million objects to mark.
    public void Collect() => GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: false);

    // 5 to 71 ms on a busy machine with 3 to 30 MB alive, median 30; 7 to 32 MB less resident.
    public void Compact() =>
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
}
