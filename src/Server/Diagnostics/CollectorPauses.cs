using System.Diagnostics;

namespace Kv.Server.Diagnostics;

/// <summary>Tells the latency monitor how long the garbage collector has stopped all threads, while the monitor is
/// on.</summary>
/// <remarks>
/// Looks ten times a second, and costs nothing else. Of several collections between two looks the runtime knows only
/// the last of each kind: the pauses of the others count together, as one. Threads: its timer's, and who sets options.
/// </remarks>
internal sealed class CollectorPauses : IDisposable
{
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(100);
    private static readonly GCKind[] Kinds = [GCKind.Ephemeral, GCKind.FullBlocking, GCKind.Background];

    private readonly LatencyMonitor _monitor;
    private readonly ITimer _timer;
    private readonly Lock _guard = new();
    private readonly long[] _seen = new long[Kinds.Length];
    private TimeSpan _total;
    private bool _isOn;

    public CollectorPauses(LatencyMonitor monitor, TimeProvider time)
    {
        _monitor = monitor;
        _timer = time.CreateTimer(static pauses => ((CollectorPauses)pauses!).Look(), this,
            Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Goes by whether the monitor is on.</summary>
    public void Follow()
    {
        lock (_guard)
        {
            if (_isOn == _monitor.IsOn) return;
            _isOn = !_isOn;
            var period = _isOn ? Tick : Timeout.InfiniteTimeSpan;
            if (_isOn) LongestOfNew(GC.GetTotalPauseDuration());    // what was before is not for the monitor
            _timer.Change(period, period);
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Look()
    {
        lock (_guard)       // a look that was late may overlap with the next
        {
            var total = GC.GetTotalPauseDuration();
            if (!_isOn || total == _total) return;
            var longest = LongestOfNew(total);
            _monitor.Note(LatencyEvent.GcPause, (long)(longest.TotalSeconds * Stopwatch.Frequency));
        }
    }

    /// <summary>The longest pause since the last call.</summary>
    private TimeSpan LongestOfNew(TimeSpan total)
    {
        TimeSpan all = total - _total, longest = TimeSpan.Zero, known = TimeSpan.Zero;
        _total = total;
        for (int i = 0; i < Kinds.Length; i++)
        {
            var info = GC.GetGCMemoryInfo(Kinds[i]);
            if (info.Index == _seen[i]) continue;
            _seen[i] = info.Index;
            foreach (var pause in info.PauseDurations)
            {
                known += pause;
                if (pause > longest) longest = pause;
            }
        }

        // Of a collection in the background that is not over yet, one pause is: it is in the sum only, and known later.
        var unknown = all - known;
        if (unknown > longest) longest = unknown;
        return longest < all ? longest : all;
    }
}
