namespace RespBenchmark.Tests;

/// <summary>Real outputs of the tools whose text we print, and the command lines of the documents that quote
/// them.</summary>
internal static class Goldens
{
    public static string Read(string name) => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Goldens", name));

    /// <summary>Each command line with the grammar its comment says.</summary>
    public static IEnumerable<(string Grammar, string Line)> SeedCommands()
    {
        string grammar = "";
        foreach (string line in Read("seed-commands.txt").Split('\n', StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.StartsWith('#'))
                grammar = line[(line.IndexOf("grammar=", StringComparison.Ordinal) + 8)..].Split(' ')[0];
            else yield return (grammar, line);
        }
    }

    /// <summary>The program's name and arguments of a seed's line: after dotnet run's own options, or after the tool's
    /// name.</summary>
    public static (string Program, string[] Arguments) Split(string line)
    {
        string[] words = Words(line);
        if (words[0] != "dotnet") return (words[0], words[1..]);
        int project = Array.IndexOf(words, "--project");
        return ("Resp.benchmark", words[(project + 2)..]);
    }

    // Double quotes are all that the lines have.
    private static string[] Words(string line)
    {
        string[] pieces = line.Split('"');
        return [.. pieces.SelectMany((piece, index) => index % 2 == 1
            ? [piece] : piece.Split(' ', StringSplitOptions.RemoveEmptyEntries))];
    }
}
