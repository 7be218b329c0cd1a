using Kv.Tests.Facts;

namespace Kv.Tests.Transcripts;

public class TranscriptCoverageTests
{
    /// <summary>They end the connection, or the server: tests of their own send them.</summary>
    private static readonly string[] Elsewhere = ["QUIT", "SHUTDOWN"];

    private static readonly HashSet<string> Sent =
        [.. Directory.GetFiles(TranscriptFile.Folder, "*.txt").SelectMany(File.ReadLines).SelectMany(Calls)];

    public static IEnumerable<TheoryDataRow<string>> Names() => CommandRows.Names();

    [Theory, MemberData(nameof(Names))]
    public void Every_command_has_a_transcript(string name)
    {
        var row = CommandRows.Find(name);
        if (row.Subcommands.Length > 0 && row.Handler == null) return;      // its subcommands do
        if (Elsewhere.Contains(name)) return;
        Assert.True(Sent.Contains(name), $"no conversation in Transcripts sends {name}");
    }

    // "> SET k v" or "client> SET k v": the first word, and the first two for a subcommand.
    private static IEnumerable<string> Calls(string line)
    {
        int mark = line.IndexOf("> ", StringComparison.Ordinal);
        if (mark < 0 || line[..mark].Contains(' ')) yield break;
        string[] words = line[(mark + 2)..].ToUpperInvariant().Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words.Length > 0) yield return words[0];
        if (words.Length > 1) yield return $"{words[0]} {words[1]}";
    }
}
