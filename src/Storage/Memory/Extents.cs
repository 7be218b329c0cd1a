using System.Diagnostics;

namespace Kv.Storage;

//  the arena: one range of addresses, reserved once
//
//  +---------+----------------+---------+------------------+- - - - - - - - - - - -+
//  |  taken  |  free, warm    |  taken  |  free, cold      |   above the top: cold |
//  +---------+----------------+---------+------------------+- - - - - - - - - - - -+
//   page 0 is nobody's                                      top: nothing after it is described in the map
//
//  given back:  taken -> warm
//  by and by:   warm -> cold (its pages go to the system)       Neighbours of one state are one extent.

/// <summary>Memory in whole pages, from a page to gigabytes: for values and replies of over some 10 KB, and for large
/// collections.</summary>
/// <remarks>
/// One mapping, whatever is in it: the system limits how many a process may have (vm.max_map_count), and advice to give
/// pages back splits none. Addresses are many times the machine's memory, so nothing is ever moved to close gaps: a gap
/// costs addresses. What was given back is warm for a while: who takes it again pays neither for page faults nor for
/// zeroing, which is most of what a value of 100 KB costs. There is as much of it as was taken in the last second,
/// twice, and never more than a part of what is in use, or than `maxmemory` leaves room for. Threads: any; all here is
/// the lock's, but for the system calls, which work on extents that are in no list meanwhile. Cost: some 50 ns. Pages
/// go to the system many at once, by the store's thread; where that does not keep up, by who gives more back.
/// </remarks>
internal sealed unsafe class Extents
{
    private const int WarmPartOfTaken = 16;         // with 64 MB the promise of docs/performance: 15 % + 64 MB
    private const long WarmBytesAlways = 48L << 20, WarmBytesIdle = 1L << 20;
    private const long WarmBytesMin = 2 * MemoryBudget.SpareMin;     // as many may be in any case
    private const long WarmBytesOver = 64L << 20;   // until the store's thread comes by
    private const long AdviseBytes = 8L << 20;      // at once, of as many extents: some 200 us of the system's
    private const int AdviseExtents = 128;
    private const long DecayMs = 1000;

    private readonly Lock _gate = new();
    private readonly ExtentMap _map;
    private readonly ExtentLists _cold, _warm;
    private readonly byte* _arena;
    private readonly int _pagesMax;
    private int _top = 1, _described = 1;
    private long _takenPages, _takenLately;
    private long _decayedAt = Environment.TickCount64;

    /// <param name="arenaBytes">Addresses to reserve; half of them, and so on, where the system refuses.</param>
    public Extents(long arenaBytes)
    {
        // Ends: at 64 MB.
        for (long bytes = arenaBytes; _arena == null && bytes >= Math.Min(arenaBytes, 64L << 20); bytes /= 2)
        {
            _pagesMax = (int)(bytes / PageBytes);
            _arena = VirtualMemory.Reserve((nuint)(_pagesMax * PageBytes), 1 << 16);
        }

        byte* map = _arena == null ? null : VirtualMemory.Reserve((nuint)((long)_pagesMax * ExtentEntry.SizeBytes));
        _map = new ExtentMap((ExtentEntry*)map);
        _cold = new ExtentLists(_map, ExtentState.Cold);
        _warm = new ExtentLists(_map, ExtentState.Warm);
        if (_map.IsNone) return;
        // All of it: advice for a part would make it a mapping of its own. Large regions touch little of what they
        // have.
        VirtualMemory.AvoidHugePages(_arena, (nuint)(_pagesMax * PageBytes));
        _map.Describe(0, 1, ExtentState.Taken);
    }

    /// <summary>The process' own.</summary>
    /// <remarks>
    /// 64 times the machine's memory, since a large collection takes up to 32 times the addresses that it uses; at
    /// least 4 TB, so that thousands of clients may announce values of 512 MB and not send them. A page's number has 31
    /// bits: below 8 TB.
    /// </remarks>
    public static Extents Shared { get; } =
        new(Math.Clamp(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes * 64, 4L << 40, 7L << 40));

    /// <summary>Bytes of what is taken: addresses, for those that are sparsely used.</summary>
    public long TakenBytes => Volatile.Read(ref _takenPages) * PageBytes;

    /// <summary>Bytes that are free and not given back to the system.</summary>
    public long WarmBytes => _warm.Pages * PageBytes;

    /// <summary>The account of the process' one store, where it has but one: warm bytes are no more than its limit
    /// leaves room for. Null where there may be several.</summary>
    // Set once, before there is a client.
    public MemoryBudget? Account { get; set; }

