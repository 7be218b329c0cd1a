using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>What the managed heap holds beside what is charged piece by piece, for the account of a process that is
/// nothing but a server.</summary>
/// <remarks>
/// Threads: its timer's. What counts is what was alive after the last full collection: sessions, buffers of the
/// runtime's streams, code. What is charged by itself (subscriptions, watched keys, places of blocked clients) counts
/// at once when it comes and goes. What is dead and not collected does not count; when that is much, because many such
/// things went, a collection is asked for: the runtime itself collects only when something new is allocated, and a
/// server whose clients have left may stand still. While writes are refused for the lack of memory, less is much, and
/// it is looked at more often: a write must not be refused for what is dead.
/// </remarks>
internal sealed class ManagedHeap : IDisposable
{
    /// <summary>What may be dead without a collection, and what share of all that is alive.</summary>
    private const long DeadBytesMin = 16 * 1024 * 1024, DeadShare = 4;

    /// <summary>The same while writes are refused.</summary>
    private const long DeadBytesMinWhenOver = 1024 * 1024, DeadShareWhenOver = 16;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(250);

    /// <summary>Ten seconds: until what was asked for is asked for again, and until a heap that has stayed large is
    /// looked at anew. The latter takes twice as long each time, up to half a second a megabyte (to mark one takes a
    /// millisecond) and a quarter of an hour, or to half a minute while writes are refused.</summary>
    private const int PatienceTicks = 40, AgainTicksMax = 3600, AgainTicksMaxWhenOver = 120;

    private const long BytesPerAgainTick = 512 * 1024;

    private readonly MemoryBudget _budget;
    private readonly IHeapFigures _figures;
    private readonly ITimer _timer;
    private long _collections;
    private long _chargedBefore, _chargedMost, _usual;
    private bool _isDoubted;
    private readonly long _atStart;
    private int _patience, _again = PatienceTicks / 2, _untilAgain;

    public ManagedHeap(MemoryBudget budget, TimeProvider time, IHeapFigures? figures = null)
    {
        _budget = budget;
        _figures = figures ?? RuntimeHeapFigures.Instance;
        _collections = _figures.FullCollections;
        budget.HeapBytes = _atStart = _usual = _figures.AllocatedBytes;    // nearly all that a start allocates stays
        _timer = time.CreateTimer(static heap => ((ManagedHeap)heap!).Look(), this, Tick, Tick);
    }

    public void Dispose() => _timer.Dispose();

    internal void Look()
    {
        long charged = _budget.ManagedBytes;
        bool isOver = _budget.IsOver;
        (long deadMin, long share) =
            isOver ? (DeadBytesMinWhenOver, DeadShareWhenOver) : (DeadBytesMin, DeadShare);
        _chargedMost = Math.Max(_chargedMost, charged);
        long collections = _figures.FullCollections;
        if (collections != _collections)
        {
            _collections = collections;
            // What was charged at the collection was something between the two: the higher one, since too much would
            // count until the next one.
            long before = _budget.HeapBytes;
            long heap = _budget.HeapBytes = Math.Max(0, _figures.LiveBytes - Math.Max(charged, _chargedBefore));
            _chargedMost = charged;
            // Much more than before may have been on its way out, charged no more and not let go of yet: then it is
            // looked at twice.
            _isDoubted = heap > _usual + deadMin && !_isDoubted;
            if (!_isDoubted) _usual = heap;
            _patience = 0;
            int most = (int)Math.Clamp(heap / BytesPerAgainTick, PatienceTicks, AgainTicksMax);
            _again = heap < before - deadMin ? PatienceTicks : Math.Min(2 * _again, most);
            _untilAgain = _again;
        }

        long dead = _chargedMost - charged;
        bool isMuchDead = dead > Math.Max(deadMin, (charged + _budget.HeapBytes) / share);
        // What was alive in the middle of something may be dead long since, and nothing is allocated any more.
        if (isOver) _untilAgain = Math.Min(_untilAgain, AgainTicksMaxWhenOver);
        bool isLarge = _budget.HeapBytes > _atStart + deadMin && --_untilAgain <= 0;
        if (_patience > 0)
        {
            _patience--;        // it may be under way
        }
        else if (isMuchDead || isLarge || (_isDoubted && charged == _chargedBefore))
        {
            _patience = PatienceTicks;
            _figures.Collect();
        }

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

    /// <summary>Changes with every full collection that has ended.</summary>
    long FullCollections { get; }

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
            var last = Last;
            return last.HeapSizeBytes - last.FragmentedBytes;
        }
    }

    // Not their count: one that goes on in the background is counted when it begins.
    public long FullCollections => Last.Index;

    /// <summary>The later of the two kinds, ended.</summary>
    private static GCMemoryInfo Last
    {
        get
        {
            var blocking = GC.GetGCMemoryInfo(GCKind.FullBlocking);
            var background = GC.GetGCMemoryInfo(GCKind.Background);
            return background.Index > blocking.Index ? background : blocking;
        }
    }

    // In the background: all threads would stand still for as long as it takes to mark a million objects, 0.2 s.
    public void Collect() => GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: false);
}
