using System.Text.RegularExpressions;

namespace RespBenchmark.Tests;

/// <summary>Text without what differs from run to run: numbers, progress drawn over itself, how many rows a table has,
/// the space at line ends.</summary>
internal static partial class MaskedText
{
    public static string Of(string text)
    {
        var lines = new List<string>();
        foreach (string raw in text.Replace("-nan", "0").Split('\n'))
        {
            string line = Escape().Replace(raw[(raw.LastIndexOf('\r') + 1)..], "");
            line = Gap().Replace(Number().Replace(line, "#"), " ").TrimEnd();
            line = Time().Replace(line, "#ms");
            // A table of another run has other rows.
            if (lines.Count == 0 || lines[^1] != line || line.Length == 0) lines.Add(line);
        }

        return string.Join('\n', lines);
    }

    [GeneratedRegex(@"[0-9][0-9,.]*")]
    private static partial Regex Number();

    // A slow machine's times are seconds, a fast one's below what is shown.
    [GeneratedRegex(@"[<>]?#m?s\b")]
    private static partial Regex Time();

    // Columns are padded by the width of their numbers.
    [GeneratedRegex(@" +")]
    private static partial Regex Gap();

    [GeneratedRegex(@"\e\[[0-9;]*[A-Za-z]")]
    private static partial Regex Escape();
}
