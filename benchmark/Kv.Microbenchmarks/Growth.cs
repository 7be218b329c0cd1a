using System.Diagnostics;
using System.Numerics;

namespace Kv.Microbenchmarks;

/// <summary>Inserts into an index that grows from its smallest, and into one of the final size: how many take over 1
/// ms.</summary>
/// <remarks>What both have in common (page faults, the machine's other work) is not the doubling's.</remarks>
internal static class Growth
{
    public static void Run(long keys)
    {
        Measure("growing  ", keys, 0);
        Measure("pre-sized", keys, (long)BitOperations.RoundUpToPowerOf2((ulong)keys / 5 + 1) * 64);
    }

    private static void Measure(string name, long keys, long indexBytes)
    {
        using var filled = new FilledStore(1000, indexBytes);
        long slow = 0, worst = 0, begin = Stopwatch.GetTimestamp(), last = begin;
        long millisecond = Stopwatch.Frequency / 1000;
        for (long number = 1000; number < keys; number++)
        {
            if ((number & 63) == 0) filled.Begin();
            filled.Set(number);
            long now = Stopwatch.GetTimestamp();
            if (now - last > millisecond) slow++;
            worst = Math.Max(worst, now - last);
            last = now;
        }

        double seconds = Stopwatch.GetElapsedTime(begin).TotalSeconds;
        var stats = filled.Store.Stats;
        Console.WriteLine(
            $"{name}: {keys:N0} keys in {seconds:F1} s ({seconds / keys * 1e9:F0} ns each), {stats.IndexGrowths} "
            + $"doublings, "
            + $"{slow} inserts over 1 ms, the longest {worst * 1000.0 / Stopwatch.Frequency:F1} ms");
    }
}
