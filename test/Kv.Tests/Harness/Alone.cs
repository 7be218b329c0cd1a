namespace Kv.Tests.Harness;

/// <summary>Tests that set what the whole process has (points of faults): nothing else runs beside them. What measures
/// the process runs in one of its own instead (<see cref="OwnProcess"/>), since tests that ran before leave memory and
/// threads behind.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class Alone
{
    public const string Name = "alone";
}
