using System.Diagnostics;

namespace Kv.Server.Metrics;

/// <summary>Timers for what measures a few times a second for as long as the server runs, on one thread of their
/// own.</summary>
/// <remarks>
/// A timer of the pool wakes two threads, one of which looks for more work for some 0.3 ms before it sleeps again: ten
/// ticks a second were most of what a server at rest took. Here all that is due at one time costs one thread one
/// wake-up. Ticks come a quarter of a second after the end of the last one, so a callback that takes long delays the
/// others: nothing that clients wait for belongs here.
/// Threads: any may make and dispose of timers; callbacks run on <c>kv-measure</c>, and none after <see
/// cref="Dispose"/>, which none of them may call.
/// </remarks>
internal sealed class MeasuringTime : TimeProvider, IDisposable
{
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(250);

    private readonly ManualResetEvent _end = new(false);
    private readonly Lock _lock = new();
    private readonly Thread _thread;
    private int _isDisposed;
    private volatile Repeated[] _all = [];      // never changed: replaced under the lock

    public MeasuringTime()
    {
        _thread = new Thread(Run, 256 * 1024) { IsBackground = true, Name = "kv-measure" };
        _thread.Start();
    }

    /// <param name="period">A multiple of a quarter of a second; <paramref name="dueTime"/> is the same.</param>
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        Debug.Assert(dueTime == period && period >= Tick && period.Ticks % Tick.Ticks == 0, "it comes by ticks");
        var timer = new Repeated(this, () => callback(state), period.Ticks / Tick.Ticks);
        lock (_lock) _all = [.. _all, timer];
        return timer;
    }

    /// <summary>Ends the thread; the second time nothing.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0) return;
        _end.Set();
        _thread.Join();
        _end.Dispose();
    }

    private void Run()
    {
        for (long tick = 1; !_end.WaitOne(Tick); tick++)
            foreach (var timer in _all)
                if (tick % timer.Ticks == 0)
                    timer.Call();
    }

    private void Remove(Repeated timer)
    {
        lock (_lock) _all = [.. _all.Where(other => other != timer)];
    }

    private sealed class Repeated(MeasuringTime time, Action call, long ticks) : ITimer
    {
        public long Ticks => ticks;

        public Action Call => call;

        public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

        public void Dispose() => time.Remove(this);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
