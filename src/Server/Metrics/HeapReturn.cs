using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>Gives back to the system what the managed heap keeps and nobody uses.</summary>
/// <remarks>
/// The runtime collects only when something is allocated, and keeps what a collection has emptied: a script that was
/// given an argument of half a gigabyte left that resident until some hundred thousand others had run. Each full
/// collection gives back a part of what the ones before it have emptied (measured: 36 MB in 5 ms, one object of 512 MB
/// in 60 ms). So, where more has become resident than any account has, and the runtime has let the heap alone for ten
/// seconds, collections in the background follow one another for as long as each few of them give something back.
/// They leave holes: where the process takes more than it may, one that closes those stops all threads.
/// Threads: the timer's of <see cref="ManagedHeap"/>.
/// </remarks>
internal sealed class HeapReturn
{
    /// <summary>So much more than was left the last time is worth the work; what is less than the second one is
    /// nothing.</summary>
    private const long GrownBytesMin = 32L << 20, ReturnedBytesMin = 1L << 20;

    /// <summary>Ten seconds: how long the runtime must have let the heap alone.</summary>
    private const int QuietTicks = 40;

    /// <summary>Collections that may give nothing back, before it is left at that: what is emptied in one goes in the
    /// second or third one after it.</summary>
    private const int VainRoundsMax = 4;

    /// <summary>Marking a megabyte takes a millisecond: of a second, a hundredth at most.</summary>
    private const long MarkedBytesPerTick = 5L << 19;

    /// <summary>While the process takes more than it may: so much that is free or dead in the heap is worth a
    /// collection which stops all threads, and moves what is alive together; if no more is alive than can be moved in
    /// some 20 ms. After two seconds again, then after four, and so on up to ten, while it stays so.</summary>
    private const long FreeBytesMin = 16L << 20, MovedBytesMax = 24L << 20;

    private const int CompactionTicksMin = 8, CompactionTicksMax = 40;

    private readonly MemoryBudget _budget;
    private readonly IHeapFigures _figures;
    private long _collections, _left, _least;
    private int _quiet, _rounds, _untilRound;
    private int _untilCompaction, _compactionTicks = CompactionTicksMin;

    public HeapReturn(MemoryBudget budget, IHeapFigures figures)
    {
        (_budget, _figures) = (budget, figures);
        _left = BesideBytes;
        _collections = figures.FullCollections;
    }

    /// <summary>What is resident and in no account: free memory of the heap, garbage, code, stacks.</summary>
    private long BesideBytes => _figures.ResidentBytes - _budget.UsedBytes - _budget.IdleBytes;

    /// <summary>Does what there is to do now; to be called four times a second.</summary>
    public void Look()
    {
        long beside = BesideBytes;
        if (_rounds > 0) GoOn(beside);
        else BeginIfGrown(beside);
        CompactIfBeyond();
    }

    private void BeginIfGrown(long beside)
    {
        long collections = _figures.FullCollections;
        if (collections != _collections) (_collections, _quiet) = (collections, 0);
        else if (_quiet < QuietTicks) _quiet++;
        _left = Math.Min(_left, beside);
        if (_quiet < QuietTicks || beside < _left + GrownBytesMin) return;
        (_rounds, _least) = (VainRoundsMax, beside);
        Collect();
    }

    // Ends: what there is to give back has an end, and so have the rounds without.
    private void GoOn(long beside)
    {
        if (--_untilRound > 0) return;
        if (beside <= _least - ReturnedBytesMin) (_least, _rounds) = (beside, VainRoundsMax);
        else _rounds--;
        if (_rounds > 0) Collect();
        else (_left, _quiet) = (beside, 0);
    }

    private void Collect()
    {
        Debug.Assert(_rounds > 0, "a collection is one of so many");
        _untilRound = 1 + (int)(_figures.LiveBytes / MarkedBytesPerTick);
        _figures.Collect();
    }

    private void CompactIfBeyond()
    {
        if (_untilCompaction > 0) _untilCompaction--;
        if (!_budget.IsBeyond) _compactionTicks = CompactionTicksMin;
        else if (_untilCompaction == 0 && _figures.FreeBytes >= FreeBytesMin && _figures.LiveBytes <= MovedBytesMax)
        {
            _untilCompaction = _compactionTicks;
            _compactionTicks = Math.Min(2 * _compactionTicks, CompactionTicksMax);
            _figures.Compact();
        }
    }
}
