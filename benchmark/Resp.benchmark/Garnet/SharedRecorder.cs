using System.Text;
using RespBenchmark.Engine;
using RespBenchmark.Measure;

namespace RespBenchmark.Garnet;

/// <summary>What sessions on any thread measured, by kind of operation.</summary>
/// <remarks>Threads: any; all state is under the lock, which a call of a client library outweighs a hundred
/// times.</remarks>
internal sealed class SharedRecorder(int kinds)
{
    private readonly Lock _lock = new();
    private readonly Histogram[] _interval = [.. Enumerable.Range(0, kinds).Select(_ => new Histogram())];
    private readonly long[] _ops = new long[kinds];
    private Totals _totals;

    public readonly record struct Totals(long Ops, long Errors, long Nils, long Reads)
    {
        public static Totals operator +(Totals a, Totals b) =>
            new(a.Ops + b.Ops, a.Errors + b.Errors, a.Nils + b.Nils, a.Reads + b.Reads);
    }

    /// <summary>Read when no session runs any more.</summary>
    public ErrorClasses ErrorClasses { get; } = new();

    /// <summary>Since the beginning.</summary>
    public Totals Sums
    {
        get
        {
            lock (_lock) return _totals;
        }
    }

    /// <summary>Operations of a kind since the beginning.</summary>
    public long OpsOf(int kind)
    {
        lock (_lock) return _ops[kind];
    }

    /// <summary>A group of operations has its replies; the latency is that of the whole, kept under the last's
    /// kind.</summary>
    public void Done(int[] group, long nanoseconds, long nils, long reads)
    {
        lock (_lock)
        {
            foreach (int kind in group) _ops[kind]++;
            _interval[group[^1]].Record(nanoseconds);
            _totals += new Totals(group.Length, 0, nils, reads);
        }
    }

    /// <summary>A group failed, all of it: no operation and no latency, so that nobody wins by refusing.</summary>
    public void Failed(string text)
    {
        lock (_lock)
        {
            _totals += new Totals(0, 1, 0, 0);
            ErrorClasses.Count(Encoding.UTF8.GetBytes(text));
        }
    }

    /// <summary>Adds the latencies since the last call, and forgets them.</summary>
    /// <param name="into">By kind.</param>
    public void TakeInterval(Histogram[] into)
    {
        lock (_lock)
        {
            for (int kind = 0; kind < _interval.Length; kind++)
            {
                into[kind].Add(_interval[kind]);
                _interval[kind].Reset();
            }
        }
    }
}
