namespace Kv.Server.Reports;

/// <summary>Metrics of processor time.</summary>
internal static class CpuMetrics
{
    public static readonly Metric[] Rows =
    [
        new("used_cpu_sys", MetricKind.Counter, "Seconds in the kernel",
            r => MetricValue.Fraction(r.Cpu.PrivilegedTime.TotalSeconds, 6)),
        new("used_cpu_user", MetricKind.Counter, "Seconds outside the kernel",
            r => MetricValue.Fraction(r.Cpu.UserTime.TotalSeconds, 6)),
        new("used_cpu_sys_children", MetricKind.Counter, "No child processes", r => MetricValue.Fraction(0, 6)),
        new("used_cpu_user_children", MetricKind.Counter, "No child processes", r => MetricValue.Fraction(0, 6)),
    ];
}
