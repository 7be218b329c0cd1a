using System.Diagnostics;
using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>What took at least latency-monitor-threshold, and when: for each event the worst of each second.</summary>
/// <remarks>
/// Threads: any. Samples are rare, so a lock is all it takes; whether something took long enough is asked without it.
/// Memory: a few KB for each event, at most.
/// </remarks>
/// <param name="time">Gives samples their time.</param>
internal sealed class LatencyMonitor(TimeProvider time)
{
    private readonly Lock _guard = new();
    private readonly LatencySamples?[] _samples = new LatencySamples?[LatencyEvents.Count];
    private long _thresholdTicks = long.MaxValue;

    /// <summary>Whether anything is watched for.</summary>
    // Volatile, here and below: CONFIG SET changes it; nothing else is ordered by it.
    public bool IsOn => ThresholdTicks != long.MaxValue;

    /// <summary>From how many ticks of <see cref="Stopwatch"/> on there is a sample; <see cref="long.MaxValue"/>: there
    /// is none.</summary>
    public long ThresholdTicks => Volatile.Read(ref _thresholdTicks);

    /// <summary>Which commands have to be timed one by one.</summary>
    public TimingDetail Detail { get; private set; }

    /// <summary>Takes over latency-monitor-threshold.</summary>
    public void Follow(ServerOptions options)
    {
        long threshold = options.LatencyMonitorThreshold;
        bool isOff = threshold == 0 || threshold > long.MaxValue / Stopwatch.Frequency;    // nothing takes that long
        Volatile.Write(ref _thresholdTicks, isOff ? long.MaxValue : threshold * (Stopwatch.Frequency / 1000));
        Detail = isOff ? TimingDetail.None : CommandTiming.DetailOf(threshold * 1000);
    }

    /// <summary>Adds a sample if an event took long enough.</summary>
    /// <param name="ticks">How long it took.</param>
    public void Note(LatencyEvent cause, long ticks)
    {
        if (ticks >= ThresholdTicks) Add(cause, ticks / (Stopwatch.Frequency / 1000));
    }

    /// <summary>The samples of an event, the oldest first; empty when there are none.</summary>
    public LatencySample[] SamplesOf(LatencyEvent cause)
    {
        lock (_guard) return _samples[(int)cause]?.ToArray() ?? [];
    }

    /// <summary>The events that there are samples of.</summary>
    public LatencySeries[] All()
    {
        lock (_guard)
        {
            return [.. from cause in Enum.GetValues<LatencyEvent>()
                let samples = _samples[(int)cause]
                where samples != null
                select new LatencySeries(cause, samples.ToArray(), samples.WorstMilliseconds)];
        }
    }

    /// <summary>Forgets the samples of an event.</summary>
    /// <returns>Whether there were any.</returns>
    public bool Reset(LatencyEvent cause)
    {
        lock (_guard)
        {
            bool any = _samples[(int)cause] != null;
            _samples[(int)cause] = null;
            return any;
        }
    }

    private void Add(LatencyEvent cause, long milliseconds)
    {
        var sample = new LatencySample(time.GetUtcNow().ToUnixTimeSeconds(), milliseconds);
        lock (_guard) (_samples[(int)cause] ??= new LatencySamples()).Add(sample);
    }
}

/// <summary>The samples of one event at some moment.</summary>
/// <param name="Event">What they are of.</param>
/// <param name="Samples">The oldest first; at least one.</param>
/// <param name="WorstMilliseconds">The worst since the first, those no longer kept included.</param>
internal readonly record struct LatencySeries(LatencyEvent Event, LatencySample[] Samples, long WorstMilliseconds)
{
    public string Name => LatencyEvents.NameOf(Event);
}
