using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Stops all sessions but one at the top of their turns, for work that no list of keys can describe.</summary>
/// <remarks>
/// A session that is in a turn is waited for, one that begins a turn waits until the pause is over; offline ones are
/// none the wiser. So nobody is stopped in the middle of anything, or holds a lock: the one who goes on works as ever.
/// Threads: any. One who wants a pause while another has it gets none, ends its turn, and is stopped with the others.
/// A pause that lasts too long can be called so (<see cref="MarkLong"/>): those who have something to say to their
/// clients then go on with their turns, online, and leave the store's keys alone until it is over.
/// Who has waited for the end of a pause has a turn before the next one begins, so pauses one after another starve
/// nobody.
/// </remarks>
internal sealed class StorePause(EpochTable epochs, SteppedHolds longHolds) : IDisposable
{
    /// <summary>A turn is done by then, unless its thread is not running; the others are held up for no
    /// longer.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(5);

    private readonly ManualResetEventSlim _over = new(true), _overOrLong = new(true);
    private int _claimed, _requested, _long, _waiting;

    // Volatile: who reads 0 in this very moment goes online, which is a full fence, and looks again.
    public bool IsRequested => Volatile.Read(ref _requested) != 0;

    /// <summary>Whether the pause that there is has been called too long.</summary>
    // Volatile: who sees it end sees all that was done in it.
    public bool IsLong => Volatile.Read(ref _long) != 0;

    /// <returns>False when another has it, or some session did not come to its turn's end in time, or long work that
    /// holds keys not to its own: nobody is stopped. Ask again soon: such work goes on meanwhile, and hardly any more
    /// of it begins.</returns>
    public bool TryBegin(int slot)
    {
        long start = Stopwatch.GetTimestamp();
        var wait = new SpinWait();
        // Ends: in time. Another has it; or has let the others go on already, and this one is faster than it can say
        // so.
        while (Interlocked.CompareExchange(ref _claimed, 1, 0) != 0)
        {
            if (IsRequested || Stopwatch.GetElapsedTime(start) > Patience) return false;
            wait.SpinOnce(sleep1Threshold: -1);
        }

        // Ends: in time. Those who have waited only have to go online, which needs nothing of this thread; no more
        // come.
        while (Volatile.Read(ref _waiting) != 0)
        {
            if (Stopwatch.GetElapsedTime(start) > Patience)
            {
                Volatile.Write(ref _claimed, 0);
                return false;
            }

            wait.SpinOnce(sleep1Threshold: -1);
        }

        _over.Reset();
        _overOrLong.Reset();
        // full fence: before the slots are read; pairs with the one in EpochTable.Enter
        Interlocked.Exchange(ref _requested, 1);
        // Ends: in time.
        start = Stopwatch.GetTimestamp();
        while (true)
        {
            // A long command has its keys locked between the turns of those who work on it, who are being stopped.
            if (!longHolds.TryFinishUntil(start + (long)(Patience.TotalSeconds * Stopwatch.Frequency))) break;
            if (epochs.IsOnlyOnline(slot)) return true;
            if (Stopwatch.GetElapsedTime(start) > Patience) break;
            wait.SpinOnce(sleep1Threshold: -1);
        }

        End();
        return false;
    }

    /// <summary>Says that the pause lasts long. By the one who has it.</summary>
    public void MarkLong()
    {
        Debug.Assert(IsRequested, "somebody has stopped the others");
        Volatile.Write(ref _long, 1);
        _overOrLong.Set();
    }

    public void End()
    {
        Debug.Assert(IsRequested, "somebody has stopped the others");
        Volatile.Write(ref _long, 0);           // release: what was done comes before
        Volatile.Write(ref _requested, 0);      // release: likewise
        _over.Set();
        _overOrLong.Set();
        Volatile.Write(ref _claimed, 0);
    }

    /// <summary>A session is about to <see cref="WaitForEnd"/>, perhaps several times.</summary>
    // Interlocked: sessions do so at once. Who asks for a pause may miss one that comes too late to have waited.
    public void BeginWaiting() => Interlocked.Increment(ref _waiting);

    /// <summary>It is online.</summary>
    public void EndWaiting()
    {
        int left = Interlocked.Decrement(ref _waiting);
        Debug.Assert(left >= 0, "it has waited");
    }

    /// <summary>Waits, offline, until the others go on.</summary>
    /// <param name="orLong">Or until it is said that this takes long.</param>
    public void WaitForEnd(bool orLong)
    {
        if (!IsRequested) return;
        if (orLong) _overOrLong.Wait();
        else _over.Wait();
    }

    public void Dispose()
    {
        _over.Dispose();
        _overOrLong.Dispose();
    }
}
