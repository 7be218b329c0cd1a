using System.Diagnostics;
using System.Globalization;
using Kv.Storage;

namespace Kv.Microbenchmarks;

/// <summary>What a key of 8 bytes with a value of 8 costs, from one doubling to the next; then what comes
/// back.</summary>
internal static unsafe class Memory
{
    public static void Run(long keys)
    {
        using var filled = new FilledStore(0);
        Store store = filled.Store;
        store.Maintain();
        long before = ResidentBytes();
        long done = 0;
        foreach (double share in new[] { 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0 })
        {
            for (long to = (long)(keys * share); done < to; done++)
            {
                if ((done & 63) == 0) filled.Begin();
                filled.Set(done);
            }

            Settle(filled);
            long resident = ResidentBytes() - before;
            var stats = store.Stats;
            Console.WriteLine(
                $"{done,12:N0} keys: {(double)resident / done:F1} bytes a key resident, "
                + $"{(double)store.UsedBytes / done:F1} accounted "
                + $"(index {(double)stats.IndexBytes / done:F1}, log {(double)stats.LogBytes / done:F1}), "
                    + $"{stats.IndexGrowths} doublings");
        }

        filled.Begin();
        var time = Stopwatch.StartNew();
        for (long number = 0; number < keys; number++)
        {
            if ((number & 63) == 0) filled.Begin();
            if (number % 10 != 0) filled.Session.Delete(filled.Session.Key(new ReadOnlySpan<byte>(&number, 8)));
        }

        Console.WriteLine($"90 % deleted in {time.Elapsed.TotalSeconds:F1} s");
        time.Restart();
        Settle(filled);
        long live = store.Count(0) * 24;
        Console.WriteLine(
            $"reclaimed in {time.Elapsed.TotalSeconds:F1} s: log {store.Stats.LogBytes >> 20} MB for {live >> 20} "
            + $"MB alive "
            + $"({(double)store.Stats.LogBytes / live:F2} times), resident {(ResidentBytes() - before) >> 20} MB");
        store.FlushAll();
        Settle(filled);
        Console.WriteLine(
            $"after FLUSHALL: accounted {store.UsedBytes}, resident {(ResidentBytes() - before) >> 20} MB more than "
            + $"at first");
    }

    private static void Settle(FilledStore filled)
    {
        filled.Session.GoOffline();
        // Ends: upkeep only shrinks the log; three rounds without a change are the end of it.
        for (int quiet = 0; quiet < 3;)
        {
            var before = filled.Store.Stats;
            filled.Store.Maintain();
            quiet = filled.Store.Stats == before ? quiet + 1 : 0;
        }

        filled.Begin();
    }

    private static long ResidentBytes() =>
        long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1], CultureInfo.InvariantCulture)
        * Environment.SystemPageSize;
}
