using System.Globalization;
using System.Text;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>MEMORY DOCTOR: where memory is, what is wrong with that, and what can be done.</summary>
/// <remarks>Names no key: whoever may ask may not be allowed to know it. Bounded by the number of its rules.</remarks>
internal static class MemoryDoctor
{
    private const long Mb = 1L << 20;

    /// <summary>Differences of less than this are not worth a sentence.</summary>
    private const long NotableBytes = 64 * Mb;

    /// <summary>The whole report.</summary>
    public static string Write(ServerReading r)
    {
        var text = new StringBuilder(2048);
        text.Append(Invariant($"{Size(r.UsedBytes)} are in use"));
        text.Append(Limit(r) > 0 ? Invariant($", of {Size(Limit(r))} that may be (maxmemory)") : ", without a limit");
        text.Append(Invariant($"; {Size(r.ResidentBytes)} are resident.\n\n"));
        text.Append(Invariant($"In use: {MemoryWatch.Describe(r.Use)}.\n"));
        text.Append(Invariant($"Resident beside that: retired {Size(r.Use.RetiredBytes)}, warm {Size(r.WarmBytes)}, "));
        text.Append(Invariant($"collector {Size(r.CollectorBytes)}, program {Size(r.ProgramBytes)}.\n\n"));
        var findings = Findings(r).ToList();
        if (findings.Count == 0) text.Append("Nothing is wrong with that.\n");
        for (int i = 0; i < findings.Count; i++) text.Append(Invariant($"{i + 1}. {findings[i]}\n"));
        return text.ToString();
    }

    private static IEnumerable<string> Findings(ServerReading r) =>
        OfLimit(r).Concat(OfUse(r)).Concat(OfResident(r)).Concat(OfSystem(r));

    private static IEnumerable<string> OfLimit(ServerReading r)
    {
        long limit = Limit(r);
        switch (r.Server.MemoryWatch.State)
        {
            case MemoryState.Full:
                yield return "Writes are refused: maxmemory is reached, and "
                    + (r.Store.Evicts ? "the policy finds nothing that it may evict. " : "the policy evicts nothing. ")
                    + "Raise maxmemory, delete keys, or set maxmemory-policy to allkeys-lru or allkeys-lfu if every "
                    + "key may go.";
                break;
            case MemoryState.Evicting:
                yield return Invariant($"Keys are evicted, {r.Stats.EvictedKeys} since the start. {HitsWithMore(r)}");
                break;
            default:
                if (limit > 0 && r.UsedBytes > limit / 10 * 9)
                {
                    yield return "Less than a tenth of maxmemory is left. What happens then is maxmemory-policy: "
                        + (r.Store.Evicts ? "keys are evicted." : "writes are refused.");
                }

                break;
        }

        if (limit == 0 && r.ResidentBytes > ProcessFigures.SystemBytes / 4 * 3)
        {
            yield return "There is no limit, and three quarters of the machine's memory are taken. Set maxmemory "
                + "before the system ends the process.";
        }
    }

    private static string HitsWithMore(ServerReading r)
    {
        double now = r.HitPercent(0), twice = r.HitPercent(r.SinceReset(s => s.ShadowHits));
        return double.IsNaN(now) ? "Nothing was read of late."
            : Invariant($"{now:F1} % of reads find their key; with twice the memory about {twice:F1} % would.");
    }

    private static IEnumerable<string> OfUse(ServerReading r)
    {
        var use = r.Use;
        if (use.ClientBytes > Math.Max(NotableBytes, r.UsedBytes / 5))
        {
            yield return Invariant($"Clients hold {Size(use.ClientBytes)}, a fifth of all or more: replies that they ")
                + "do not read, long commands, queued transactions. CLIENT LIST shows who (tot-mem); maxmemory-clients "
                + "bounds it.";
        }

        var segments = SegmentTotals.Of(r.Store);
        if (segments.DeadBytes > Math.Max(NotableBytes, segments.WrittenBytes / 2))
        {
            yield return Invariant($"{Size(segments.DeadBytes)} of the log are dead, more than is alive. They are ")
                + "given back in the next seconds, unless a client's long command or a script holds that up "
                + Invariant($"(kv_stalls is {r.Stats.Stalls}).");
        }

        long keys = MemoryStats.Keys(r);
        if (use.IndexBytes > NotableBytes && use.IndexBytes > 64 * Math.Max(1, keys))
        {
            yield return Invariant($"The index takes {Size(use.IndexBytes)} for {keys} keys: it was made for more, ")
                + "and does not become smaller. FLUSHDB or a restart begins with a small one.";
        }

        var largest = r.BigKeys.MaxBy(key => key.Size.Bytes);
        if (largest != null && largest.Size.Bytes > Math.Max(NotableBytes, r.DatasetBytes / 4))
        {
            yield return Invariant($"A single {DataTypeName.TextOf(largest.Size.Type)} takes ")
                + Invariant($"{Size(largest.Size.Bytes)}, a quarter of all data or more. KV.BIGKEYS says which.");
        }
    }

    private static IEnumerable<string> OfResident(ServerReading r)
    {
        long warm = r.WarmBytes;
        if (r.PeakBytes - r.UsedBytes > Math.Max(NotableBytes, r.PeakBytes / 3))
        {
            yield return Invariant($"At its peak {Size(r.PeakBytes)} were in use. What was given back since went to ")
                + "the system but for what is warm; high resident memory of that time says nothing of now.";
        }

        if (warm > Math.Max(NotableBytes, r.UsedBytes / 4))
        {
            yield return Invariant($"{Size(warm)} are free and kept warm for what comes next. MEMORY PURGE gives it ")
                + "to the system.";
        }

        if (r.CollectorBytes > Math.Max(NotableBytes, r.UsedBytes / 4))
        {
            yield return Invariant($"{Size(r.CollectorBytes)} of the managed heap are free or dead: many clients, ")
                + "subscriptions or scripts have come and gone. MEMORY PURGE has it collected and compacted.";
        }

        if (r.ProgramBytes > 256 * Mb)
        {
            yield return Invariant($"{Size(r.ProgramBytes)} are in no account: in a server of its own code, stacks ")
                + "and libraries take 50 to 80 MB; embedded, the rest is the program's around it.";
        }

        if (r.Store.Budget.IsBeyond)
        {
            yield return "The process takes more than 1.15 of maxmemory and 64 MB. What is free is given back all the "
                + "time; if that stays so, lower maxmemory, or raise the container's limit.";
        }
    }

    private static IEnumerable<string> OfSystem(ServerReading r)
    {
        if (r.Memory.Mappings > r.Memory.MappingsMax / 10 * 9)
        {
            yield return "Nearly all mappings that the system allows are made; what needs one more will be refused. "
                + Invariant($"Raise vm.max_map_count, which is {r.Memory.SystemMappingsMax}.");
        }

        if (r.Memory.Failures > 0)
        {
            yield return Invariant($"The system has refused {r.Memory.Failures} times to take memory back, which then ")
                + "stays resident. Mostly vm.max_map_count is too low.";
        }
    }

    private static long Limit(ServerReading r) => r.Store.MaxMemoryBytes;

    private static string Size(long bytes) => MetricValue.Size(bytes).ToString();

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
