using System.Globalization;

namespace RespBenchmark.Saturation;

/// <summary>What the kernel says of the whole host at one moment: clock ticks, over all processors.</summary>
/// <param name="Total">All ticks.</param>
/// <param name="Idle">Idle, and waiting for a disk.</param>
/// <param name="Steal">Taken by other guests of the machine below.</param>
/// <param name="ThrottledUs">Time for which this process's control group was held back.</param>
internal sealed record HostSample(long Total, long Idle, long Steal, long ThrottledUs)
{
    public static HostSample Now()
    {
        // cpu  user nice system idle iowait irq softirq steal ...
        long[] ticks = [.. File.ReadLines("/proc/stat").First().Split(' ', StringSplitOptions.RemoveEmptyEntries)
            .Skip(1).Take(8)
            .Select(text => long.Parse(text, CultureInfo.InvariantCulture))];
        return new HostSample(ticks.Sum(), ticks[3] + ticks[4], ticks[7], Throttled());
    }

    private static long Throttled()
    {
        string group = File.ReadLines("/proc/self/cgroup")
            .FirstOrDefault(line => line.StartsWith("0::", StringComparison.Ordinal)) ?? "0::/";
        string path = $"/sys/fs/cgroup{group[3..].TrimEnd('/')}/cpu.stat";
        if (!File.Exists(path)) return 0;
        string? line = File.ReadLines(path)
            .FirstOrDefault(text => text.StartsWith("throttled_usec ", StringComparison.Ordinal));
        return line is null ? 0 : long.Parse(line[15..], CultureInfo.InvariantCulture);
    }
}
