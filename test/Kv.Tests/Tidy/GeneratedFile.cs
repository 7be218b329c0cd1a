namespace Kv.Tests.Tidy;

/// <summary>A file that is made from the code: a test keeps it in step, KV_REWRITE=1 renews it.</summary>
internal static class GeneratedFile
{
    /// <summary>Compares a file with what it should be, or writes it.</summary>
    /// <param name="path">From the root of the repository.</param>
    public static void Check(string path, string text)
    {
        string file = Path.Combine(Repository.Root, path);
        if (Environment.GetEnvironmentVariable("KV_REWRITE") == "1")
        {
            Directory.CreateDirectory(Path.GetDirectoryName(file)!);
            File.WriteAllText(file, text);
        }

        string there = File.Exists(file) ? File.ReadAllText(file).ReplaceLineEndings("\n") : "";
        if (there == text) return;
        Assert.Equal(text, there);
        Assert.Fail($"{path} is out of step with the code: run the tests with KV_REWRITE=1");
    }

    /// <summary>A text inside a table of Markdown.</summary>
    public static string Cell(string text) => text.Replace("|", "\\|");

    /// <summary>The same as code; empty stays empty.</summary>
    public static string Code(string text) => text.Length == 0 ? "" : $"`{Cell(text)}`";
}
