using System.Globalization;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Reports;

/// <summary>How a store stands to its limit.</summary>
internal enum MemoryState
{
    /// <summary>Below it.</summary>
    Ok,

    /// <summary>Keys are evicted.</summary>
    Evicting,

    /// <summary>Writes are refused: nothing may be evicted.</summary>
    Full,
}

/// <summary>Says in the log that memory is short, and what holds it.</summary>
/// <remarks>
/// Threads: its timer's. A line when the state becomes worse, at most one in ten seconds; while it stays so another one
/// after twice the time each, up to an hour. A minute of enough memory begins anew.
/// </remarks>
internal sealed class MemoryWatch : IDisposable
{
    private const long PauseMsMin = 10_000, PauseMsMax = 3_600_000, QuietMs = 60_000;
    private static readonly TimeSpan Tick = TimeSpan.FromSeconds(1);

    private readonly Store _store;
    private readonly ILogger _log;
    private readonly ITimer _timer;
    private MemoryState _told;
    private int _state;
    private long _evicted, _evictedAtLine, _lineTickMs, _shortTickMs, _pauseMs = PauseMsMin;

    public MemoryWatch(Store store, ILogger log, TimeProvider time)
    {
        _store = store;
        _log = log;
        _timer = time.CreateTimer(
            static watch => ((MemoryWatch)watch!).Look(Environment.TickCount64), this, Tick, Tick);
    }

    // Volatile: the timer's; INFO reads the state of some moment within the last second.
    public MemoryState State => (MemoryState)Volatile.Read(ref _state);

    public void Dispose() => _timer.Dispose();

    internal void Look(long tickMs)
    {
        long evicted = _store.Stats.EvictedKeys;
        bool isFull = _store.IsOverBudget && _store.Room.WasFull;
        var state = isFull ? MemoryState.Full : evicted != _evicted ? MemoryState.Evicting : MemoryState.Ok;
        _evicted = evicted;
        Volatile.Write(ref _state, (int)state);
        if (state == MemoryState.Ok)
        {
            if (_told != MemoryState.Ok && tickMs - _shortTickMs >= QuietMs) (_told, _pauseMs) = (state, PauseMsMin);
            return;
        }

        bool isFirst = _told == MemoryState.Ok, isWorse = state > _told;
        _shortTickMs = tickMs;
        if (!isFirst && tickMs - _lineTickMs < (isWorse ? PauseMsMin : _pauseMs)) return;
        _pauseMs = isWorse ? PauseMsMin : Math.Min(2 * _pauseMs, PauseMsMax);
        (_told, _lineTickMs) = (state, tickMs);
        Write(state, evicted - _evictedAtLine);
        _evictedAtLine = evicted;
    }

    private void Write(MemoryState state, long evicted)
    {
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

    /// <summary>The name of the part that is largest.</summary>
    internal static string Largest(in MemoryUse use) => Parts(use).MaxBy(part => part.Bytes).Name;

    private static (string Name, long Bytes)[] Parts(in MemoryUse use) =>
    [
        ("log", use.LogBytes), ("index", use.IndexBytes), ("blocks", use.BlockBytes), ("clients", use.ClientBytes),
        ("tables", use.TableBytes), ("managed", use.HeapBytes),
    ];
}
