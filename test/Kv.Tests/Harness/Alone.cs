namespace Kv.Tests.Harness;

/// <summary>Tests that count what the whole process has (threads, descriptors, allocated bytes): nothing else runs beside them.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class Alone
{
    public const string Name = "alone";
}
