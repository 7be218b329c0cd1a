namespace Kv.Server.Metrics;

/// <summary>What INFO asks a logger factory, if it can say.</summary>
public interface ILogFigures
{
    /// <summary>Lines that were dropped because the log did not keep up.</summary>
    long DroppedLines { get; }
}
