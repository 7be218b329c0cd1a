using System.Diagnostics;

namespace Kv.Server.Diagnostics;

/// <summary>The worst that one event took within one second.</summary>
internal readonly record struct LatencySample(long UnixSeconds, long Milliseconds);

/// <summary>The last samples of one event, at most one for each second.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class LatencySamples
{
    /// <summary>How many samples are kept, as in the reference.</summary>
    public const int CountMax = 160;

    private readonly Queue<LatencySample> _samples = new();
    private LatencySample _last;

    /// <summary>The worst since the first sample, those no longer kept included.</summary>
    public long WorstMilliseconds { get; private set; }

    /// <summary>Adds what an event took, unless the same second has a worse sample.</summary>
    public void Add(LatencySample sample)
    {
        WorstMilliseconds = Math.Max(WorstMilliseconds, sample.Milliseconds);
        if (_last.UnixSeconds == sample.UnixSeconds && _last != default)
        {
            if (sample.Milliseconds > _last.Milliseconds) _last = sample;
            return;
        }

        Keep();
        _last = sample;
    }

    /// <summary>All samples that are kept, the oldest first; at least one.</summary>
    public LatencySample[] ToArray()
    {
        Debug.Assert(_last != default, "samples are asked for after the first was added");
        return [.. _samples, _last];
    }

    // The last one stays out of the queue, since it may still grow.
    private void Keep()
    {
        if (_last == default) return;
        if (_samples.Count == CountMax - 1) _samples.Dequeue();
        _samples.Enqueue(_last);
    }
}
