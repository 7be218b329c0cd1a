using System.Text.RegularExpressions;
using Kv.Storage;

namespace Kv.Tests.Tidy;

/// <summary>What the documents say of the sources is so.</summary>
public partial class DocumentTests
{
    // Of the runtime, and named without its namespace.
    private static readonly string[] OfOthers = ["CallCountingDelayMs", "ConserveMemory", "Gen0MaxBudget"];

    [Fact]
    public void Names_of_types_and_members_exist()
    {
        var words = Repository.Files().Where(path => path.EndsWith(".cs", StringComparison.Ordinal))
            .SelectMany(path => Word().Matches(Repository.Read(path)).Select(match => match.Value))
            .Concat(OfOthers).ToHashSet();
        Assert.Empty(
            from path in Documents()
            from Match name in Name().Matches(Repository.Read(path))
            from part in name.Groups[1].Value.Split('.')
            where !words.Contains(part)
            select $"{path}: {name.Value}: nothing is called {part}");
    }

    [Fact]
    public void Paths_of_sources_exist()
    {
        string sources = string.Concat(Repository.Files().Select(path => path + "\n"));
        Assert.Empty(
            from path in Documents()
            from Match name in SourcePath().Matches(Repository.Read(path))
            where !sources.Contains(name.Groups[1].Value, StringComparison.Ordinal)
            select $"{path}: {name.Groups[1].Value} is not there");
    }

    [Fact]
    public void Every_folder_of_src_is_named_in_the_architecture()
    {
        string architecture = Repository.Read("docs/architecture.md");
        Assert.Empty(
            from path in Repository.Files("src").Select(Path.GetDirectoryName).Distinct()
            let folder = Path.GetFileName(path)
            where !Regex.IsMatch(architecture, $"\\b{folder}\\b", RegexOptions.CultureInvariant)
            select path);
    }

    [Fact]
    public void Every_kind_of_value_is_in_the_storage_format()
    {
        string format = Repository.Read("docs/storage-format.md");
        Assert.Empty(
            from kind in Enum.GetNames<ValueKind>()
            where !Regex.IsMatch(format, $"\\b{kind}\\b", RegexOptions.CultureInvariant)
            select kind);
    }

    // Longer may be tables, code, and a word that is.
    [Fact]
    public void Lines_of_text_have_at_most_120_columns()
    {
        var wide = new List<string>();
        foreach (string path in Documents())
        {
            bool isCode = false;
            foreach (var (number, line) in Repository.Read(path).Split('\n').Index())
            {
                if (line.TrimStart().StartsWith("```", StringComparison.Ordinal)) isCode = !isCode;
                if (line.Length > 120 && !isCode && !NotText().IsMatch(line))
                    wide.Add($"{path}:{number + 1}: {line.Length} columns");
            }
        }

        Assert.Empty(wide);
    }

    private static IEnumerable<string> Documents() => Repository.Files().Where(path =>
        path.EndsWith(".md", StringComparison.Ordinal) && !path.StartsWith("docs/reports/", StringComparison.Ordinal));

    [GeneratedRegex(@"\w+")]
    private static partial Regex Word();

    /// <summary>In backticks: words with a capital that a dot joins, or one with capitals in it.</summary>
    [GeneratedRegex(@"`([A-Z]\w*(?:\.[A-Z]\w*)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)`")]
    private static partial Regex Name();

    /// <summary>In backticks: a folder with a capital, and what is in it.</summary>
    [GeneratedRegex(@"`((?:src/|test/)?[A-Z]\w+(?:/\w+)*/[A-Z]\w+(?:\.cs)?)")]
    private static partial Regex SourcePath();

    [GeneratedRegex(@"^\s*(\||#|<|!\[)|^ {4}|^\s*[^ ]*`?[^`]*`[^ ]*$")]
    private static partial Regex NotText();
}
