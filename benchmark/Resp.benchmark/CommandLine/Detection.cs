namespace RespBenchmark.CommandLine;

/// <summary>Which grammar a command line is written in.</summary>
/// <param name="Arguments">The words left for it: without a leading <c>--</c> and without <c>--as</c>.</param>
/// <param name="Guessed">Decided by the look of the options, not by name; the user is told.</param>
/// <param name="Problem">What makes the line unreadable; null else.</param>
internal readonly record struct Detected(Grammar Grammar, string[] Arguments, bool Guessed, string? Problem = null);

/// <summary>Tells the four grammars apart. First match wins: the name in <c>--as</c>, the name of the program, a verb,
/// a Garnet option, a mark of Tair's tool, and else redis-benchmark.</summary>
internal static class Detection
{
    /// <summary>The native verbs.</summary>
    public static readonly string[] Verbs =
        ["run", "sweep", "rate", "suite", "compare", "load", "verify", "replay", "null-server", "doctor", "report"];

    // Garnet's long options but for --threads, --tls and --cluster, which others have too.
    private static readonly HashSet<string> GarnetOptions = new(StringComparer.Ordinal)
    {
        "--port", "--host", "--clientaddr", "--op", "--dbsize", "--totalops", "--keylength", "--valuelength",
            "--batchsize",
        "--pipeline", "--runtime", "--skipload", "--lset", "--load-threads", "--client", "--online", "--op-workload",
        "--op-percent", "--itp", "--burst", "--zipf", "--ttl", "--sscardinality", "--auth", "--tlshost",
        "--cert-file-name",
        "--cert-password", "--file-logger", "--disable-console-logger", "--logger-level", "--save-freq",
        "--sync", "--pool",
        "--client-hist", "--object-dbsize", "--txn", "--cluster-bench", "--replica-ops-percent", "--broadcast",
        "--workload-seed", "--offline-buffers", "--aof", "--index", "--aof-null-device", "--aof-commit-freq",
        "--aof-physical-sublog-count", "--aof-replay-task-count", "--aof-memory-size", "--aof-page-size", "--aof-bench",
        "--aof-bench-type", "--aof-gen-pages", "-b", "-o",
    };

    // The options of redis-benchmark, of Tair's tool and of our own that take the next word; all other dashed words
    // take none.
    private static readonly HashSet<string> ValueOptions = new(StringComparer.Ordinal)
    {
        "-c", "-n", "-k", "-h", "-p", "-s", "-a", "--user", "-u", "-d", "-P", "-r", "-t", "--dbnum", "--precision",
            "--threads",
        "--seed", "--sni", "--cacert", "--cacertdir", "--cert", "--key", "--tls-ciphers",
        "--tls-ciphersuites", "--cores",
        "--duration", "--warmup", "--rps",
        "--json", "--csv-file", "--md", "--html", "--hdr", "--progress", "--loops", "--session-model", "--server-pid",
        "--garnet-format", "--rb-format", "--online-sweep", "--drain",
    };

    /// <summary>Decides. Never throws, whatever the words are.</summary>
    /// <param name="program">The name the program was called by, without folders.</param>
    public static Detected Read(string program, IReadOnlyList<string> words)
    {
        var arguments = new List<string>(words);
        if (arguments.Count > 0 && arguments[0] == "--") arguments.RemoveAt(0);
        if (TakeAs(arguments, out var named, out string? problem)) return new(named, [.. arguments], false, problem);
        return program switch
        {
            "redis-benchmark" or "valkey-benchmark" => new(Grammar.RedisBenchmark, [.. arguments], false),
            "resp-benchmark" => new(Grammar.RespBenchmark, [.. arguments], false),
            _ => ByLook([.. arguments]),
        };
    }

    /// <summary>The name that <c>--as</c> takes.</summary>
    public static string NameOf(Grammar grammar) => grammar switch
    {
        Grammar.Garnet => "garnet",
        Grammar.RedisBenchmark => "redis-benchmark",
        Grammar.RespBenchmark => "resp-benchmark",
        _ => "native",
    };

    private static Detected ByLook(string[] arguments)
    {
        if (arguments.Length > 0 && Verbs.Contains(arguments[0])) return new(Grammar.Native, arguments, false);
        if (arguments is ["--help"] or ["--version"]) return new(Grammar.Native, arguments, false);

        int positional = FirstPositional(arguments);
        var options = arguments.AsSpan(0, positional);
        if (HasGarnetMark(options)) return new(Grammar.Garnet, arguments, true);
        if (HasTairMark(options)) return new(Grammar.RespBenchmark, arguments, true);
        if (positional < arguments.Length && arguments[positional].AsSpan().ContainsAny(' ', '{'))
            return new(Grammar.RespBenchmark, arguments, true);
        return new(Grammar.RedisBenchmark, arguments, true);
    }

    private static bool TakeAs(List<string> arguments, out Grammar grammar, out string? problem)
    {
        (grammar, problem) = (Grammar.Native, null);
        int index = arguments.FindIndex(word => word == "--as" || word.StartsWith("--as=", StringComparison.Ordinal));
        if (index < 0) return false;
        string? name = arguments[index].Length > 4 ? arguments[index][5..] : index + 1 < arguments.Count
            ? arguments[index + 1] : null;
        arguments.RemoveRange(index, arguments[index].Length > 4 || name is null ? 1 : 2);
        switch (name)
        {
            case "native": break;
            case "garnet": grammar = Grammar.Garnet; break;
            case "redis-benchmark": grammar = Grammar.RedisBenchmark; break;
            case "resp-benchmark": grammar = Grammar.RespBenchmark; break;
            default: problem = $"--as takes garnet, redis-benchmark, resp-benchmark or native, got '{name}'"; break;
        }

        return true;
    }

    // A value that looks like an option counts as one: "-s --op GET" is Garnet's, whose -s takes no value.
    private static bool HasGarnetMark(ReadOnlySpan<string> options)
    {
        for (int index = 0; index < options.Length; index++)
        {
            string name = NameOf(options[index]);
            if (GarnetOptions.Contains(name)) return true;
            if (name == "-t" && index + 1 < options.Length && IsNumberList(options[index + 1])) return true;
        }

        return false;
    }

    private static bool HasTairMark(ReadOnlySpan<string> options)
    {
        for (int index = 0; index < options.Length; index++)
        {
            string name = NameOf(options[index]);
            if (name is "--load" or "--cores") return true;
            if (name == "-s" && index + 1 < options.Length && IsDigits(options[index + 1])) return true;
        }

        return false;
    }

    /// <summary>The index of the first word that is neither an option nor the value of one; the count when there is
    /// none.</summary>
    private static int FirstPositional(string[] arguments)
    {
        int index = 0;
        while (index < arguments.Length && arguments[index].StartsWith('-'))
            index += ValueOptions.Contains(arguments[index]) ? 2 : 1;
        return Math.Min(index, arguments.Length);
    }

    private static string NameOf(string word)
    {
        int equals = word.StartsWith("--", StringComparison.Ordinal) ? word.IndexOf('=', StringComparison.Ordinal) : -1;
        return equals < 0 ? word : word[..equals];
    }

    private static bool IsDigits(string text) => text.Length > 0 && !text.AsSpan().ContainsAnyExceptInRange('0', '9');

    private static bool IsNumberList(string text) => text.Length > 0 && !text.AsSpan().ContainsAnyExcept("0123456789,");
}
