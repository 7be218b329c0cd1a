using System.Text.RegularExpressions;
using Kv.Storage;
using Kv.Tests.Persistence;
using Kv.Tests.Persistence.Aof;
using Kv.Tests.Tidy;

namespace Kv.Tests.Faults;

/// <summary>The list of points is the source's, and each of them is tested.</summary>
public sealed partial class FaultPointTests
{
    [Fact]
    public void The_list_has_every_point_of_the_source_and_no_other()
    {
        var found = Repository.Files("src").Where(path => path.EndsWith(".cs", StringComparison.Ordinal))
            .SelectMany(path => Call().Matches(Repository.Read(path))).Select(match => match.Groups[1].Value);
        Assert.Equal(Fault.Points.Order(StringComparer.Ordinal), found.Distinct().Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Every_point_has_a_test_of_what_happens_there()
    {
        var tested = StoreFaultTests.Points.Concat(ServerFaultTests.Points).Concat(SnapshotFaultTests.Points)
            .Concat(AofFaultTests.Points).Concat(Effects.ReplicaFaultTests.Points).Distinct()
            .Order(StringComparer.Ordinal);
        Assert.Equal(Fault.Points.Order(StringComparer.Ordinal), tested);
    }

    [GeneratedRegex("Fault\\.Point\\(\"([^\"]+)\"\\)")]
    private static partial Regex Call();
}
