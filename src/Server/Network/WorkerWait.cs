using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>How a worker waits for work: it polls for a while, if that has paid off lately, and then sleeps.</summary>
/// <remarks>
/// Waking a sleeping processor takes about 20 us each way, so that a single client's request costs less, in time and in
/// processor, when the worker still polls as it arrives. A worker whose polling was in vain <see cref="FailuresMax"/> times
/// in a row sleeps at once, until a sleep turns out to have been so short that polling would have caught it: an idle server uses nothing.
/// </remarks>
internal sealed class WorkerWait(KvServer server, Poller poller, WorkerInbox inbox, StoreSession store)
{
    private const int FailuresMax = 16;

    /// <summary>A sleep of so much over the budget may still have been one that polling catches: going to sleep and waking take their time.</summary>
    private const int WakeUpUs = 50;

    private int _failures;

    /// <param name="milliseconds">How long at most; 0 looks only, -1 as long as it takes.</param>
    public int Wait(int milliseconds)
    {
        int ready = poller.Wait(0);
        if (ready > 0 || milliseconds == 0 || !inbox.IsEmpty) return ready;

        long budget = server.Options.WorkerSpinUs * (Stopwatch.Frequency / 1_000_000);
        long start = Stopwatch.GetTimestamp();
        if (budget > 0 && _failures < FailuresMax)
        {
            do
            {
                // Ends: when the budget is spent.
                ready = poller.Wait(0);
                if (ready > 0 || !inbox.IsEmpty)
                {
                    _failures = 0;
                    return ready;
                }
            }
            while (Stopwatch.GetTimestamp() - start < budget);
            _failures++;
        }

        store.GoOffline();
        if (inbox.TryBeginSleep())
        {
            ready = poller.Wait(milliseconds);
            inbox.EndSleep();
        }

        long slept = Stopwatch.GetTimestamp() - start;
        if (ready > 0 && slept < (2 * budget) + (WakeUpUs * (Stopwatch.Frequency / 1_000_000))) _failures = Math.Max(_failures - 4, 0);
        return ready;
    }
}
