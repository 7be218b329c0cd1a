using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.RedisBenchmark;

/// <summary>Reads the command line of redis-benchmark: options from the left, each value a word of its own; the first
/// word without a dash begins a command, which takes all the rest.</summary>
internal static class RedisBenchmarkParser
{
    private const int ThreadsMax = 500, ClientsMax = 1_000_000, DataBytesMax = 1 << 30;

    /// <exception cref="UsageException">With exit code 1, as the original ends.</exception>
    public static RedisBenchmarkOptions Parse(IReadOnlyList<string> arguments)
    {
        var options = new RedisBenchmarkOptions();
        var reader = new ArgumentReader(arguments);
        try
        {
            ReadAll(options, reader);
        }
        catch (UsageException bad)
        {
            string text = bad.ExitCode == ExitCode.RunError ? bad.Message : $"{Invalid(reader.Word)} ({bad.Message})";
            throw new UsageException(text, ExitCode.RunError);
        }

        return options;
    }

    private static void ReadAll(RedisBenchmarkOptions options, ArgumentReader reader)
    {
        while (reader.Next())
        {
            if (!reader.Word.StartsWith('-'))
            {
                options.Command = reader.TakeRest();
                if (options.Tests is not null) options.Warnings.Add("WARNING: Option -t is ignored.");
                return;
            }

            bool known = options.Extras.TryRead(reader)
                || (!reader.HasAttached && (TryReadLoad(options, reader) || TryReadTarget(options, reader)
                    || TryReadForm(options, reader)));
            if (!known) throw new UsageException(Invalid(reader.Word), ExitCode.RunError);
        }
    }

    private static string Invalid(string option) => $"Invalid option \"{option}\" or option argument missing";

    private static bool TryReadLoad(RedisBenchmarkOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "-c": options.Clients = reader.Int32(1, ClientsMax); return true;
            case "-n": options.Requests = reader.Int64(1, long.MaxValue - 1); return true;
            case "-P": options.Pipeline = reader.Int32(1, 1 << 24); return true;
            case "-k": options.KeepAlive = reader.Int32(); return true;
            case "-d": options.DataBytes = Math.Clamp(reader.Int32(), 1, DataBytesMax); return true;
            case "-r": options.KeySpace = reader.Int64(0, 1_000_000_000_000); return true;
            case "-t": options.Tests = [.. reader.Value().Split(',').Select(name => name.Trim().ToLowerInvariant())];
            return true;
            case "--threads": ReadThreads(options, reader); return true;
            case "-l": options.Loop = true; return true;
            case "-I": options.Idle = true; return true;
            case "-x": options.LastFromInput = true; return true;
            case "-e":
                options.Warnings.Add("WARNING: -e does nothing: the first error reply always ends the run.");
                return true;
            case "--seed": options.Seed = (ulong)reader.Int64(); return true;
            case "--duration": options.Duration = reader.Duration(); return true;
            case "--warmup": options.Warmup = reader.Duration(); return true;
            case "--rps": options.Rate = reader.Int64(0, 1_000_000_000); return true;
            case "--sequential": options.Sequential = true; return true;
            default: return false;
        }
    }

    private static bool TryReadTarget(RedisBenchmarkOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "-h": options.Host = reader.Value(); return true;
            case "-p": options.Port = reader.Int32(0, 65_535); return true;
            case "-s": options.UnixPath = reader.Value(); return true;
            case "-a": options.Password = reader.Value(); return true;
            case "--user": options.User = reader.Value(); return true;
            case "-u": ReadUri(options, reader.Value()); return true;
            case "--dbnum": options.Database = reader.Int32(0); return true;
            case "-3": options.Resp3 = true; return true;
            case "--enable-tracking": options.Tracking = true; return true;
            case "--tls": options.Tls = true; return true;
            case "--sni": options.TlsOptions = options.TlsOptions with { ServerName = reader.Value() }; return true;
            case "--cacert": options.TlsOptions = options.TlsOptions with { CaFile = reader.Value() }; return true;
            case "--cacertdir": options.TlsOptions = options.TlsOptions with { CaFolder = reader.Value() }; return true;
            case "--insecure": options.TlsOptions = options.TlsOptions with { Insecure = true }; return true;
            case "--cert": options.TlsOptions = options.TlsOptions with { CertificateFile = reader.Value() };
            return true;
            case "--key": options.TlsOptions = options.TlsOptions with { KeyFile = reader.Value() }; return true;
            case "--tls-ciphers": options.TlsOptions = options.TlsOptions with { Ciphers = reader.Value() };
            return true;
            case "--tls-ciphersuites": options.TlsOptions = options.TlsOptions with { CipherSuites = reader.Value() };
            return true;
            default: return false;
        }
    }

    private static bool TryReadForm(RedisBenchmarkOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "-q": options.Quiet = true; return true;
            case "--csv": options.Csv = true; return true;
            case "--precision": options.Precision = Math.Clamp(reader.Int32(), 1, 4); return true;
            case "--help": options.Help = true; return true;
            case "-v" or "--version": options.Version = true; return true;
            case "--cluster" or "--rdma":
                throw new UsageException($"{reader.Word} is refused: it is not built yet", ExitCode.RunError);
            case { } word when word.StartsWith("--fuzz", StringComparison.Ordinal):
                throw new UsageException($"{word} is refused: fuzzing is not what this tool is for", ExitCode.RunError);
            default: return false;
        }
    }

    private static void ReadThreads(RedisBenchmarkOptions options, ArgumentReader reader)
    {
        options.Threads = reader.Int32(0);
        if (options.Threads <= ThreadsMax) return;
        options.Warnings.Add($"WARNING: Too many threads, limiting threads to {ThreadsMax}.");
        options.Threads = ThreadsMax;
    }

    private static void ReadUri(RedisBenchmarkOptions options, string text)
    {
        TargetUri uri = TargetUri.Parse(text)
            ?? throw new UsageException($"-u takes {TargetUri.Form}, got '{text}'", ExitCode.RunError);
        options.Tls |= uri.IsSecure;
        options.Host = uri.Host;
        options.Port = uri.Port ?? options.Port;
        options.User = uri.User ?? options.User;
        options.Password = uri.Password ?? options.Password;
        options.Database = uri.Database ?? options.Database;
    }
}
