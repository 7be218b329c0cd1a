using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>What options of Garnet's tool go together, and what one says about another.</summary>
internal static class GarnetRules
{
    /// <exception cref="UsageException">Two options contradict each other.</exception>
    public static void Check(GarnetOptions options)
    {
        if (!options.Tls && options.CertificateFile is not null)
            throw new UsageException("--cert-file-name is for --tls, which is not given");
        if (options.Pool && options.Client != GarnetClient.SERedis) options.Ignored.Add("--pool");
        if (options.Online) CheckOnline(options);
        else CheckThroughput(options);
    }

    /// <summary>Whether keys are loaded before the run.</summary>
    public static bool Loads(GarnetOptions options) =>
        !options.Online && !options.SkipLoad && GarnetOps.Find(options.Op) is { Load: not LoadKind.None };

    private static void CheckOnline(GarnetOptions options)
    {
        if (options.Op != "GET")
            throw new UsageException($"--op {options.Op} is for throughput mode; with --online give --op-workload");
        if (options.OpWorkload.Length != options.OpPercent.Length)
        {
            throw new UsageException($"--op-workload has {options.OpWorkload.Length} operations, --op-percent "
                + $"{options.OpPercent.Length} shares: they must be as many");
        }

        int sum = options.OpPercent.Sum();
        if (sum != 100) throw new UsageException($"--op-percent must sum to 100, got {sum}");
        if (options.SortedSets > options.DbSize)
            throw new UsageException(
                $"--sscardinality {options.SortedSets} is more than the {options.DbSize} keys of --dbsize");
        if (options.Ttl == 0 && options.OpWorkload.Contains("SETEX"))
            throw new UsageException("SETEX needs --ttl of at least 1");
        if (options.Burst && options.Client == GarnetClient.SERedis)
            throw new UsageException("--burst is not for --client SERedis, which answers each call");
        if (options.BatchSizes is not [1])
        {
            // Also the default: the original says so as well when the option is not given.
            options.BatchSizeReplaced = true;
            options.BatchSizes = [1];
        }
    }

    private static void CheckThroughput(GarnetOptions options)
    {
        if (options.Client == GarnetClient.SERedis) throw new UsageException("--client SERedis is for --online");
        if (options.RunTime < 0) throw new UsageException("--runtime -1 is for --online");
        if (options.Op == "SETEX" && options.Ttl == 0) throw new UsageException("SETEX needs --ttl of at least 1");
        if (options.Op is "PFCOUNT" or "PFMERGE" && options.SkipLoad)
            throw new UsageException($"{options.Op} reads what the load wrote: it cannot go with --skipload");
        if (options.Burst) throw new UsageException("--burst is for --online");
    }
}
