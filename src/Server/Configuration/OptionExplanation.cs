namespace Kv.Server.Configuration;

/// <summary>What CONFIG EXPLAIN says of an option.</summary>
internal readonly record struct OptionExplanation(string Name, IReadOnlyList<(string Field, string Text)> Fields)
{
    /// <summary>Options by names, aliases or globs, each once.</summary>
    /// <param name="unknown">A name that no option has, with the nearest one; null when there is none.</param>
    public static List<OptionExplanation> Find(ServerOptions options, IReadOnlyList<string> patterns,
        out string? unknown)
    {
        unknown = null;
        var defaults = new ServerOptions();
        var found = new List<Option>();
        foreach (string pattern in patterns)
        {
            int before = found.Count;
            foreach (var (name, _) in OptionTable.Match(options, [pattern]))
                if (!found.Contains(OptionTable.Find(name)!)) found.Add(OptionTable.Find(name)!);
            bool isGlob = pattern.AsSpan().IndexOfAny("*?[") >= 0;
            if (!isGlob && before == found.Count && OptionTable.Find(pattern) is not { IsOfConfig: true })
                unknown ??= $"unknown option '{ConfigLine.Printable(pattern)}'{Suggestion.For(pattern)}";
        }

        return [.. found.Select(option => Of(option, options, defaults))];
    }

    private static OptionExplanation Of(Option option, ServerOptions options, ServerOptions defaults)
    {
        string value = option.Read(options), usual = option.Read(defaults);
        return new OptionExplanation(option.Name,
        [
            ("value", option.IsSecret && value.Length > 0 ? "***" : value),
            ("default", usual),
            ("set-by", options.Origins.Of(option, isDefault: value == usual)),
            ("config-set", WhenChanged(option)),
            ("meaning", Meaning(option)),
        ]);
    }

    private static string WhenChanged(Option option) => option.Change switch
    {
        OptionChange.Live or OptionChange.ByHandler => "at any time",
        OptionChange.Protected => "where enable-protected-configs allows it",
        _ => "at start only",
    };

    private static string Meaning(Option option) => option.Class switch
    {
        OptionClass.Honoured => option.Summary,
        OptionClass.Kept => option.Reason.Length > 0 ? $"known, without effect here: {option.Reason}"
            : "known, without effect here",
        _ => $"only the default is taken: {option.Reason}",
    };
}
