using System.Globalization;
using System.Text;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>MEMORY MALLOC-STATS: what the store's allocators and the managed heap have, in tables for people.</summary>
internal static class AllocatorText
{
    private static readonly string[] Generations = ["0", "1", "2", "large", "pinned"];

    /// <summary>The whole text: some 3 KB.</summary>
    public static string Write(ServerReading r)
    {
        var text = new StringBuilder(4096);
        AppendSegments(text, r);
        AppendSizes(text, r.Store.BigKeys);
        AppendFree(text, r);
        AppendHeap(text);
        return text.ToString();
    }

    private static void AppendSegments(StringBuilder text, ServerReading r)
    {
        var segments = SegmentTotals.Of(r.Store);
        text.Append(Invariant($"Segments of the log, 2 MB each: {segments.Active} active, {segments.Sealed} sealed\n"));
        text.Append(Invariant($"  written {Size(segments.WrittenBytes)}, of it dead {Size(segments.DeadBytes)}\n"));
        string[] parts = ["under 25 %", "25 to 50 %", "50 to 75 %", "75 % or more"];
        for (int i = 0; i < parts.Length; i++)
            text.Append(Invariant($"  {parts[i],-12} dead {segments.ByDeadQuarter[i],8} segments\n"));
        text.Append(Invariant($"  retired {Size(r.Use.RetiredBytes)}, free and warm {Size(r.Use.WarmBytes)}\n\n"));
    }

    private static void AppendSizes(StringBuilder text, BigKeys keys)
    {
        text.Append("Keys with their values, by size, as of the last walk\n");
        if (keys.Sizes is not { } sizes)
        {
            text.Append("  the first one is not over yet\n\n");
            return;
        }

        text.Append(Invariant($"  {"up to",10} {"in the log",22} {"blocks",22} {"regions",22}\n"));
        foreach (var (upTo, places) in sizes.Rows)
        {
            text.Append(Invariant($"  {Size(upTo),10}"));
            foreach (var (count, bytes) in places) text.Append(Invariant($" {count,11}{Size(bytes),11}"));
            text.Append('\n');
        }

        text.Append('\n');
    }

    private static void AppendFree(StringBuilder text, ServerReading r)
    {
        text.Append(Invariant($"Extents (blocks, and regions over 16 KB): free and warm {Size(r.Memory.WarmBytes)}\n"));
        text.Append(Invariant($"Mappings: {r.Memory.Mappings} of {r.Memory.MappingsMax}; "));
        text.Append(Invariant($"memory that the system refused to take back: {r.Memory.Failures} times\n"));
        text.Append(Invariant($"Things that wait to be freed: {r.Stats.PendingFrees}\n\n"));
    }

    private static void AppendHeap(StringBuilder text)
    {
        var last = GC.GetGCMemoryInfo(GCKind.Any);
        text.Append(Invariant($"Managed heap: {Size(GC.GetTotalMemory(forceFullCollection: false))}; as of the last "));
        text.Append(Invariant($"collection {Size(last.HeapSizeBytes)}, of it free {Size(last.FragmentedBytes)}, "));
        text.Append(Invariant($"from the system {Size(last.TotalCommittedBytes)}\n"));
        var generations = last.GenerationInfo;
        for (int i = 0; i < Math.Min(generations.Length, Generations.Length); i++)
        {
            text.Append(Invariant($"  generation {Generations[i],-6} {Size(generations[i].SizeAfterBytes),11}, "));
            text.Append(Invariant($"of it free {Size(generations[i].FragmentationAfterBytes),11}\n"));
        }

        text.Append(Invariant($"  collections {GC.CollectionCount(0)}, of all of it "));
        text.Append(Invariant($"{GC.CollectionCount(GC.MaxGeneration)}, "));
        text.Append(Invariant($"stood still for {GC.GetTotalPauseDuration().TotalMilliseconds:F0} ms\n"));
    }

    private static string Size(long bytes) => MetricValue.Size(bytes).ToString();

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