    /// <summary>The most warm bytes now.</summary>
    public long WarmBytesMax =>
        Math.Min(WarmBytesAlways + (TakenBytes / WarmPartOfTaken), Account?.SpareBytes ?? long.MaxValue);

    /// <summary>The most until the store's thread comes by.</summary>
    private long WarmBytesAtOnce
    {
        get
        {
            long most = WarmBytesMax;
            return most + Math.Min(most, WarmBytesOver);
        }
    }

    private static long PageBytes => (long)VirtualMemory.PageBytes;

    /// <summary>Takes an extent; null when the system refuses.</summary>
    /// <param name="bytes">In: the bytes wanted. Out: the bytes that the extent has.</param>
    /// <param name="isZeroed">Whether all of it must be zeros, or little of it will be used: then its pages are
    /// cold.</param>
    public byte* TryTake(ref long bytes, bool isZeroed) => TryTake(ref bytes, isZeroed, out _);

    /// <summary>Takes an extent, and says whether its pages have to be taken from the system first (<see
    /// cref="VirtualMemory.Populate"/>).</summary>
    public byte* TryTake(ref long bytes, bool isZeroed, out bool isCold)
    {
        Debug.Assert(bytes > 0, "an extent has bytes");
        isCold = true;
        long wanted = (bytes + PageBytes - 1) / PageBytes;
        if (_map.IsNone || wanted >= _pagesMax) return null;
        bytes = wanted * PageBytes;
        int pages = (int)wanted;
        byte* start = TryTakePages(pages, isZeroed, out isCold);
        if (start != null || _warm.Count == 0) return start;

        // No addresses for it: gaps of warm ones may close those between cold ones.
        TrimTo(0);
        return TryTakePages(pages, isZeroed, out isCold);
    }

    /// <summary>Gives an extent back.</summary>
    /// <param name="start">As it was given out.</param>
    /// <param name="bytes">As it was given out, or as it was wanted.</param>
    /// <param name="touched">Bytes at its beginning that may have been touched; all, unless it was taken as
    /// zeroed.</param>
    public void Give(byte* start, long bytes, long touched)
    {
        Debug.Assert(bytes > 0 && touched >= 0, "an extent has bytes");
        Debug.Assert(start > _arena && (start - _arena) % PageBytes == 0, "an extent begins with a page of the arena");
        int first = PageOf(start), pages = (int)((bytes + PageBytes - 1) / PageBytes);
        int kept = (int)Math.Min(pages, (touched + PageBytes - 1) / PageBytes);
        bool isOver;
        long atOnce = WarmBytesAtOnce;
        lock (_gate)
        {
            Invariant.Check(_map[first].State == ExtentState.Taken
                && _map[first].Pages == pages, "an extent is given back once, whole");
            _takenPages -= pages;
            if (kept < pages) _map.Describe(first + kept, pages - kept, ExtentState.Taken);
            if (kept > 0) _map.Describe(first, kept, ExtentState.Taken);
            if (kept < pages) Free(first + kept, pages - kept, ExtentState.Cold);
            if (kept > 0) Free(first, kept, ExtentState.Warm);
            isOver = _warm.Pages * PageBytes > atOnce;
        }

        if (isOver) TrimOnce(WarmBytesMax, Math.Max(AdviseBytes, bytes));
    }

    /// <summary>Bytes that would stay warm, so that giving them back costs no system call.</summary>
    public long Room => WarmBytesAtOnce - WarmBytes;

    /// <summary>Gives warm pages to the system that are too many, or have been warm for too long. Called from time to
    /// time.</summary>
    public void Trim()
    {
        long target = WarmBytesMax;
        lock (_gate)
        {
            long now = Environment.TickCount64;
            if (now - _decayedAt >= DecayMs)
            {
                _decayedAt = now;
                target = Math.Min(target, Math.Max(WarmBytesIdle, 2 * _takenLately * PageBytes));
                _takenLately = 0;
            }
        }

        TrimTo(target);
    }

    /// <summary>Gives some warm pages to the system if there are more than may be until the store's thread comes by:
    /// others have taken memory since, and not this. At the top of turns, so that what is kept makes room for what
    /// comes as fast as it comes, whatever the thread gets done.</summary>
    public void TrimIfOver()
    {
        if (WarmBytes > WarmBytesMin && Room < 0) TrimOnce(WarmBytesMax, AdviseBytes);
    }

