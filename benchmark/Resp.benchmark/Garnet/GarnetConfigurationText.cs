namespace RespBenchmark.Garnet;

/// <summary>The block that a run of Garnet's tool begins with, line for line.</summary>
internal static class GarnetConfigurationText
{
    public const string BatchSizeReplaced =
        "Batch size parameter should be one entry of size 1, for the online benchmark, "
        + "setting to [ 1 ]. Use --itp to control batch size instead.";

    private const int DashCount = 34, ThreadPoolMinimum = 1000;

    public static string Of(GarnetOptions options)
    {
        var lines = new List<string>
        {
            "<<<<<<< Benchmark Configuration >>>>>>>>",
            $"benchmarkType: {(options.Online ? "Online" : "Throughput")}",
            $"skipLoad: {Switch(options.SkipLoad)}",
            $"DBsize: {options.DbSize}",
            $"TotalOps: {options.TotalOps}",
            $"Op Benchmark: {options.Op}",
            $"KeyLength: {options.KeyLength}",
            $"ValueLength: {options.ValueLength}",
            $"BatchSize: {string.Join(',', options.BatchSizes)}",
            $"RunTime: {options.RunTime}",
            $"NumThreads: {string.Join(',', options.Threads)}",
            $"Auth: {options.Auth}",
            $"Load Using SET: {Switch(options.LoadUsingSet)}",
            $"ClientType used for benchmarking: {options.Client}",
        };
        if (options.Online) AddOnline(options, lines);
        else if (options.Op == "SETEX" && options.Ttl > 0) lines.Add($"Ttl: {options.Ttl}");
        lines.Add($"TLS: {Switch(options.Tls)}");
        lines.Add($"ClientHistogram: {options.ClientHistogram}");
        lines.Add($"minWorkerThreads: {ThreadPoolMinimum}");
        lines.Add($"minCompletionPortThreads: {ThreadPoolMinimum}");
        lines.Add(new string('-', DashCount));
        return string.Concat(lines.Select(line => line + "\n"));
    }

    private static void AddOnline(GarnetOptions options, List<string> lines)
    {
        lines.Add($"Pool: {options.Pool}");
        lines.Add($"OpWorkload {string.Join(',', options.OpWorkload)}");
        lines.Add($"OpPercent {string.Join(',', options.OpPercent)}");
        if (options.Ttl > 0) lines.Add($"Ttl: {options.Ttl}");
        if (options.SortedSets > 0) lines.Add($"Sorted set cardinality: {options.SortedSets}");
        lines.Add($"Intra thread parallelism: {options.InsideThread}");
        lines.Add($"SyncMode: {options.Sync}");
    }

    private static string Switch(bool on) => on ? "Enabled" : "Disabled";
}
