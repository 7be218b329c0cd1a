namespace Kv.Server.Configuration;

/// <summary>Makes the options of a server out of a file, the environment and the command line. Later ones
/// win.</summary>
/// <remarks>
/// Order: default, file with its includes, standard input, environment, command line. What a later line overrides is
/// checked for its form, but not refused: <c>appendonly yes</c> in a file does not matter to <c>--appendonly no</c>.
/// </remarks>
public static class OptionParser
{
    /// <summary>Reads all there is to read at start.</summary>
    /// <param name="args">The program's arguments, without its name.</param>
    /// <param name="environment">Environment variables; null for none.</param>
    /// <param name="standardInput">Opens standard input, when a dash asks for it; null for an empty one.</param>
    /// <returns>Options, or an error, or a text to print: never more than one of them.</returns>
    public static ParsedOptions Parse(
        IReadOnlyList<string> args,
        IReadOnlyDictionary<string, string>? environment = null,
        Func<Stream>? standardInput = null)
    {
        if (args.Count > 0 && args[0] is "-v" or "--version") return new ParsedOptions { Output = OptionHelp.Version };
        if (args.Count > 0 && args[0] is "-h" or "--help") return new ParsedOptions { Output = OptionHelp.Text() };

        var command = CommandLine.Parse(args);
        if (command.Error is not null) return new ParsedOptions { Error = command.Error };

        var lines = new List<ConfigLine>();
        var warnings = new List<string>();
        string? error = command.File is null ? null : ConfigFile.Read(command.File, lines);
        if (error is null && command.ReadsStandardInput)
        {
            using var input = standardInput?.Invoke() ?? Stream.Null;
            error = ConfigFile.Read(input, "standard input", lines);
        }

        error ??= environment is null ? null : EnvironmentOptions.Read(environment, lines, warnings);
        if (error is not null) return new ParsedOptions { Error = error };
        lines.AddRange(command.Lines);

        var options = new ServerOptions();
        if (command.File is not null) options.ConfigFile = Path.GetFullPath(command.File);
        error = Assign(lines, options, warnings);
        return error is null
            ? new ParsedOptions { Options = options, Warnings = warnings }
            : new ParsedOptions { Error = error };
    }

    /// <summary>The options that lines of a file make, by themselves; null when there is an error in them.</summary>
    internal static ServerOptions? TryAssign(List<ConfigLine> lines)
    {
        var options = new ServerOptions();
        return Assign(lines, options, []) is null ? options : null;
    }

    private static string? Assign(List<ConfigLine> lines, ServerOptions options, List<string> warnings)
    {
        var last = new Dictionary<Option, ConfigLine>();
        foreach (var line in lines)
        {
            if (CommandLine.Find(line.Name) is not { } option) return WhyUnknown(line);
            if (line.Words.Count == 1 || (line.Words.Count > 2 && !option.ManyWords))
                return line.Error($"wrong number of arguments ({option.Expects})", option);

            string text = string.Join(' ', line.Words.Skip(1));
            if (option.AddsUp && text.Length > 0 && last.ContainsKey(option))
                text = $"{option.Read(options)} {text}".Trim();
            if (!option.TryParse(options, text, out object value, out string error)) return line.Error(error, option);
            option.Write(options, value);
            last[option] = line;
        }

        var defaults = new ServerOptions();
        foreach (var (option, line) in last)
        {
            if (option.Refuses(option.Read(options), option.Read(defaults))) return line.Error(option.Reason, option);
        }

        warnings.AddRange(OptionTable.WithoutEffect(options, last.Keys));
        return null;
    }

    private static string WhyUnknown(ConfigLine line) =>
        RefusedOptions.Directives.TryGetValue(line.Name, out string? reason)
            ? line.Error(reason)
            : line.Error($"unknown option '{ConfigLine.Printable(line.Name)}'{Suggestion.For(line.Name)}");
}
