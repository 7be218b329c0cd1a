using System.Globalization;

namespace Kv.Server.Reports;

/// <summary>Figures of the process and the machine that the system provides.</summary>
internal static class ProcessFigures
{
    /// <summary>Memory of the machine: /proc/meminfo on Linux, else what the runtime may use.</summary>
    public static readonly long SystemBytes = ReadMemTotal() ?? GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

    private static long? ReadMemTotal()
    {
        if (!OperatingSystem.IsLinux()) return null;
        try
        {
            // "MemTotal:       16384000 kB", the first line.
            string line = File.ReadLines("/proc/meminfo")
                .First(text => text.StartsWith("MemTotal:", StringComparison.Ordinal));
            return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1],
                CultureInfo.InvariantCulture) * 1024;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or FormatException
            or InvalidOperationException)
        {
            return null;
        }
    }
}
