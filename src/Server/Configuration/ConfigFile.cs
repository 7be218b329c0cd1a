using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Patterns;

namespace Kv.Server.Configuration;

/// <summary>Reads configuration files and what they include into lines, in the order in which they take
/// effect.</summary>
internal static class ConfigFile
{
    /// <summary>No file anyone writes is longer; a limit so that a wrong path, say a disk, ends in an error.</summary>
    private const int BytesMax = 16 << 20;

    /// <summary>Nothing is read any more after so many mistakes: a file that includes itself twice makes thousands, one
    /// that is none of options millions.</summary>
    internal const int ProblemsMax = 100;

    /// <summary>Includes within includes; more is a circle.</summary>
    private const int DepthMax = 16;

    /// <summary>Adds the lines of a file and of the files it includes; lines that are wrong are problems.</summary>
    public static void Read(string path, List<ConfigLine> lines, List<OptionProblem> problems) =>
        Read(path, lines, problems, includedBy: null, depth: 0);

    /// <summary>Adds the lines of a stream, named in errors as <paramref name="name"/>.</summary>
    public static void Read(Stream stream, string name, List<ConfigLine> lines, List<OptionProblem> problems) =>
        Read(stream, name, lines, problems, depth: 0);

    private static void Read(string path, List<ConfigLine> lines, List<OptionProblem> problems,
        ConfigLine? includedBy, int depth)
    {
        if (problems.Count >= ProblemsMax) return;
        try
        {
            using var stream = StartFile.Open(path);
            Read(stream, path, lines, problems, depth);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException
            or NotSupportedException)
        {
            string why = e is FileNotFoundException or DirectoryNotFoundException ? "No such file" : e.Message;
            why = $"cannot read the configuration file '{path}': {why}";
            problems.Add(new OptionProblem(includedBy?.Error(why) ?? why,
                "name a file that is there and that this user may read"));
        }
    }

    private static void Read(Stream stream, string name, List<ConfigLine> lines, List<OptionProblem> problems,
        int depth)
    {
        var bytes = new MemoryStream();
        var chunk = new byte[16 << 10];
        for (int read; (read = stream.Read(chunk)) > 0;)
        {
            if (bytes.Length + read > BytesMax)
            {
                problems.Add(new OptionProblem($"{name}: longer than {BytesMax >> 20} MB: not a configuration file",
                    "name a file with an option a line"));
                return;
            }

            bytes.Write(chunk, 0, read);
        }

        if (!OptionTable.TryDecode(bytes.GetBuffer().AsSpan(0, (int)bytes.Length), out string text))
        {
            problems.Add(new OptionProblem($"{name}: not UTF-8 text", "save the file as UTF-8"));
            return;
        }

        int number = 0;
        foreach (var part in text.AsSpan().TrimStart('\uFEFF').EnumerateLines())
        {
            string line = part.Trim().ToString();
            string origin = string.Create(CultureInfo.InvariantCulture, $"{name}:{++number}");
            if (line.Length == 0 || line[0] == '#') continue;
            if (problems.Count >= ProblemsMax) return;
            ReadLine(origin, line, lines, problems, depth);
        }
    }

    private static void ReadLine(string origin, string text, List<ConfigLine> lines, List<OptionProblem> problems,
        int depth)
    {
        Debug.Assert(depth <= DepthMax && text.Length > 0, "a line has something in it, and includes are bounded");
        var words = ConfigLine.Split(text);
        var line = new ConfigLine(origin, text, words ?? [text.Split(' ', '\t')[0]]);
        if (words is null)
            problems.Add(line.Problem("unbalanced quotes", "close the quote, and put a space behind it",
                OptionTable.Find(line.Name) ?? Suggestion.OptionNear(line.Name)));
        else if (!line.Name.Equals("include", StringComparison.OrdinalIgnoreCase))
            lines.Add(line);
        else if (words.Count != 2)
            problems.Add(line.Problem("wrong number of arguments", "include one path or pattern a line"));
        else if (depth == DepthMax)
            problems.Add(line.Problem($"more than {DepthMax} files deep: does it include itself?",
                "take the circle out of the includes"));
        else
            foreach (string path in Expand(words[1])) Read(path, lines, problems, line, depth + 1);
    }

    /// <summary>The files a pattern names, in the order of their names. Without a glob, the path itself, there or
    /// not.</summary>
    private static IEnumerable<string> Expand(string pattern)
    {
        if (pattern.AsSpan().IndexOfAny("*?[") < 0) return [pattern];
        IEnumerable<string> paths = [Path.IsPathRooted(pattern) ? "/" : "."];
        foreach (string part in pattern.Split('/', StringSplitOptions.RemoveEmptyEntries))
        {
            paths = part.AsSpan().IndexOfAny("*?[") < 0
                ? paths.Select(path => Path.Combine(path, part))
                : paths.Where(Directory.Exists).SelectMany(path => Matches(path, part));
        }

        return paths.Where(File.Exists).Order(StringComparer.Ordinal).ToList();
    }

    private static IEnumerable<string> Matches(string directory, string pattern)
    {
        byte[] glob = Encoding.UTF8.GetBytes(pattern);
        bool wantsHidden = pattern[0] == '.';
        return Directory.EnumerateFileSystemEntries(directory).Where(path =>
        {
            string name = Path.GetFileName(path);
            return (wantsHidden || name[0] != '.') && GlobPattern.IsMatch(glob, Encoding.UTF8.GetBytes(name));
        });
    }
}
