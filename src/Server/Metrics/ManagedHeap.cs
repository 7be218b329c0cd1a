using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>What the managed heap holds beside what is charged piece by piece, for the account of a process that is
/// nothing but a server.</summary>
/// <remarks>
/// Threads: its timer's. What counts is what was alive after the last full collection: sessions, buffers of the
/// runtime's streams, code. What is charged by itself (subscriptions, watched keys, places of blocked clients) counts
/// at once when it comes and goes. What is dead and not collected does not count; when that is much, because many such
/// things went, a collection is asked for: the runtime itself collects only when something new is allocated, and a
/// server whose clients have left may stand still.
/// </remarks>
internal sealed class ManagedHeap : IDisposable
{
    /// <summary>What may be dead without a collection, and what share of all that is alive.</summary>
    private const long DeadBytesMin = 16 * 1024 * 1024, DeadShare = 4;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(250);

    private readonly MemoryBudget _budget;
    private readonly IHeapFigures _figures;
    private readonly ITimer _timer;
    private int _collections;
    private long _chargedBefore, _chargedMost, _usual;
    private bool _isDoubted;

    public ManagedHeap(MemoryBudget budget, TimeProvider time, IHeapFigures? figures = null)
    {
        _budget = budget;
        _figures = figures ?? RuntimeHeapFigures.Instance;
        _collections = _figures.FullCollections;
        budget.HeapBytes = _usual = _figures.AllocatedBytes;    // nearly all that a start allocates stays
        _timer = time.CreateTimer(static heap => ((ManagedHeap)heap!).Look(), this, Tick, Tick);
    }

    public void Dispose() => _timer.Dispose();

    internal void Look()
    {
        long charged = _budget.ManagedBytes;
        _chargedMost = Math.Max(_chargedMost, charged);
        int collections = _figures.FullCollections;
        if (collections != _collections)
        {
            _collections = collections;
            // What was charged at the collection was something between the two: the higher one, since too much would
            // count until the next one.
            long heap = _budget.HeapBytes = Math.Max(0, _figures.LiveBytes - Math.Max(charged, _chargedBefore));
            _chargedMost = charged;
            // Much more than before may have been on its way out, charged no more and not let go of yet: then it is
            // looked at twice.
            _isDoubted = heap > _usual + DeadBytesMin && !_isDoubted;
            if (!_isDoubted) _usual = heap;
        }

        long dead = _chargedMost - charged;
        bool isMuchDead = dead > Math.Max(DeadBytesMin, (charged + _budget.HeapBytes) / DeadShare);
        if (isMuchDead || (_isDoubted && charged == _chargedBefore)) _figures.Collect();
        _chargedBefore = charged;
    }
}

/// <summary>What there is to know of a managed heap.</summary>
internal interface IHeapFigures
{
    /// <summary>Bytes of all objects, dead ones, too.</summary>
    long AllocatedBytes { get; }

    /// <summary>Bytes of all objects after the last full collection.</summary>
    long LiveBytes { get; }

    int FullCollections { get; }

    /// <summary>Begins to collect all of it.</summary>
    void Collect();
}

/// <summary>Those of this process.</summary>
internal sealed class RuntimeHeapFigures : IHeapFigures
{
    public static readonly RuntimeHeapFigures Instance = new();

    public long AllocatedBytes => GC.GetTotalMemory(forceFullCollection: false);

    public long LiveBytes
    {
        get
        {
            // The later of the two kinds; programs choose one by their configuration.
            var blocking = GC.GetGCMemoryInfo(GCKind.FullBlocking);
            var background = GC.GetGCMemoryInfo(GCKind.Background);
            var last = background.Index > blocking.Index ? background : blocking;
            return last.HeapSizeBytes - last.FragmentedBytes;
        }
    }

    public int FullCollections => GC.CollectionCount(GC.MaxGeneration);

    // In the background: all threads would stand still for as long as it takes to mark a million objects, 0.2 s.
    public void Collect() => GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: false);
}
