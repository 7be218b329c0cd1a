using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Suites;

/// <summary>How much smaller than published a suite runs.</summary>
/// <param name="Divisor">Of the keys.</param>
/// <param name="Seconds">Of a cell; null: as published.</param>
/// <param name="SessionsMax">More are left out.</param>
internal sealed record SuiteProfile(string Name, long Divisor, int? Seconds, int SessionsMax, string Warmup,
    string Cooldown)
{
    private const int SmallKeys = 1024, LargeValue = 64 * 1024, LargeValueKeys = 16;

    private static readonly SuiteProfile[] All =
    [
        new("full", 1, null, int.MaxValue, "2s", "1s"),
        new("laptop", 16, 5, 64, "2s", "0.5s"),
        new("smoke", 1024, 1, 8, "0.25s", "0.1s"),
    ];

    /// <summary>Nothing is smaller: the figures can be set beside the published ones.</summary>
    public bool IsAsPublished => Name == "full" && Divisor == 1;

    /// <exception cref="UsageException">There is none of this name.</exception>
    public static SuiteProfile Of(string name, long? scale)
    {
        SuiteProfile profile = All.FirstOrDefault(one => one.Name == name)
            ?? throw new UsageException($"--profile takes full, laptop or smoke, not '{name}'");
        if (scale is < 1) throw new UsageException($"--scale takes a number from 1, not {scale}");
        return profile with { Divisor = scale ?? profile.Divisor };
    }

    /// <summary>The keys of a panel. Few stay as they are: a small database is part of what such panels show.</summary>
    public long KeysOf(SuitePanel panel) =>
        Math.Max(Math.Min(panel.Keys, panel.ValueBytes >= LargeValue ? LargeValueKeys : SmallKeys),
            panel.Keys / Divisor);

    /// <summary>The session counts of a panel: those allowed, in smoke 1 and 8 in the place of a list.</summary>
    public IReadOnlyList<int> SessionsOf(SuitePanel panel)
    {
        if (Name == "smoke")
            return panel.Sessions.Count > 1 ? [1, SessionsMax] : [Math.Min(panel.Sessions[0], SessionsMax)];
        int[] allowed = [.. panel.Sessions.Where(count => count <= SessionsMax)];
        return allowed.Length > 0 ? allowed : [SessionsMax];
    }

    public int SecondsOf(SuitePanel panel) => Seconds ?? panel.Seconds;

    /// <summary>Commands of a cell; null: it runs for seconds.</summary>
    public long? CommandsOf(SuitePanel panel) => Seconds is null ? panel.Commands : null;

    /// <summary>Numbers of a template's words at this scale. Both factors of a product shrink alike: a smaller database
    /// of the same shape.</summary>
    public TemplateNumbers NumbersOf(SuitePanel panel)
    {
        double root = Math.Sqrt(Divisor);
        long outer = Math.Max(1, (long)(1000 / root)), members = Math.Max(1, (long)(10_000 / root)),
            inner = Math.Max(1, (long)(10_007 / root));
        // Ends at the latest at the next multiple of outer plus 1.
        while (Common(outer, inner) > 1) inner++;
        return new TemplateNumbers(KeysOf(panel), outer, inner, members);
    }

    private static long Common(long a, long b) => b == 0 ? a : Common(b, a % b);
}

/// <summary>The numbers of a panel's templates.</summary>
/// <param name="Outer">Keys that hold many.</param>
/// <param name="Inner">Members of each; no divisor in common with <paramref name="Outer"/>.</param>
/// <param name="Members">About as many, round.</param>
internal sealed record TemplateNumbers(long Keys, long Outer, long Inner, long Members)
{
    public string In(string template) => template.Replace("$keys", Text(Keys), StringComparison.Ordinal)
        .Replace("$outer", Text(Outer), StringComparison.Ordinal)
        .Replace("$inner", Text(Inner), StringComparison.Ordinal)
            .Replace("$members", Text(Members), StringComparison.Ordinal);

    public long Of(LoadSize size) => size switch
    {
        LoadSize.Pairs => Outer * Inner,
        LoadSize.Lists => Outer * Members,
        _ => Keys,
    };

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
