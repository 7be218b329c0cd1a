using System.Text.RegularExpressions;
using Kv.Tests.Tidy;

namespace Kv.Tests.Embedding;

/// <summary>The programs of docs/embedding.md compile, and print what the page says.</summary>
public partial class EmbeddingDocumentTests
{
    [Fact]
    public void The_page_shows_the_programs_that_are_tested()
    {
        string[] shown = [.. CodeBlock().Matches(Page()).Where(match => match.Groups[1].Value == "csharp")
            .Select(match => match.Groups[2].Value)];
        Assert.Equal([Program("EmbeddedServer"), Program("EmbeddedConnection"), Program("EmbeddedStore"),
            Program("EmbeddedTypes")], shown);
    }

    [Fact]
    public async Task They_print_what_the_page_says()
    {
        string[] printed = [.. CodeBlock().Matches(Page()).Where(match => match.Groups[1].Value == "text")
            .Select(match => match.Groups[2].Value)];
        using var server = new StringWriter { NewLine = "\n" };
        await EmbeddedServer.RunAsync(server);
        using var connection = new StringWriter { NewLine = "\n" };
        await EmbeddedConnection.RunAsync(connection);
        using var store = new StringWriter { NewLine = "\n" };
        EmbeddedStore.Run(store);
        using var types = new StringWriter { NewLine = "\n" };
        EmbeddedTypes.Run(types);
        Assert.Equal([server.ToString(), connection.ToString(), store.ToString(), types.ToString()], printed);
    }

    private static string Page() => Repository.Read("docs/embedding.md").ReplaceLineEndings("\n");

    /// <summary>What stands between "begin" and "end" in a file, at the left edge, writing to the console.</summary>
    private static string Program(string name)
    {
        string source = Repository.Read($"test/Kv.Tests/Embedding/{name}.cs").ReplaceLineEndings("\n");
        var parts = Part().Matches(source)
            .Select(match => Regex.Replace(match.Groups[2].Value, $"(?m)^{match.Groups[1].Value}", ""));
        return string.Join("\n", parts).Replace("output.WriteLine", "Console.WriteLine", StringComparison.Ordinal)
            .Replace("private struct", "struct", StringComparison.Ordinal);
    }

    [GeneratedRegex(@"```(\w+)\n(.*?)```\n", RegexOptions.Singleline)]
    private static partial Regex CodeBlock();

    [GeneratedRegex(@"^( *)// begin\n(.*?)^ *// end\n", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Part();
}
