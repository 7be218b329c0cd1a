using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;

namespace RespBenchmark.Native;

/// <summary>One place of a grid. Sessions 0: found by ramping up.</summary>
/// <param name="MaxMemory">What the server's maxmemory is set to; null: it is left as it is.</param>
internal sealed record GridCell(int Sessions, int Depth, double? Rate, long? MaxMemory = null);

/// <summary>The grid that the lists of options span, and what all its cells have in common.</summary>
internal static class CellGrid
{
    private const int SessionsMax = 100_000, DepthMax = 1_000_000;

    /// <exception cref="UsageException">A list cannot be read.</exception>
    public static IReadOnlyList<GridCell> Read(RunVerb verb, IReadOnlyList<double>? rates)
    {
        int[] sessions = verb.Sessions == "auto" ? [0] : ReadList("--conns", verb.Sessions, SessionsMax);
        int[] depths = ReadList("--depth", verb.Depths, DepthMax);
        if (verb.MaxMemory is not null && !verb.Flush)
            throw new UsageException("--maxmemory empties the server before each cell, and needs --flush");
        long?[] limits = verb.MaxMemory is { } list ? [.. list.Split(',').Select(ReadBytes)] : [null];
        return
        [
            .. from limit in limits
               from session in sessions
               from depth in depths
               from rate in rates is null ? [null] : rates.Select(rate => (double?)rate)
               select new GridCell(session, depth, rate, limit),
        ];
    }

    /// <summary>The plan of all cells, but for what the grid says.</summary>
    public static CellPlan Common(RunVerb verb, Network.Target target, Workload.Workload workload) => new()
    {
        Target = target,
        Workload = workload,
        Mode = verb.Mode switch
        {
            null or "window" => DepthMode.Window,
            "batch" => DepthMode.Batch,
            _ => throw new UsageException($"--mode takes batch or window, not '{verb.Mode}'"),
        },
        Loops = verb.Loops == "auto" ? 0 : ReadList("--loops", verb.Loops, 1024)[0],
        Model = Enum.TryParse(verb.Model, ignoreCase: true, out SessionModel model)
        && !char.IsAsciiDigit(verb.Model[0]) ? model
            : throw new UsageException($"--session-model takes auto, epoll, thread or portable, not '{verb.Model}'"),
        Cores = verb.Cores is { } cores ? CoreList.Parse("--cores", cores) : [],
        Warmup = DurationText.Parse("--warmup", verb.Warmup),
        Duration = verb.Ops is null ? DurationText.Parse("--duration", verb.Duration) : TimeSpan.Zero,
        Commands = verb.Ops ?? 0,
        Drain = DurationText.Parse("--drain", verb.Drain),
        AbortOnError = verb.OnError switch
        {
            "count" => false,
            "abort" => true,
            _ => throw new UsageException($"--on-error takes count or abort, not '{verb.OnError}'"),
        },
        VerifyShare = ReadVerify(verb.Verify),
        Seed = verb.Seed,
    };

    /// <summary>How operations arrive at a rate.</summary>
    public static ArrivalPlan Arrivals(RunVerb verb, double rate)
    {
        string[] words = verb.Arrival.Split(':');
        int burst = 1;
        ArrivalShape shape = words[0] switch
        {
            "poisson" when words.Length == 1 => ArrivalShape.Poisson,
            "uniform" when words.Length == 1 => ArrivalShape.Uniform,
            "burst" when words.Length == 2
            && int.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out burst)
            && burst > 0 => ArrivalShape.Burst,
            _ => throw new UsageException($"--arrival takes poisson, uniform or burst:N, not '{verb.Arrival}'"),
        };
        return new ArrivalPlan { Rate = rate, Shape = shape, Burst = burst, InflightMax = verb.InflightMax };
    }

    /// <summary>Reads 50000, 50k, 1.5M; a percentage is of <paramref name="most"/>.</summary>
    public static double ReadRate(string text, Func<double> most)
    {
        double factor = text[^1] switch { 'k' => 1e3, 'M' => 1e6, '%' => 0, _ => 1 };
        string digits = factor == 1 ? text : text[..^1];
        if (!double.TryParse(digits, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double number)
            || number <= 0)
            throw new UsageException($"--rate takes operations a second like 50k, 1M or 80%, not '{text}'");
        return factor == 0 ? number / 100 * most() : number * factor;
    }

    /// <summary>Reads 1000000, 64mb, 2gb.</summary>
    private static long? ReadBytes(string text)
    {
        (string unit, long factor) = text switch
        {
            _ when text.EndsWith("kb", StringComparison.OrdinalIgnoreCase) => (text[^2..], 1L << 10),
            _ when text.EndsWith("mb", StringComparison.OrdinalIgnoreCase) => (text[^2..], 1L << 20),
            _ when text.EndsWith("gb", StringComparison.OrdinalIgnoreCase) => (text[^2..], 1L << 30),
            _ => ("", 1L),
        };
        return long.TryParse(text[..^unit.Length], NumberStyles.None, CultureInfo.InvariantCulture, out long number)
            && number <= (1L << 50) / factor ? number * factor
            : throw new UsageException($"--maxmemory takes bytes like 64mb,1gb, not '{text}'");
    }

    private static double ReadVerify(string text)
    {
        if (text == "frame") return 0;
        if (text == "value") return 1;
        if (text.StartsWith("sample:", StringComparison.Ordinal)
            && double.TryParse(text[7..], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture,
                out double percent) && percent is > 0 and <= 100)
            return percent / 100;
        throw new UsageException($"--verify takes frame, sample:PERCENT or value, not '{text}'");
    }

    private static int[] ReadList(string option, string text, int max) =>
    [
        .. text.Split(',').Select(word => int.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture,
            out int number) && number >= 1 && number <= max
            ? number
            : throw new UsageException($"{option} takes numbers from 1 to {max} between commas, not '{text}'")),
    ];
}
