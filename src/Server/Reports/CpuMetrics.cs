namespace Kv.Server.Reports;

/// <summary>Metrics of processor time.</summary>
internal static class CpuMetrics
{
    public static readonly Metric[] Rows =
    [
        new("used_cpu_sys", MetricKind.Counter, "Seconds in the kernel",
            r => MetricValue.Fraction(r.Cpu.PrivilegedTime.TotalSeconds, 6)) { Page = "redis_cpu_sys_seconds_total" },
        new("used_cpu_user", MetricKind.Counter, "Seconds outside the kernel",
            r => MetricValue.Fraction(r.Cpu.UserTime.TotalSeconds, 6)) { Page = "redis_cpu_user_seconds_total" },
        new("used_cpu_sys_children", MetricKind.Counter, "No child processes", r => MetricValue.Fraction(0, 6))
            { Page = "redis_cpu_sys_children_seconds_total" },
        new("used_cpu_user_children", MetricKind.Counter, "No child processes", r => MetricValue.Fraction(0, 6))
            { Page = "redis_cpu_user_children_seconds_total" },
        new("used_cpu_sys_main_thread", MetricKind.Counter, "No thread does it all", r => MetricValue.Fraction(0, 6)),
        new("used_cpu_user_main_thread", MetricKind.Counter, "No thread does it all", r => MetricValue.Fraction(0, 6)),
    ];
}
