using System.Globalization;

namespace Kv.Server.Configuration;

/// <summary>How much memory this process may have: the machine's, or less when its control group says so.</summary>
/// <param name="Bytes">0 when the system does not say.</param>
/// <param name="IsLimitOfGroup">The limit is the control group's, as in a container.</param>
public readonly record struct MachineMemory(long Bytes, bool IsLimitOfGroup)
{
    /// <summary>Asks the system; some ten microseconds.</summary>
    /// <param name="root">The root of the file system, for tests.</param>
    public static MachineMemory Read(string root = "/")
    {
        long machine = ReadTotal(Path.Combine(root, "proc/meminfo"));
        long group = SmallestGroupLimit(root);
        if (machine == 0 && root == "/") machine = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;    // not Linux
        return group > 0 && (group < machine || machine == 0) ? new(group, true) : new(machine, false);
    }

    /// <summary>Limits hold for a group and all below it, so the smallest on the way to the root counts.</summary>
    private static long SmallestGroupLimit(string root)
    {
        string top = Path.Combine(root, "sys/fs/cgroup");
        string own = FirstLine(Path.Combine(root, "proc/self/cgroup"),
            line => line.StartsWith("0::/", StringComparison.Ordinal));
        long smallest = ReadNumber(Path.Combine(top, "memory/memory.limit_in_bytes"));      // version 1, in a container
        if (smallest >= 1L << 60) smallest = 0;                                             // its way to say "none"
        string path = own.Length > 4 ? own[4..] : "";
        while (true)
        {
            long limit = ReadNumber(Path.Combine(top, path, "memory.max"));
            if (limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
            if (path.Length == 0) return smallest;
            path = Path.GetDirectoryName(path) ?? "";       // ends: one name shorter each turn
        }
    }

    private static long ReadTotal(string meminfo)
    {
        string line = FirstLine(meminfo, l => l.StartsWith("MemTotal:", StringComparison.Ordinal));
        string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return words.Length >= 2
            && long.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out long kb)
            && kb < long.MaxValue >> 10 ? kb << 10 : 0;
    }

    private static long ReadNumber(string path) =>
        long.TryParse(FirstLine(path, _ => true), NumberStyles.None, CultureInfo.InvariantCulture, out long number)
        ? number : 0;

    private static string FirstLine(string path, Predicate<string> wanted)
    {
        try
        {
            return File.Exists(path) ? File.ReadLines(path).FirstOrDefault(line => wanted(line)) ?? "" : "";
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return "";
        }
    }
}
