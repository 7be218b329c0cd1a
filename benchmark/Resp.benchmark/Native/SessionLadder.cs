using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Tair;

namespace RespBenchmark.Native;

/// <summary>How many sessions help (--conns auto): by Tair's rule, each step a run of its own, so that it has the
/// client threads that so many sessions get.</summary>
internal static class SessionLadder
{
    /// <summary>Climbs, and says each step on stderr.</summary>
    /// <exception cref="Network.ConnectException">No connection.</exception>
    public static int Climb(CellPlan plan, Surroundings surroundings)
    {
        var ladder = new ConnectionLadder();
        // Ends: each step doubles the sessions, up to a bound, or is the last.
        while (!ladder.IsReady && !surroundings.Interrupt.Requested)
        {
            int sessions = ladder.Connections;
            using var run = LoadRun.Connect(
                plan with { Sessions = sessions, Arrivals = null, Duration = TimeSpan.Zero, Commands = 0 });
            using IDisposable attached = surroundings.Interrupt.OnRequest(run.Stop);
            run.Begin();
            double rate = 0;
            // Ends: a step lasts at most 3 s by the ladder's rule.
            while (!run.Wait(ConnectionLadder.Period))
            {
                TimeSpan elapsed = run.Elapsed;
                rate = elapsed > TimeSpan.Zero ? run.Counters.Ops / elapsed.TotalSeconds : 0;
                if (ladder.Observe(elapsed, rate)) break;
            }

            bool ended = run.Wait(TimeSpan.Zero);
            run.Stop();
            run.Wait(Timeout.InfiniteTimeSpan);
            surroundings.Note(string.Create(CultureInfo.InvariantCulture, $"# {sessions} sessions: {rate:N0} ops/s"));
            if (ended) break;       // the server has closed them: the cell will say so
        }

        return ladder.Connections;
    }
}
