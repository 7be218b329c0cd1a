using System.Diagnostics;
using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>Which commands are timed one by one, for all who want to know of slow ones, or of each.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class CommandTiming(SlowLog slowLog, LatencyMonitor monitor)
{
    /// <summary>From this threshold on only what may take any time is timed one by one: what is done in one turn else
    /// takes some 4 ms at most, and the rest, in steps, is always timed.</summary>
    private const long BoundedMicroseconds = 5000;

    /// <summary>From this threshold on what is quick is not timed one by one.</summary>
    private const long QuickMicroseconds = 100;

    private readonly Lock _guard = new();
    private bool _showsAll;

    /// <summary>The greatest detail that somebody needs.</summary>
    // A plain word, read before each run of commands: whoever reads it late times a few commands less, or more.
    public TimingDetail Detail { get; private set; }

    /// <summary>Whether somebody watches all commands, so that each is run by itself.</summary>
    public bool ShowsAll
    {
        get => Detail == TimingDetail.Everything;
        set
        {
            lock (_guard)
            {
                _showsAll = value;
                ChooseLatched();
            }
        }
    }

    /// <summary>Takes over the options of the slow log and of the latency monitor.</summary>
    /// <returns>Null: it always can.</returns>
    public string? Follow(ServerOptions options)
    {
        lock (_guard)
        {
            slowLog.Follow(options);
            monitor.Follow(options);
            ChooseLatched();
        }

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

    private void ChooseLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "who chooses last knows all");
        Detail = _showsAll ? TimingDetail.Everything
            : (TimingDetail)Math.Max((sbyte)slowLog.Detail, (sbyte)monitor.Detail);
    }
}
