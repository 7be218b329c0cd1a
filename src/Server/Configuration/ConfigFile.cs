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

    /// <summary>Includes within includes; more is a circle.</summary>
    private const int DepthMax = 16;

    /// <summary>Adds the lines of a file and of the files it includes.</summary>
    /// <returns>Null, or what is wrong in one line.</returns>
    public static string? Read(string path, List<ConfigLine> lines) => Read(path, lines, depth: 0);

    /// <summary>Adds the lines of a stream, named in errors as <paramref name="name"/>.</summary>
    public static string? Read(Stream stream, string name, List<ConfigLine> lines) =>
        Read(stream, name, lines, depth: 0);

    private static string? Read(string path, List<ConfigLine> lines, int depth)
    {
        try
        {
            using var stream = File.OpenRead(path);
            return Read(stream, path, lines, depth);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException
            or NotSupportedException)
        {
            string why = e is FileNotFoundException or DirectoryNotFoundException ? "No such file" : e.Message;
            return $"cannot read the configuration file '{path}': {why}";
        }
    }

    private static string? Read(Stream stream, string name, List<ConfigLine> lines, int depth)
    {
        var bytes = new MemoryStream();
        var chunk = new byte[16 << 10];
        for (int read; (read = stream.Read(chunk)) > 0;)
        {
            if (bytes.Length + read > BytesMax)
                return $"{name}: longer than {BytesMax >> 20} MB: not a configuration file";
            bytes.Write(chunk, 0, read);
        }

        if (!OptionTable.TryDecode(bytes.GetBuffer().AsSpan(0, (int)bytes.Length), out string text))
            return $"{name}: not UTF-8 text";
        int number = 0;
        foreach (var part in text.AsSpan().TrimStart('\uFEFF').EnumerateLines())
        {
            string line = part.Trim().ToString();
            string origin = string.Create(CultureInfo.InvariantCulture, $"{name}:{++number}");
            if (line.Length == 0 || line[0] == '#') continue;
            string? error = ReadLine(origin, line, lines, depth);
            if (error is not null) return error;
        }

        return null;
    }

    private static string? ReadLine(string origin, string text, List<ConfigLine> lines, int depth)
    {
        var words = ConfigLine.Split(text);
        var line = new ConfigLine(origin, text, words ?? [text.Split(' ')[0]]);
        if (words is null) return line.Error("unbalanced quotes", OptionTable.Find(line.Name));
        if (!line.Name.Equals("include", StringComparison.OrdinalIgnoreCase))
        {
            lines.Add(line);
            return null;
        }

        if (words.Count != 2) return line.Error("wrong number of arguments");
        if (depth == DepthMax) return line.Error($"more than {DepthMax} files deep: does it include itself?");
        foreach (string path in Expand(words[1]))
        {
            string? error = Read(path, lines, depth + 1);
            if (error is not null)
                return error.StartsWith("cannot read", StringComparison.Ordinal) ? line.Error(error) : error;
        }

        return null;
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
