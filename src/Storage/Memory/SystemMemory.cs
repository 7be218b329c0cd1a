namespace Kv.Storage;

/// <summary>What all stores of this process have of the system beside what their accounts say.</summary>
/// <param name="WarmBytes">Free, but not given back yet: the next value takes them without page faults.</param>
/// <param name="Mappings">Mappings of addresses.</param>
/// <param name="MappingsMax">The most mappings that the stores make; what needs one more is refused, as without
/// memory.</param>
/// <param name="SystemMappingsMax">What the system allows the process (vm.max_map_count).</param>
/// <param name="Failures">How often the system has refused to take memory back.</param>
public readonly record struct SystemMemory(long WarmBytes, long Mappings, long MappingsMax, long SystemMappingsMax,
    long Failures)
{
    /// <summary>The figures of now.</summary>
    public static SystemMemory Read() => new(
        Extents.Shared.WarmBytes, VirtualMemory.Mappings.Count, VirtualMemory.Mappings.Max, MappingLimit.SystemMax,
        VirtualMemory.Failures);
}
