using RespBenchmark.Engine;
using RespBenchmark.Measure;

namespace RespBenchmark.Scenarios;

/// <summary>What one loop's part of a scenario measures.</summary>
/// <remarks>Threads: the loop writes; <see cref="Ops"/>, <see cref="Errors"/> and counts are read at any time, each an
/// aligned word with one writer; all else when the loop stands still.</remarks>
internal sealed class ScenarioRecorder(int latencies, int counts)
{
    private readonly Histogram[] _latencies = [.. Enumerable.Range(0, latencies).Select(_ => new Histogram())];
    private readonly long[] _counts = new long[counts];

    public long Ops, Errors, Sent, Lost, BytesOut, BytesIn;

    /// <summary>Messages that somebody of the group must still receive.</summary>
    public long Pending;

    /// <summary>Updates that must be found in the keys afterwards: since the connections were made, whatever the
    /// phase.</summary>
    public long Updates;

    public long FirstSend, LastReply, Busy, Wall, LateSends;

    /// <summary>Whether any reply was an error since the connections were made: then nobody knows what the keys must
    /// hold.</summary>
    public bool HasErred { get; private set; }

    public ErrorClasses ErrorClasses { get; } = new();

    /// <summary>From the intended send, and how late that was; of an open loop.</summary>
    public Histogram Response { get; } = new();

    public Histogram Lag { get; } = new();

    public double Occupancy => Wall > 0 ? Math.Clamp((double)Busy / Wall, 0, 1) : 0;

    public Histogram Latency(int number) => _latencies[number];

    public long CountOf(int number) => Volatile.Read(ref _counts[number]);

    public void Count(int number, long more = 1) => _counts[number] += more;

    /// <summary>One operation is done.</summary>
    public void Done(in Departure departure, long now)
    {
        Ops++;
        _latencies[0].Record(now - departure.Sent);
        Response.Record(now - departure.Intended);
    }

    public void Error(ReadOnlySpan<byte> text)
    {
        Errors++;
        HasErred = true;
        ErrorClasses.Count(text);
    }

    /// <summary>An operation left.</summary>
    public void Left(long lag)
    {
        const long late = 100_000;
        Lag.Record(lag);
        if (lag > late) LateSends++;
    }

    /// <summary>Forgets all but what the keys must hold.</summary>
    public void Reset()
    {
        foreach (Histogram one in _latencies) one.Reset();
        Array.Clear(_counts);
        Response.Reset();
        Lag.Reset();
        ErrorClasses.Reset();
        Ops = Errors = Sent = Lost = BytesOut = BytesIn = FirstSend = LastReply = Busy = Wall = LateSends = 0;
    }
}
