using RespBenchmark.CommandLine;

namespace RespBenchmark.Tair;

/// <summary>Reads the command line of Tair's resp-benchmark: options, and one positional word anywhere, the
/// command.</summary>
internal static class TairParser
{
    private const int ConnectionsMax = 65_536;

    public static TairOptions Parse(IReadOnlyList<string> arguments)
    {
        var options = new TairOptions();
        var reader = new ArgumentReader(arguments);
        bool hasCommand = false;
        while (reader.Next())
        {
            if (!reader.IsOption)
            {
                if (hasCommand)
                    throw new UsageException(
                        $"one command, please: '{reader.Word}' comes after '{options.Command}' (quote it)");
                (options.Command, hasCommand) = (reader.TakeWhole(), true);
                continue;
            }

            reader.SplitShort();
            if (!options.Extras.TryRead(reader) && !TryRead(options, reader) && !TryReadTls(options, reader))
                throw new UsageException($"{reader.Word} is no option of resp-benchmark (--help lists them)");
        }

        if (options.Load && options.Requests == 0 && !options.Help && !options.Version)
            throw new UsageException("--load needs -n, the number of requests to send");
        return options;
    }

    private static bool TryRead(TairOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "-h": options.Host = reader.Value(); return true;
            case "-p": options.Port = reader.Int32(1, 65_535); return true;
            case "-u": options.User = reader.Value(); return true;
            case "-a": options.Password = reader.Value(); return true;
            case "-c": options.Connections = reader.Int32(0, ConnectionsMax); return true;
            case "-n": options.Requests = reader.Int64(0, long.MaxValue - 1); return true;
            case "-s": options.Seconds = reader.Int32(0, 1 << 24); return true;
            case "-P": options.Pipeline = reader.Int32(1, 1 << 24); return true;
            case "--load": options.Load = true; return true;
            case "--cores": options.Cores = CoreList.Parse(reader.Word, reader.Value()); return true;
            case "-v" or "--version": options.Version = true; return true;
            case "--help": options.Help = true; return true;
            case "--cluster": throw new UsageException("--cluster is refused: it is not built yet");
            default: return false;
        }
    }

    // The original has no TLS; these are the native names.
    private static bool TryReadTls(TairOptions options, ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "--tls": options.Tls = true; return true;
            case "--cacert": options.TlsOptions = options.TlsOptions with { CaFile = reader.Value() }; return true;
            case "--cert": options.TlsOptions = options.TlsOptions with { CertificateFile = reader.Value() };
            return true;
            case "--key": options.TlsOptions = options.TlsOptions with { KeyFile = reader.Value() }; return true;
            case "--sni": options.TlsOptions = options.TlsOptions with { ServerName = reader.Value() }; return true;
            case "--insecure": options.TlsOptions = options.TlsOptions with { Insecure = true }; return true;
            default: return false;
        }
    }
}
