using System.Runtime.InteropServices;
using RespBenchmark.Reports;

namespace RespBenchmark.Saturation;

/// <summary>What the machine is, for reports.</summary>
internal static class HostFacts
{
    public static HostReport Read() => new()
    {
        Cpu = Field("/proc/cpuinfo", "model name"),
        Cores = Environment.ProcessorCount,
        Governor = Text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        Kernel = RuntimeInformation.OSDescription,
        Virt = Text("/sys/class/dmi/id/product_name")
        ?? (Field("/proc/cpuinfo", "flags")?.Contains(" hypervisor ", StringComparison.Ordinal) == true
            ? "virtual machine" : null),
        Steal = HostSample.Now() is { Total: > 0 } sample ? (double)sample.Steal / sample.Total : null,
    };

    private static string? Field(string path, string name) => !File.Exists(path) ? null
        : File.ReadLines(path).FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal))?.Split(
            ':', 2)[1].Trim();

    private static string? Text(string path)
    {
        try
        {
            return File.Exists(path) ? File.ReadAllText(path).Trim() : null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
