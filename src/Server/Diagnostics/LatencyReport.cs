using System.Globalization;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>LATENCY DOCTOR: the events in figures, and what can be done about them.</summary>
/// <remarks>A line of figures has the form of the reference's, which readers look for; all else is our own.</remarks>
internal static class LatencyReport
{
    private const string Disabled = "Nothing is known: latency is not monitored. \"CONFIG SET "
        + "latency-monitor-threshold <milliseconds>\" has what takes that long noted from then on.\n";

    private const string Nothing = "Nothing took as long as latency-monitor-threshold, since the start or the last "
        + "LATENCY RESET.\n";

    private const string DiskAdvice = "The disk took long for the append-only file. See who else writes to it "
        + "(snapshots, other programs), or give appenddirname a disk of its own; aof-buffer-limit says how much may "
        + "wait for it before clients do.";

    private const string Title = "What took long, by kind of event:\n\n";

    /// <summary>The whole report.</summary>
    /// <param name="all">The events that there are samples of.</param>
    public static string Write(LatencySeries[] all, ServerOptions options, long nowUnixSeconds)
    {
        if (all.Length == 0) return options.LatencyMonitorThreshold == 0 ? Disabled : Nothing;
        var text = new StringBuilder(Title);
        for (int i = 0; i < all.Length; i++) AppendFigures(text, i + 1, all[i], nowUnixSeconds);
        text.Append("\nWhat can be done about it:\n\n");
        foreach (string advice in all.SelectMany(series => AdviceOn(series.Event, options)).Distinct())
            text.Append("- ").Append(advice).Append('\n');
        return text.ToString();
    }

    private static void AppendFigures(StringBuilder text, int number, LatencySeries series, long nowUnixSeconds)
    {
        var samples = series.Samples;
        int count = samples.Length;
        long average = samples.Sum(sample => sample.Milliseconds) / count;
        long deviation = samples.Sum(sample => Math.Abs(sample.Milliseconds - average)) / count;
        double period = (double)Math.Max(1, nowUnixSeconds - samples[0].UnixSeconds) / count;
        text.Append(CultureInfo.InvariantCulture,
            $"{number}. {series.Name}: {count} latency spikes (average {average}ms, mean deviation {deviation}ms, ");
        text.Append(CultureInfo.InvariantCulture,
            $"period {period:F2} sec). Worst all time event {series.WorstMilliseconds}ms.\n");
    }

    private static IEnumerable<string> AdviceOn(LatencyEvent cause, ServerOptions options)
    {
        switch (cause)
        {
            case LatencyEvent.Command or LatencyEvent.FastCommand:
                long wanted = options.LatencyMonitorThreshold * 1000;
                if (options.SlowlogLogSlowerThan < 0)
                {
                    yield return "The slow log is off, so nobody knows which commands these were. Turn it on: "
                        + Invariant($"CONFIG SET slowlog-log-slower-than {wanted}");
                }
                else if (options.SlowlogLogSlowerThan > wanted)
                {
                    yield return "The slow log leaves out some of these commands. Lower its threshold: "
                        + Invariant($"CONFIG SET slowlog-log-slower-than {wanted}");
                }

                yield return "SLOWLOG GET shows which commands are slow. Scripts that write stop all other clients: "
                    + "let one call do less.";
                break;
            case LatencyEvent.ExpireCycle:
                yield return "Many keys expire at the same time. Spread their times to live, such as by some random "
                    + "seconds.";
                break;
            case LatencyEvent.EvictionCycle:
                yield return "Keys are evicted while clients write. Raise maxmemory, or let keys expire earlier; INFO "
                    + "stats has evicted_keys.";
                break;
            case LatencyEvent.GcPause:
                yield return "The managed heap was collected. Much of it belongs to clients, subscriptions and "
                    + "scripts: INFO memory has kv_ fields for each; maxmemory-clients bounds what clients hold.";
                break;
            case LatencyEvent.WorkerTurn:
                yield return "A worker had much to do in one turn. If no command was slow at that time, the system "
                    + "gave it no processor: look at other programs, limits of the container, and swapping.";
                break;
            case LatencyEvent.AofWrite or LatencyEvent.AofFsync or LatencyEvent.AofPending:
                yield return DiskAdvice;
                break;
            case LatencyEvent.AofFsyncAlways:
                yield return DiskAdvice;
                yield return "With \"appendfsync always\" each reply to a write waits for the disk; with \"everysec\" "
                    + "none does, and a power cut loses a second.";
                break;
        }
    }

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
