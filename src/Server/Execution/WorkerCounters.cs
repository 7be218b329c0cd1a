using System.Runtime.InteropServices;

namespace Kv.Server.Execution;

/// <summary>What one worker (or lease of the portable transport) has counted.</summary>
/// <remarks>
/// Threads: one writes, without a barrier; INFO reads. Each counter is one aligned word, so a reader sees a recent
/// value: stale by a turn at most, never torn. Padded on both sides, so that workers share no cache line.
/// </remarks>
internal sealed class WorkerCounters(int commands)
{
    private Cells _cells;

    public ref long Commands => ref _cells.Commands;

    /// <summary>Error replies.</summary>
    public ref long Errors => ref _cells.Errors;

    public ref long BytesIn => ref _cells.BytesIn;

    public ref long BytesOut => ref _cells.BytesOut;

    /// <summary>Receives from sockets that returned bytes.</summary>
    public ref long Reads => ref _cells.Reads;

    /// <summary>Sends to sockets that took bytes.</summary>
    public ref long Writes => ref _cells.Writes;

    /// <summary>Changes for save points, beside one for each call that did not fail of what has no
    /// <see cref="ChangeRule"/>.</summary>
    public ref long Changes => ref _cells.Changes;

    /// <summary>Whether histograms of how long commands take are kept (latency-tracking).</summary>
    // A plain word, read for each run that is timed: whoever reads it late counts a few more, or fewer.
    public bool TracksLatency { get; set; }

    /// <summary>By <see cref="Command.Id"/>.</summary>
    public CommandCounts[] ByCommand { get; } = new CommandCounts[commands];

    /// <summary>Sets everything to 0 (CONFIG RESETSTAT). What the owner adds at this very moment may survive.</summary>
    public void Reset()
    {
        _cells = default;
        Array.Clear(ByCommand);
    }

    // Two lines on either side: the processor fetches lines in pairs.
    [StructLayout(LayoutKind.Explicit, Size = 128 + 64 + 128)]
    private struct Cells
    {
        [FieldOffset(128)] public long Commands;
        [FieldOffset(136)] public long Errors;
        [FieldOffset(144)] public long BytesIn;
        [FieldOffset(152)] public long BytesOut;
        [FieldOffset(160)] public long Reads;
        [FieldOffset(168)] public long Writes;
        [FieldOffset(176)] public long Changes;
    }
}
