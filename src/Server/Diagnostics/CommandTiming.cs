using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>Which commands are timed one by one, for all who want to know of slow ones.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class CommandTiming(SlowLog slowLog, LatencyMonitor monitor)
{
    /// <summary>From this threshold on only what may take any time is timed one by one: what is done in one turn else
    /// takes some 4 ms at most, and the rest, in steps, is always timed.</summary>
    private const long BoundedMicroseconds = 5000;

    /// <summary>From this threshold on what is quick is not timed one by one.</summary>
    private const long QuickMicroseconds = 100;

    /// <summary>The greatest detail that somebody needs.</summary>
    // A plain word, read before each run of commands: whoever reads it late times a few commands less, or more.
    public TimingDetail Detail { get; private set; }

    /// <summary>Takes over the options of the slow log and of the latency monitor.</summary>
    /// <returns>Null: it always can.</returns>
    public string? Follow(ServerOptions options)
    {
        slowLog.Follow(options);
        monitor.Follow(options);
        Detail = (TimingDetail)Math.Max((sbyte)slowLog.Detail, (sbyte)monitor.Detail);
        return null;
    }

    /// <summary>What has to be timed so that no command of so many microseconds is missed; below 0 none is looked
    /// for.</summary>
    public static TimingDetail DetailOf(long thresholdMicroseconds) => thresholdMicroseconds switch
    {
        < 0 => TimingDetail.None,
        < QuickMicroseconds => TimingDetail.All,
        < BoundedMicroseconds => TimingDetail.Long,
        _ => TimingDetail.Unbounded,
    };
}
