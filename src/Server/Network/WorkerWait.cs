using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>How a worker waits for work: it polls for a while, if <see cref="PollingRule"/> allows that, and then
/// sleeps.</summary>
/// <remarks>
/// Waking a sleeping processor takes about 20 us each way, so a single client's request costs less, in time and in
/// processor, if the worker still polls when it arrives. A worker whose polling was in vain
/// <see cref="PollingRule.FailuresMax"/> times in a row sleeps at once, until a sleep turns out to have been so short
/// that polling would have caught its end: an idle server uses nothing. Nor does a worker poll while others want its
/// core: it would use up the share of the processor that it needs when work comes, and the others may be its clients.
/// </remarks>
internal sealed class WorkerWait(KvServer server, Poller poller, WorkerInbox inbox, StoreSession store)
{
    private static readonly long _ticksPerUs = Stopwatch.Frequency / 1_000_000;

    private PollingRule _rule;

    private static long NowUs => Stopwatch.GetTimestamp() / _ticksPerUs;

    /// <summary>Waits for events, or for a post to the inbox.</summary>
    /// <param name="milliseconds">How long at most: 0 to look only, or <see cref="Poller.NoTimeout"/>.</param>
    /// <returns>How many events there are.</returns>
    public int Wait(int milliseconds)
    {
        Debug.Assert(milliseconds >= Poller.NoTimeout, "a wait has a length, or no limit");
        int ready = poller.Wait(0);
        if (ready > 0 || milliseconds == 0 || !inbox.IsEmpty) return ready;

        long budgetUs = server.Options.WorkerSpinUs;
        long start = NowUs;
        if (budgetUs > 0 && _rule.Allows(start) && TryPoll(start, budgetUs, out ready)) return ready;

        store.GoOffline();
        if (inbox.TryBeginSleep())
        {
            ready = poller.Wait(milliseconds);
            inbox.EndSleep();
        }

        if (ready > 0) _rule.Slept(NowUs - start, budgetUs);
        return ready;
    }

    private bool TryPoll(long start, long budgetUs, out int ready)
    {
        long before = start;
        do
        {
            // Ends: when the budget is spent.
            ready = poller.Wait(0);
            long now = NowUs;
            _rule.Polled(before, now);
            before = now;
            if (ready > 0 || !inbox.IsEmpty)
            {
                _rule.EndPolling(hasPaid: true);
                return true;
            }
        }
        while (before - start < budgetUs);

        _rule.EndPolling(hasPaid: false);
        return false;
    }
}
