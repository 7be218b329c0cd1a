using System.Net;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Garnet;

/// <summary>Reads the command line of Garnet's tool. <c>-h</c> is the host; lists have commas.</summary>
internal static class GarnetParser
{
    private const int SessionsMax = 65_536;

    // Options of a server inside the tool, of transactions and of clusters: we load servers from outside, one at a
    // time.
    private static readonly Dictionary<string, string> Refused = new(StringComparer.Ordinal)
    {
        ["-x"] = "transactions are not built yet", ["--txn"] = "transactions are not built yet",
        ["--cluster-bench"] = "clusters are not built yet", ["--replica-ops-percent"] = "clusters are not built yet",
        ["--broadcast"] = "clusters are not built yet", ["--workload-seed"] = "clusters are not built yet",
        ["--offline-buffers"] = "clusters are not built yet",
        ["--aof"] = Embedded, ["--cluster"] = Embedded, ["-i"] = Embedded, ["--index"] = Embedded,
        ["--aof-null-device"] = Embedded,
        ["--aof-commit-freq"] = Embedded, ["--aof-physical-sublog-count"] = Embedded,
        ["--aof-replay-task-count"] = Embedded,
        ["--aof-memory-size"] = Embedded, ["--aof-page-size"] = Embedded, ["--aof-bench"] = Embedded,
        ["--aof-bench-type"] = Embedded, ["--aof-gen-pages"] = Embedded,
    };

    private const string Embedded =
        "it is an option of a server inside the tool; start one beside it and give --host and --port";

    /// <exception cref="UsageException">Names the option and says why.</exception>
    public static GarnetOptions Parse(IReadOnlyList<string> arguments)
    {
        var options = new GarnetOptions();
        var reader = new ArgumentReader(arguments);
        while (reader.Next())
        {
            reader.SplitShort();
            if (Refused.TryGetValue(reader.Word, out string? reason))
                throw new UsageException($"{reader.Word} is refused: {reason}");
            if (!options.Extras.TryRead(reader) && !TryReadCell(options, reader) && !TryReadClient(options, reader))
                throw new UsageException($"{reader.Word} is no option of Garnet's tool (--help lists them)");
        }

        if (!options.Help && !options.Version) GarnetRules.Check(options);
        return options;
    }

    /// <summary>What is sent, how much of it, in which shape.</summary>
    private static bool TryReadCell(GarnetOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "--op": options.Op = reader.Value().ToUpperInvariant(); return true;
            case "--dbsize": options.DbSize = reader.Int64(1, int.MaxValue); return true;
            case "--totalops": options.TotalOps = reader.Int64(1, long.MaxValue - 1); return true;
            case "--keylength": options.KeyLength = reader.Int32(0, 65_536); return true;
            case "--valuelength": options.ValueLength = reader.Int32(0, 512 << 20); return true;
            case "-b" or "--batchsize" or "--pipeline": options.BatchSizes = reader.Int32s(1, 1 << 24); return true;
            case "--runtime": options.RunTime = reader.Int32(-1, 1 << 24); return true;
            case "-t" or "--threads": options.Threads = reader.Int32s(1, SessionsMax); return true;
            case "-s" or "--skipload": options.SkipLoad = true; return true;
            case "--lset": options.LoadUsingSet = true; return true;
            case "--load-threads": options.LoadThreads = reader.Int32(1, SessionsMax); return true;
            case "-o" or "--online": options.Online = true; return true;
            case "--op-workload": options.OpWorkload = [.. reader.Words().Select(word => word.ToUpperInvariant())];
            return true;
            case "--op-percent": options.OpPercent = reader.Int32s(0, 100); return true;
            case "--itp": options.InsideThread = reader.Int32(1, 1 << 20); return true;
            case "--burst": options.Burst = true; return true;
            case "--zipf": options.Zipf = true; return true;
            case "--ttl": options.Ttl = reader.Int32(0, int.MaxValue - 1); return true;
            case "--sscardinality": options.SortedSets = reader.Int32(0, int.MaxValue - 1); return true;
            default: return false;
        }
    }

    /// <summary>Which server, and what a client is like.</summary>
    private static bool TryReadClient(GarnetOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "-h" or "--host": options.Host = reader.Value(); return true;
            case "-p" or "--port": options.Port = reader.Int32(1, 65_535); return true;
            case "--clientaddr": options.ClientAddress = ReadAddress(reader); return true;
            case "--client": options.Client = ReadClient(reader); return true;
            case "-a" or "--auth": options.Auth = reader.Value(); return true;
            case "--tls": options.Tls = true; return true;
            case "--tlshost": options.TlsHost = reader.Value(); return true;
            case "--cert-file-name": options.CertificateFile = reader.Value(); return true;
            case "--cert-password": options.CertificatePassword = reader.Value(); return true;
            case "--insecure": options.Insecure = true; return true;
            case "--file-logger": options.LogFile = reader.Value(); return true;
            case "--disable-console-logger": options.ConsoleLogger = false; return true;
            case "--logger-level": options.Level = (LogLevel)reader.Choice(Enum.GetNames<LogLevel>()); return true;
            case "--save-freq": options.SaveFrequency = reader.Int32(0, 1 << 24); return true;
            case "--sync": options.Sync = Ignore(options, reader); return true;
            case "--client-hist": options.ClientHistogram = Ignore(options, reader); return true;
            case "--object-dbsize": Ignore(options, reader); reader.Value(); return true;
            case "--pool": options.Pool = true; return true;
            case "--help": options.Help = true; return true;
            case "--version": options.Version = true; return true;
            default: return false;
        }
    }

    private static bool Ignore(GarnetOptions options, ArgumentReader reader)
    {
        options.Ignored.Add(reader.Word);
        return true;
    }

    private static IPAddress ReadAddress(ArgumentReader reader)
    {
        string text = reader.Value();
        return IPAddress.TryParse(text, out var address)
            ? address
            : throw new UsageException($"--clientaddr takes an address of this machine, got '{text}'");
    }

    private static GarnetClient ReadClient(ArgumentReader reader)
    {
        string[] names = [.. Enum.GetNames<GarnetClient>(), "InProc"];
        int choice = reader.Choice(names);
        return choice < names.Length - 1
            ? (GarnetClient)choice
            : throw new UsageException($"--client InProc is refused: {Embedded}");
    }
}
