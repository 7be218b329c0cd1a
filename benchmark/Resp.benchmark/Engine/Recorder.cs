using System.Runtime.CompilerServices;
using RespBenchmark.Measure;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>What one loop measures: counters that anyone may read at any time, and two sets of histograms, one of which
/// the loop fills while the other is read.</summary>
/// <remarks>Threads: one writer, the loop (or whoever holds its lock). Counters are read without a lock: each is an
/// aligned 64-bit word with one writer, so a reader sees a value that was true a moment ago. Histograms are read only
/// after <see cref="Swap"/>, which the loop does itself when asked.</remarks>
internal sealed class Recorder
{
    private readonly HistogramSet[] _sets;
    private readonly CommandKind[] _kinds;
    private readonly long[] _ops, _errors, _nils;
    private HistogramSet _active;
    private RunCounters _base;

    public long Commands, Sent, Ops, Errors, Nils, Mismatches, Wrong, Lost, BytesOut, BytesIn;

    /// <summary>Nanoseconds of the clock; 0: none yet.</summary>
    public long FirstSend, LastReply;

    /// <summary>Nanoseconds in send, receive and parse, and those of the phases they belong to.</summary>
    public long Busy, Wall;

    /// <summary>Bytes that the loop's thread allocated while it measured.</summary>
    public long Allocated;

    /// <summary>Open loop: sends more than 100 us after their time.</summary>
    public long LateSends;

    public Recorder(IReadOnlyList<CommandKind> kinds, bool openLoop)
    {
        _kinds = [.. kinds];
        _sets = [new HistogramSet(kinds.Count, openLoop), new HistogramSet(kinds.Count, openLoop)];
        _active = _sets[0];
        _ops = new long[kinds.Count];
        _errors = new long[kinds.Count];
        _nils = new long[kinds.Count];
    }

    /// <summary>The share of its time in send, receive and parse.</summary>
    public double Occupancy => Wall > 0 ? Math.Clamp((double)Busy / Wall, 0, 1) : 0;

    public ErrorClasses ErrorClasses { get; } = new();

    /// <summary>The set the loop does not fill.</summary>
    public HistogramSet Inactive => _active == _sets[0] ? _sets[1] : _sets[0];

    /// <summary>Sums since the last <see cref="Reset"/>.</summary>
    public RunCounters Counters => Total - _base;

    private RunCounters Total => new(Volatile.Read(ref Ops), Volatile.Read(ref Commands), Volatile.Read(ref Sent),
        Volatile.Read(ref Errors), Volatile.Read(ref Nils), Volatile.Read(ref Mismatches), Volatile.Read(ref Wrong),
        Volatile.Read(ref Lost), Volatile.Read(ref BytesOut), Volatile.Read(ref BytesIn));

    public (long Ops, long Errors, long Nils) OfKind(int kind) => (_ops[kind], _errors[kind], _nils[kind]);

    /// <summary>Replies of commands that left together, as they were wanted.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Replied(in InflightRun run, int count, long now, bool latency)
    {
        int kind = run.Kind;
        CommandKind about = _kinds[kind];
        long ops = (long)count * about.Ops;
        Commands += count;
        Ops += ops;
        _ops[kind] += ops;
        if (!latency || about.Continues) return;
        _active.Service[kind].Record(now - run.Sent, count);
        _active.Response?.Record(now - run.Intended, count);
    }

    /// <summary>The latency of a batch as a whole, under the kind of its last command.</summary>
    public void BatchReplied(int kind, long nanoseconds) => _active.Service[kind].Record(nanoseconds);

    public void Nil(int kind, int count)
    {
        Nils += count;
        _nils[kind] += count;
    }

    /// <summary>An error reply: neither an operation nor a latency, so that a server cannot win by refusing.</summary>
    public void Error(int kind, ReadOnlySpan<byte> text)
    {
        Commands++;
        Errors++;
        _errors[kind]++;
        ErrorClasses.Count(text);
    }

    /// <summary>A reply of a type that the command never gives: counted like an error.</summary>
    public void Mismatch()
    {
        Commands++;
        Mismatches++;
    }

    /// <summary>Open loop: how late a command left.</summary>
    public void Left(long lagNanoseconds)
    {
        _active.Lag!.Record(lagNanoseconds);
        if (lagNanoseconds > 100_000) LateSends++;
    }

    /// <summary>Gives the filled histograms away and goes on with the others, which must be empty.</summary>
    public void Swap() => _active = Inactive;

    /// <summary>Forgets all so far. What is outstanding counts as sent from now on, so that Sent = Commands + Lost
    /// holds for what comes.</summary>
    public void Reset()
    {
        _sets[0].Reset();
        _sets[1].Reset();
        Array.Clear(_ops);
        Array.Clear(_errors);
        Array.Clear(_nils);
        ErrorClasses.Reset();
        LateSends = FirstSend = LastReply = Busy = Wall = Allocated = 0;
        _base = Total with { Sent = Commands + Lost };
    }
}
