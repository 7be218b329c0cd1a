using RespBenchmark.Measure;

namespace RespBenchmark.Garnet;

/// <summary>What sessions on any thread measured.</summary>
/// <remarks>Threads: any; all state is under the lock, which a call of a client library outweighs a hundred times.</remarks>
internal sealed class SharedRecorder
{
    private readonly Lock _lock = new();
    private readonly Histogram _interval = new();
    private Totals _totals;

    public readonly record struct Totals(long Ops, long Errors, long Nils, long Reads)
    {
        public static Totals operator +(Totals a, Totals b) => new(a.Ops + b.Ops, a.Errors + b.Errors, a.Nils + b.Nils, a.Reads + b.Reads);
    }

    /// <summary>The text of the first error; null: there was none.</summary>
    public string? FirstError { get; private set; }

    /// <summary>Since the beginning.</summary>
    public Totals Sums
    {
        get
        {
            lock (_lock) return _totals;
        }
    }

    /// <param name="nanoseconds">Negative: not measured.</param>
    public void Record(long nanoseconds, Totals counts, string? error = null)
    {
        lock (_lock)
        {
            if (nanoseconds >= 0) _interval.Record(nanoseconds);
            _totals += counts;
            FirstError ??= error;
        }
    }

    /// <summary>Adds the latencies since the last call to <paramref name="into"/> and forgets them.</summary>
    public void TakeInterval(Histogram into)
    {
        lock (_lock)
        {
            into.Add(_interval);
            _interval.Reset();
        }
    }
}
