using System.Diagnostics;
using System.Globalization;
using Kv.Server.Metrics;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Reports;

/// <summary>How a store stands to its limit.</summary>
internal enum MemoryState
{
    /// <summary>Below the limit.</summary>
    Ok,

    /// <summary>Keys are evicted.</summary>
    Evicting,

    /// <summary>Writes are refused: nothing may be evicted.</summary>
    Full,
}

/// <summary>Logs that memory is short, and what holds it; measures what the program itself takes.</summary>
/// <remarks>
/// Threads: its timers'. It logs when the state becomes worse, at most every ten seconds; while the state stays bad it
/// logs again, each time after twice as long, up to an hour. After a minute of enough memory all begins anew. What the
/// program takes is the most that was measured lately, less a megabyte for each second since: the figures are read one
/// after another, and do not always add up. While that is more than the process may take, the C library's heap gives
/// back what is free in it.
/// </remarks>
internal sealed class MemoryWatch : IDisposable
{
    private const int MeasuresPerSecond = 4;
    private const long ProgramFalls = (1 << 20) / MeasuresPerSecond;
    private const long TrimFromBytes = 1 << 20;
    private const long PauseMsMin = 10_000, PauseMsMax = 3_600_000, QuietMs = 60_000;

    // In a second a crowd makes the managed heap grow by tens of megabytes, and what is kept warm goes by the program.
    private static readonly TimeSpan Tick = TimeSpan.FromSeconds(1), MeasureTick = Tick / MeasuresPerSecond;

    private readonly Store _store;
    private readonly ILogger _log;
    private readonly Extents? _extents;
    private readonly ITimer _timer, _measuring;
    private MemoryState _reported;
    private int _state;
    private long _evicted, _evictedAtLine, _lineTickMs, _shortTickMs, _programTrimmed, _pauseMs = PauseMsMin;

    /// <param name="extents">The arena of the process, if only this store uses it; else null.</param>
    public MemoryWatch(Store store, ILogger log, TimeProvider time, Extents? extents)
    {
        _store = store;
        _log = log;
        _extents = extents;
        _timer = time.CreateTimer(
            static watch => ((MemoryWatch)watch!).Look(Environment.TickCount64), this, Tick, Tick);
        _measuring = time.CreateTimer(
            static watch => ((MemoryWatch)watch!).Measure(), this, MeasureTick, MeasureTick);
    }

    // Volatile: the timer's; INFO reads the state of some moment within the last second.
    public MemoryState State => (MemoryState)Volatile.Read(ref _state);

    public void Dispose()
    {
        _timer.Dispose();
        _measuring.Dispose();
    }

    internal void Look(long tickMs)
    {
        long evicted = _store.Stats.EvictedKeys;
        Debug.Assert(evicted >= _evicted, "evicted keys are counted up");
        bool isFull = _store.IsOverBudget && _store.Room.WasFull;
        var state = isFull ? MemoryState.Full : evicted != _evicted ? MemoryState.Evicting : MemoryState.Ok;
        _evicted = evicted;
        Volatile.Write(ref _state, (int)state);
        if (state == MemoryState.Ok)
        {
            if (_reported != MemoryState.Ok && tickMs - _shortTickMs >= QuietMs)
                (_reported, _pauseMs) = (state, PauseMsMin);
            return;
        }

        bool isFirst = _reported == MemoryState.Ok, isWorse = state > _reported;
        _shortTickMs = tickMs;
        if (!isFirst && tickMs - _lineTickMs < (isWorse ? PauseMsMin : _pauseMs)) return;
        _pauseMs = isWorse ? PauseMsMin : Math.Min(2 * _pauseMs, PauseMsMax);
        (_reported, _lineTickMs) = (state, tickMs);
        Write(state, evicted - _evictedAtLine);
        _evictedAtLine = evicted;
    }

    internal void Measure()
    {
        if (_extents == null) return;
        MemoryBudget budget = _store.Budget;
        long program = Program(budget, _extents);
        budget.ProgramBytes = Math.Max(program, budget.ProgramBytes - ProgramFalls);
        // Where nothing has come since the last time there is nothing to give back: a server at rest is left alone.
        if (program < _programTrimmed) _programTrimmed = program;
        if (!budget.IsBeyond || program - _programTrimmed < TrimFromBytes) return;
        VirtualMemory.TrimHeap();
        _programTrimmed = Program(budget, _extents);
    }

    private static long Program(MemoryBudget budget, Extents extents) =>
        ResidentMemory.Bytes - budget.UsedBytes - budget.IdleBytes - extents.WarmBytes;

    private void Write(MemoryState state, long evicted)
    {
        Debug.Assert(state != MemoryState.Ok && evicted >= 0, "memory is short");
        var level = state == MemoryState.Full ? LogLevel.Warning : LogLevel.Information;
        string what = state == MemoryState.Full ? "writes are refused, and nothing may be evicted"
            : string.Create(CultureInfo.InvariantCulture, $"{evicted} keys were evicted");
        _log.Log(level, "Memory is short, {Used} of {Limit}: {What}. It is held by {Parts}",
            MetricValue.Size(_store.UsedBytes), MetricValue.Size(_store.MaxMemoryBytes), what,
            Describe(_store.MemoryUse));
    }

    /// <summary>The parts of an account, largest first.</summary>
    internal static string Describe(in MemoryUse use) => string.Join(", ", Parts(use)
        .OrderByDescending(part => part.Bytes).Select(part => $"{part.Name} {MetricValue.Size(part.Bytes)}"));

    /// <summary>The name of the largest part.</summary>
    internal static string Largest(in MemoryUse use) => Parts(use).MaxBy(part => part.Bytes).Name;

    private static (string Name, long Bytes)[] Parts(in MemoryUse use) =>
    [
        ("log", use.LogBytes), ("index", use.IndexBytes), ("blocks", use.BlockBytes), ("clients", use.ClientBytes),
        ("feed", use.FeedBytes), ("tables", use.TableBytes), ("managed", use.HeapBytes),
    ];
}
