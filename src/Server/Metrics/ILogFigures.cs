namespace Kv.Server.Metrics;

/// <summary>What INFO shows of a logger factory that has it.</summary>
public interface ILogFigures
{
    /// <summary>Lines that were dropped because the log did not keep up.</summary>
    long DroppedLines { get; }
}
