using System.Text.RegularExpressions;

namespace Kv.Tests.Tidy;

/// <summary>What holds for the source of every test.</summary>
public partial class TestSourceTests
{
    // Beside other tests it says nothing, and after them little: they leave memory and threads behind.
    [Fact]
    public void What_measures_or_sets_something_of_the_process_runs_in_a_child() => Assert.Empty(
        from path in Sources()
        from Match test in Test().Matches(Repository.Read(path))
        where OfProcess().IsMatch(test.Value) && !test.Value.Contains("OwnProcess.Ran()", StringComparison.Ordinal)
        select $"{path}: {test.Groups["name"].Value}");

    // Servers of other tests pass the same points.
    [Fact]
    public void Who_does_something_at_points_of_the_source_is_alone_or_in_a_child() => Assert.Empty(
        from path in Sources()
        let source = Repository.Read(path)
        where !path.EndsWith("/Interruptions.cs", StringComparison.Ordinal)     // of its own threads only
            && !source.Contains("[Collection(Alone.Name)]", StringComparison.Ordinal)
        from Match test in Test().Matches(source)
        where SetsPoint().IsMatch(test.Value) && !test.Value.Contains("OwnProcess.Ran()", StringComparison.Ordinal)
        select $"{path}: {test.Groups["name"].Value}");

    private static IEnumerable<string> Sources() => Repository.Files("test/Kv.Tests").Where(path =>
        path.EndsWith("Tests.cs", StringComparison.Ordinal) || path.EndsWith("Bugs.cs", StringComparison.Ordinal));

    /// <summary>From the attribute to the next member, or to the end of the type.</summary>
    [GeneratedRegex(@"^    \[(Fact|Theory).*?^    public [^\n]*?(?<name>\w+)\(.*?(?=^\n    \S|^}$)",
        RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Test();

    [GeneratedRegex(@"Environment\.WorkingSet|GetTotalMemory|GetTotalAllocatedBytes|GetCurrentProcess|/proc/self/"
        + @"|VirtualMemory\.Mappings|\bBlockTests\.ResidentBytes|new SaturatedPool|(?<!\.)\bDescriptors\(\)"
        + @"|\bTotalProcessorTime|ThreadPool\.Set")]
    private static partial Regex OfProcess();

    [GeneratedRegex(@"Fault\.(Arm\(|AtEveryPoint =)")]
    private static partial Regex SetsPoint();
}