    /// <summary>Gives warm pages to the system until at most <paramref name="bytes"/> are warm.</summary>
    public void TrimTo(long bytes)
    {
        // Ends: each round makes some of the warm pages cold, and gives up when the system refuses. If others give back
        // as fast as that, they help.
        while (TrimOnce(bytes, AdviseBytes))
        {
        }

        lock (_gate)
        {
            if (_described > _top) _map.Forget(_top, _described);
            _described = _top;
        }
    }

    /// <returns>True when some pages have been given to the system: there may be more.</returns>
    private bool TrimOnce(long bytes, long adviseBytes)
    {
        var ranges = stackalloc PageRange[AdviseExtents];
        int count = 0;
        lock (_gate)
        {
            long over = Math.Min(_warm.Pages - (bytes / PageBytes), adviseBytes / PageBytes);
            while (over > 0 && count < AdviseExtents)
            {
                int first = _warm.TryTakeLongest((int)over, out int pages);
                if (first == 0) break;
                ranges[count++] = new PageRange { Start = At(first), Bytes = (nuint)(pages * PageBytes) };
                over -= pages;
            }
        }

        if (count == 0) return false;
        bool isCold = VirtualMemory.GiveBack(new ReadOnlySpan<PageRange>(ranges, count));
        lock (_gate)
        {
            for (int i = 0; i < count; i++)
                Free(PageOf(ranges[i].Start), (int)((long)ranges[i].Bytes / PageBytes),
                    isCold ? ExtentState.Cold : ExtentState.Warm);
        }

        return isCold;
    }

    /// <summary>Walks the arena and throws when anything is wrong. For tests.</summary>
    /// <returns>How many extents there are, page 0 not counted.</returns>
    public int Check()
    {
        lock (_gate)
        {
            _cold.Check();
            _warm.Check();
            long taken = -1, cold = 0, warm = 0;
            int count = -1;
            var before = ExtentState.Taken;
            for (int page = 0; page < _top; page += _map[page].Pages)
            {
                var entry = _map[page];
                if (entry.Pages <= 0 || page + entry.Pages > _top)
                    throw new InvalidOperationException($"extent {page} has {entry.Pages} pages");
                var last = _map[page + entry.Pages - 1];
                if (last.Pages != entry.Pages || last.State != entry.State)
                    throw new InvalidOperationException($"extent {page} has two ends");
                if (entry.State == before && before != ExtentState.Taken)
                    throw new InvalidOperationException($"extent {page} is not joined");
                before = entry.State;
                if (before == ExtentState.Cold) cold += entry.Pages;
                else if (before == ExtentState.Warm) warm += entry.Pages;
                else taken += entry.Pages;
                count++;
            }

            if (before == ExtentState.Cold)
                throw new InvalidOperationException("the last extent is cold, and not above the top");
            if ((taken, cold, warm) != (_takenPages, _cold.Pages, _warm.Pages))
                throw new InvalidOperationException(
                    $"{taken}, {cold}, {warm} pages are taken, cold, warm; counted {_takenPages}, {_cold.Pages}, "
                    + $"{_warm.Pages}");
            return count;
        }
    }

    private byte* TryTakePages(int pages, bool isZeroed, out bool isCold)
    {
        lock (_gate)
        {
            int first = isZeroed ? 0 : _warm.TryTake(pages);
            isCold = first == 0;
            if (first == 0) first = _cold.TryTake(pages);
            if (first == 0)
            {
                if (pages > _pagesMax - _top) return null;
                first = _top;
                _top += pages;
                _described = Math.Max(_described, _top);
                _map.Describe(first, pages, ExtentState.Taken);
            }

            _takenPages += pages;
            if (!isZeroed) _takenLately += pages;
            return At(first);
        }
    }

    /// <summary>Puts an extent that is in no list into one, together with its free neighbours of the same
    /// state.</summary>
    private void Free(int first, int pages, ExtentState state)
    {
        Debug.Assert(_gate.IsHeldByCurrentThread, "the lists are the lock's");
        Debug.Assert(first > 0 && pages > 0 && first + pages <= _top, "an extent lies below the top");
        ExtentLists lists = state == ExtentState.Warm ? _warm : _cold;
        int after = first + pages;
        if (after < _top && _map[after].State == state)
        {
            pages += _map[after].Pages;
            lists.Remove(after);
        }

        if (_map[first - 1].State == state)
        {
            first -= _map[first - 1].Pages;
            pages += _map[first].Pages;
            lists.Remove(first);
        }

        if (state == ExtentState.Cold && first + pages == _top) _top = first;
        else lists.Add(first, pages);
    }

    private byte* At(int page) => _arena + (page * PageBytes);

    private int PageOf(byte* start) => (int)((start - _arena) / PageBytes);
}
