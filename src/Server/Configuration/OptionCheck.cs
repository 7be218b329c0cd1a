using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>kv-server --check file [options]: says what each line would do, and all that would keep the server from
/// starting.</summary>
public sealed class OptionCheck
{
    private readonly StringBuilder _report = new(), _errors = new();
    private int _problems, _warnings;

    private OptionCheck()
    {
    }

    /// <summary>What each line sets, then the warnings, then one line with the counts.</summary>
    public string Report => _report.ToString();

    /// <summary>Each mistake with what to do about it; empty when there is none.</summary>
    public string Errors => _errors.ToString();

    public bool IsGood => _problems == 0;

    /// <summary>Reads all there is to read at a start, and starts nothing.</summary>
    /// <param name="args">The program's arguments, with or without --check.</param>
    /// <param name="environment">Environment variables.</param>
    /// <param name="standardInput">Opens standard input.</param>
    /// <param name="whyNotStart">What only a server can see in options: users, names of commands. Null when it
    /// would start.</param>
    public static OptionCheck Run(IEnumerable<string> args, IReadOnlyDictionary<string, string> environment,
        Func<Stream> standardInput, Func<ServerOptions, string?> whyNotStart)
    {
        var check = new OptionCheck();
        var parsed = OptionParser.Parse([.. args.Where(arg => arg != "--check")], environment, standardInput,
            findAll: true);
        foreach (var line in parsed.Lines) check.Describe(line);
        check.FindOverridden(parsed.Lines);
        foreach (string warning in parsed.Warnings) check.Warn(warning);
        foreach (var problem in parsed.Problems) check.Add(problem);
        if (parsed.Options is { } options)
        {
            check.FindPaths(options);
            if (options.Validate() is { } wrong) check.Add(new(wrong, "change it"));
            else if (whyNotStart(options) is { } why) check.Add(new(why, "mend the line that it names"));
        }

        check._report.Append(CultureInfo.InvariantCulture, $"{Count(parsed.Lines.Count, "option")} set, ")
            .Append(CultureInfo.InvariantCulture, $"{Count(check._warnings, "warning")}, ")
            .Append(CultureInfo.InvariantCulture, $"{Count(check._problems, "error")}\n");
        return check;
    }

    private void Describe(ConfigLine line)
    {
        if (CommandLine.Find(line.Name) is not { } option) return;
        string value = option.IsSecret ? "***" : ConfigLine.Printable(Shown(line));
        string effect = option.Class switch
        {
            OptionClass.Honoured => option.Summary,
            OptionClass.Kept => "no effect here",
            _ => "nothing but the default is taken",
        };
        _report.Append(CultureInfo.InvariantCulture, $"{line.Place}: {option.Name} {value}  # {effect}\n");
    }

    /// <summary>The words of the value; an empty one would not be seen without quotes.</summary>
    private static string Shown(ConfigLine line) =>
        string.Join(' ', line.Words.Skip(1).Select(static word => word.Length == 0 ? "\"\"" : word));

    /// <summary>Warns of lines of files that a later line of a file makes void.</summary>
    private void FindOverridden(IReadOnlyList<ConfigLine> lines)
    {
        var last = new Dictionary<Option, ConfigLine>();
        foreach (var line in lines)
        {
            if (CommandLine.Find(line.Name) is not { } option || !IsOneLine(option)) continue;
            bool isOfFile = line.Origin is not (ConfigLine.CommandLine or ConfigLine.Environment);
            if (isOfFile && last.TryGetValue(option, out var earlier))
                Warn($"{earlier.Origin}: '{option.Name}' has no effect: {line.Origin} sets it again");
            last[option] = line;
        }
    }

    /// <summary>Whether a second line for an option replaces the first one whole.</summary>
    private static bool IsOneLine(Option option) =>
        !option.AddsUp && option is { IsLineOnly: false, IsStartOnly: false }
        && option.FileTexts(new ServerOptions()).Count == 1;

    private void FindPaths(ServerOptions options)
    {
        foreach (string name in (string[])["logfile", "pidfile", "unixsocket"])
        {
            var option = OptionTable.Find(name)!;
            string path = option.Read(options);
            if (path.Length == 0) continue;
            string? folder = Path.GetDirectoryName(Path.GetFullPath(path));
            if (folder is null || !Directory.Exists(folder))
                Add(new($"{options.Origins.Of(option, isDefault: false)}: '{name} {ConfigLine.Printable(path)}': "
                    + "the folder does not exist", $"make the folder {folder}, or name another file"));
        }
    }

    private void Warn(string text)
    {
        _warnings++;
        _report.Append(CultureInfo.InvariantCulture, $"warning: {text}\n");
    }

    private void Add(OptionProblem problem)
    {
        _problems++;
        _errors.Append(CultureInfo.InvariantCulture, $"error: {problem.Text}\n  remedy: {problem.Remedy}\n");
    }

    private static string Count(int count, string what) =>
        string.Create(CultureInfo.InvariantCulture, $"{count} {what}{(count == 1 ? "" : "s")}");
}
