using System.Globalization;

namespace RespBenchmark.Suites;

/// <summary>The memory that this machine could give.</summary>
internal static class AvailableMemory
{
    /// <summary>MemAvailable of /proc/meminfo; elsewhere what the runtime says.</summary>
    public static long Bytes()
    {
        const string file = "/proc/meminfo", field = "MemAvailable:";
        if (File.Exists(file))
        {
            foreach (string line in File.ReadLines(file))
            {
                if (!line.StartsWith(field, StringComparison.Ordinal)) continue;
                string kibibytes = line[field.Length..].Replace("kB", "", StringComparison.Ordinal).Trim();
                if (long.TryParse(kibibytes, NumberStyles.None, CultureInfo.InvariantCulture, out long number))
                    return number * 1024;
            }
        }

        return GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
    }
}
