namespace Kv.Tests.Transcripts;

/// <summary>The transcripts of one command family: <c>== title</c> begins one.</summary>
internal static class TranscriptFile
{
    internal static string Folder { get; } = Path.Combine(AppContext.BaseDirectory, "Transcripts");

    /// <summary>Every transcript of every file, by file, title and protocol.</summary>
    internal static IEnumerable<(string File, string Title)> All()
    {
        foreach (string path in Directory.GetFiles(Folder, "*.txt").Order(StringComparer.Ordinal))
            foreach (var (title, _) in Read(path))
                yield return (Path.GetFileNameWithoutExtension(path), title);
    }

    internal static string Text(string file, string title) =>
        Read(Path.Combine(Folder, file + ".txt")).Single(t => t.Title == title).Text;

    /// <summary>The transcripts of one file, in their order.</summary>
    internal static IEnumerable<(string Title, string Text)> Read(string path)
    {
        foreach (string part in ("\n" + File.ReadAllText(path)).Split("\n== ").Skip(1))
        {
            int end = part.IndexOf('\n');
            yield return (part[..end].Trim(), part[end..]);
        }
    }
}
