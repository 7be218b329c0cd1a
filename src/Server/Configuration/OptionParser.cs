using System.Diagnostics;

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
    /// <param name="findAll">Goes on after the first mistake, to find the others.</param>
    /// <returns>Options, or an error, or a text to print: never more than one of them.</returns>
    public static ParsedOptions Parse(
        IReadOnlyList<string> args,
        IReadOnlyDictionary<string, string>? environment = null,
        Func<Stream>? standardInput = null,
        bool findAll = false)
    {
        if (args.Count > 0 && args[0] is "-v" or "--version") return new ParsedOptions { Output = OptionHelp.Version };
        if (args.Count > 0 && args[0] is "-h" or "--help") return new ParsedOptions { Output = OptionHelp.Text() };

        var command = CommandLine.Parse(args);
        var problems = command.Problems;
        var lines = new List<ConfigLine>();
        var warnings = new List<string>();
        if (MayGoOn() && command.File is not null) ConfigFile.Read(command.File, lines, problems);
        if (MayGoOn() && command.ReadsStandardInput)
        {
            using var input = standardInput?.Invoke() ?? Stream.Null;
            ConfigFile.Read(input, "standard input", lines, problems);
        }

        if (MayGoOn() && environment is not null) EnvironmentOptions.Read(environment, lines, warnings, problems);
        var options = new ServerOptions();
        if (command.File is not null) options.ConfigFile = Path.GetFullPath(command.File);
        lines.AddRange(command.Lines);
        if (MayGoOn()) Assign(lines, options, warnings, problems);
        return problems.Count == 0
            ? new ParsedOptions { Options = options, Warnings = warnings, Lines = lines }
            : new ParsedOptions { Error = problems[0].Text, Problems = problems, Warnings = warnings, Lines = lines };

        bool MayGoOn() => findAll || problems.Count == 0;
    }

    /// <summary>The options that lines of a file make, by themselves; null when there is an error in them.</summary>
    internal static ServerOptions? TryAssign(List<ConfigLine> lines)
    {
        var options = new ServerOptions();
        var problems = new List<OptionProblem>();
        Assign(lines, options, [], problems);
        return problems.Count == 0 ? options : null;
    }

    private static void Assign(List<ConfigLine> lines, ServerOptions options, List<string> warnings,
        List<OptionProblem> problems)
    {
        var last = new Dictionary<Option, ConfigLine>();
        foreach (var line in lines)
        {
            // Of a file that is none of options each line would be compared with all names there are.
            if (problems.Count >= ConfigFile.ProblemsMax) break;
            if (CommandLine.Find(line.Name) is { } option) Assign(line, option, options, last, problems);
            else problems.Add(WhyUnknown(line));
        }

        var defaults = new ServerOptions();
        foreach (var (option, line) in last)
        {
            string usual = option.Read(defaults);
            if (option.Refuses(option.Read(options), usual))
                problems.Add(line.Problem(option.Reason,
                    $"leave the line out, or write {option.Name} {(usual.Length > 0 ? usual : "\"\"")}", option));
        }

        warnings.AddRange(OptionTable.WithoutEffect(options, last.Keys));
    }

    private static void Assign(ConfigLine line, Option option, ServerOptions options,
        Dictionary<Option, ConfigLine> last, List<OptionProblem> problems)
    {
        Debug.Assert(line.Words.Count > 0, "a line has a name");
        string remedy = $"{option.Name} takes {option.Expects}";
        if (line.Words.Count == 1 || (line.Words.Count > 2 && !option.ManyWords))
        {
            problems.Add(line.Problem($"wrong number of arguments ({option.Expects})", remedy, option));
            return;
        }

        string text = string.Join(' ', line.Words.Skip(1));
        bool adds = option.AddsUp && text.Length > 0 && last.ContainsKey(option);
        if (adds) text = $"{option.Read(options)} {text}".Trim();
        if (!option.TryParse(options, text, out object value, out string error))
        {
            problems.Add(line.Problem(error, remedy, option));
            return;
        }

        option.Write(options, value);
        options.Origins.Note(option, line.Place, adds);
        last[option] = line;
    }

    private static OptionProblem WhyUnknown(ConfigLine line) =>
        RefusedOptions.Directives.TryGetValue(line.Name, out string? reason)
            ? line.Problem(reason, "leave the line out")
            : line.Problem($"unknown option '{ConfigLine.Printable(line.Name)}'{Suggestion.For(line.Name)}",
                CommandLine.NamesAreKnown, Suggestion.OptionNear(line.Name));       // which may be a secret
}
