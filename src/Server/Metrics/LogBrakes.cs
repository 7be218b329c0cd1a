namespace Kv.Server.Metrics;

/// <summary>A brake for each kind of line that clients can cause.</summary>
internal sealed class LogBrakes
{
    public LogBrake Http { get; } = new();

    public LogBrake Tls { get; } = new();

    public LogBrake Protocol { get; } = new();

    public LogBrake OutputLimit { get; } = new();

    public LogBrake Accept { get; } = new();

    public LogBrake ClientMemory { get; } = new();

    public LogBrake Monitor { get; } = new();

    /// <summary>Lines that were left out since the start.</summary>
    public long Suppressed =>
        Http.Suppressed + Tls.Suppressed + Protocol.Suppressed + OutputLimit.Suppressed + Accept.Suppressed
        + ClientMemory.Suppressed + Monitor.Suppressed;
}
