using System.Text.RegularExpressions;
using Kv.Storage;

namespace Kv.Tests.Tidy;

/// <summary>What holds for every source file.</summary>
public partial class SourceTests
{
    private static readonly string[] TextEndings =
        [".cs", ".md", ".txt", ".props", ".csproj", ".sln", ".json", ".yml", ".sh", ".py", ".c", ".tsv", ".config"];

    /// <summary>Memory is handled where bytes are read, kept and sent; not where rules, figures and options are, nor in
    /// the program.</summary>
    private static readonly string[] UnsafeFolders =
    [
        "src/Lua/Machine", "src/Lua/Values", "src/Protocol", "src/Server/Effects", "src/Server/Execution",
        "src/Server/Families", "src/Server/Network", "src/Server/PubSub", "src/Server/Scripting",
        "src/Server/Sessions", "src/Storage",
    ];

    [Fact]
    public void Unsafe_code_is_only_in_folders_that_handle_memory()
    {
        var files = Repository.Files("src").Where(path =>
            path.EndsWith(".cs", StringComparison.Ordinal) && Unsafe().IsMatch(Repository.Read(path))).ToArray();
        Assert.DoesNotContain(files, path => !UnsafeFolders.Any(folder => IsIn(path, folder)));
        Assert.All(UnsafeFolders, folder => Assert.Contains(files, path => IsIn(path, folder)));

        static bool IsIn(string path, string folder) => path.StartsWith(folder + "/", StringComparison.Ordinal);
    }

    // They are in records, and later in files: add, never change.
    [Fact]
    public void The_numbers_of_value_kinds_are_frozen()
    {
        (string, int)[] frozen = [("Filler", 0), ("String", 1), ("Integer", 2), ("GrowingString", 3),
            ("BlockString", 4), ("PackedList", 5), ("PackedHash", 6),
            ("PackedSet", 7), ("IntegerSet", 8), ("PackedSortedSet", 9), ("List", 10), ("Hash", 11), ("Set", 12),
            ("SortedSet", 13), ("Stream", 14), ("Placeholder", 15)];
        Assert.Equal(frozen, Enum.GetValues<ValueKind>().Select(kind => (kind.ToString(), (int)kind)));
        Assert.True(Enum.GetValues<ValueKind>().All(kind => (int)kind < 16), "a kind has 4 bits");
    }

    [Fact]
    public void The_numbers_of_data_types_are_frozen()
    {
        (string, int)[] frozen = [("Any", 0), ("String", 1), ("List", 2), ("Set", 3), ("SortedSet", 4), ("Hash", 5),
            ("Stream", 6)];
        Assert.Equal(frozen, Enum.GetValues<DataType>().Select(type => (type.ToString(), (int)type)));
    }

    // A clone builds anywhere, from the registries that its user has set up.
    [Fact]
    public void No_file_names_a_place_of_one_machine_or_a_package_registry() => Assert.Empty(
        from path in Texts()
        from line in Repository.Read(path).Split('\n')
        where Place().IsMatch(line)
        select $"{path}: {line.Trim()}");

    [Fact]
    public void Nothing_is_left_to_be_done_without_an_issue() => Assert.Empty(
        from path in Texts()
        where path.EndsWith(".cs", StringComparison.Ordinal)
        from line in Repository.Read(path).Split('\n')
        where Undone().IsMatch(line)
        select $"{path}: {line.Trim()}");

    // Longer may be what loses by a break: a drawing, text in a raw literal, a literal without a space.
    [Fact]
    public void Lines_of_code_have_at_most_120_columns()
    {
        var wide = new List<string>();
        foreach (string path in Repository.Files().Where(path => path.EndsWith(".cs", StringComparison.Ordinal)))
        {
            bool isRaw = false;
            foreach (var (number, line) in Repository.Read(path).Split('\n').Index())
            {
                bool wasRaw = isRaw;
                isRaw ^= line.Split("\"\"\"").Length % 2 == 0;
                if (line.Length > 120 && !wasRaw && !Drawing().IsMatch(line) && !LongWord().IsMatch(line))
                    wide.Add($"{path}:{number + 1}: {line.Length} columns");
            }
        }

        Assert.Empty(wide);
    }

    // What takes many turns is named after what it does: "long" is also a type, and a length.
    [Fact]
    public void No_type_begins_with_long() => Assert.Empty(
        from assembly in new[] { typeof(Kv.Protocol.RespType), typeof(ValueKind), typeof(Kv.Server.KvServer) }
            .Select(type => type.Assembly)
        from type in assembly.GetTypes()
        where LongType().IsMatch(type.Name)
        select type.FullName);

    [Fact]
    public void Command_families_stay_under_900_lines() => Assert.Empty(
        from path in Repository.Files("src/Server/Families")
        let lines = Repository.Read(path).Split('\n').Length
        where lines > 900
        select $"{path}: {lines}");

    private static IEnumerable<string> Texts() =>
        Repository.Files().Where(path => TextEndings.Contains(Path.GetExtension(path)) || path == ".ci/run");

    // The expressions are put together, so that this file does not match itself.
    private static Regex Place() => new(
        "(^|[^.\\w])/(wor" + "k|hom" + "e|roo" + "t)/|api\\.nuge" + "t\\.org|pypi\\.or" + "g|registry\\.npm" + "js",
        RegexOptions.CultureInvariant);

    private static Regex Undone() =>
        new("TOD" + "O(?! ?\\(?#\\d)|throw new NotImplemented" + "Exception|FIXM" + "E", RegexOptions.CultureInvariant);

    [GeneratedRegex(@"^\s*//.*(\S {2,}\S|\||--)")]
    private static partial Regex Drawing();

    [GeneratedRegex(@"^\s*(\+ )?""[^"" ]*""[^"" ]*$")]
    private static partial Regex LongWord();

    [GeneratedRegex(@"^I?Long[A-Z]")]
    private static partial Regex LongType();

    [GeneratedRegex(@"\bunsafe\b(?! code)|\bUnsafe\.|MemoryMarshal\.GetReference")]
    private static partial Regex Unsafe();
}
