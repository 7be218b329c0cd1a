using System.Diagnostics;
using System.Globalization;

namespace Kv.Storage;

/// <summary>How many mappings the store has asked the system for, and the most that it may.</summary>
/// <remarks>
/// A process that reaches vm.max_map_count ends: the runtime's next stack, code page or heap segment cannot be mapped.
/// So the store stops before that, and refuses as it does when there is no memory.
/// Threads: any; the count is atomic.
/// </remarks>
internal sealed class MappingLimit(long max)
{
    private const long SystemDefault = 65530;
    private const string SystemFile = "/proc/sys/vm/max_map_count";

    // The runtime has some hundred, its heap and each thread some more; neighbours with different advice are two.
    private const long OthersMax = 4096;

    private long _count;

    public long Count => Volatile.Read(ref _count);

    /// <summary>The most mappings that the store may have. Only a test changes it.</summary>
    public long Max { get; set; } = max;

    /// <summary>What the system allows a process; what Linux does by default when it does not say.</summary>
    public static long SystemMax { get; } = ReadSystemMax();

    /// <summary>What is left of the system's limit for the store.</summary>
    public static MappingLimit OfSystem() => new(SystemMax - Math.Min(SystemMax / 2, OthersMax));

    /// <summary>Counts more mappings, before they are made.</summary>
    /// <returns>False when they would be too many: none is counted then.</returns>
    public bool TryAdd(int mappings)
    {
        Debug.Assert(mappings > 0, "at least one mapping is added");
        if (Interlocked.Add(ref _count, mappings) <= Max) return true;
        Remove(mappings);
        return false;
    }

    public void Remove(int mappings) => Interlocked.Add(ref _count, -mappings);

    private static long ReadSystemMax()
    {
        try
        {
            return long.Parse(File.ReadAllText(SystemFile), CultureInfo.InvariantCulture);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or FormatException
            or OverflowException)
        {
            return SystemDefault;
        }
    }
}
