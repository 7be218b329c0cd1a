using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Stops all sessions but one at the top of their turns, for work that no list of keys can describe.</summary>
/// <remarks>
/// A session that is in a turn is waited for, one that begins a turn waits until the pause is over; offline ones are
/// none the wiser. So nobody is stopped in the middle of anything, or holds a lock: the one who goes on works as ever.
/// Threads: any. One who wants a pause while another has it gets none, ends its turn, and is stopped with the others.
/// </remarks>
internal sealed class StorePause(EpochTable epochs, SteppedHolds longHolds) : IDisposable
{
    /// <summary>A turn is done by then, unless its thread is not running; the others are held up for no
    /// longer.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(5);

    private readonly ManualResetEventSlim _over = new(true);
    private int _claimed, _requested;

    // Volatile: who reads 0 in this very moment goes online behind a full fence, and looks again.
    public bool IsRequested => Volatile.Read(ref _requested) != 0;

    /// <returns>False when another has it, or some session did not come to its turn's end in time: nobody is
    /// stopped.</returns>
    public bool TryBegin(int slot)
    {
        if (Interlocked.CompareExchange(ref _claimed, 1, 0) != 0) return false;
        _over.Reset();
        // full fence: before the slots are read; pairs with the one in EpochTable.Enter
        Interlocked.Exchange(ref _requested, 1);
        long start = Stopwatch.GetTimestamp();
        // Ends: in time.
        var wait = new SpinWait();
        while (true)
        {
            // A long command has its keys locked between the turns of those who work on it, who are being stopped.
            longHolds.Finish();
            if (epochs.IsOnlyOnline(slot)) return true;
            if (Stopwatch.GetElapsedTime(start) > Patience) break;
            wait.SpinOnce(sleep1Threshold: -1);
        }

        End();
        return false;
    }

    public void End()
    {
        Volatile.Write(ref _requested, 0);      // release: what was done comes before
        _over.Set();
        Volatile.Write(ref _claimed, 0);
    }

    /// <summary>Waits, offline, until the others go on.</summary>
    public void WaitForEnd()
    {
        if (IsRequested) _over.Wait();
    }

    public void Dispose() => _over.Dispose();
}
