using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace Kv.Tests.Harness;

/// <summary>Keeps the lines that a server in this process logs.</summary>
public sealed class CapturedLog : ILoggerFactory, ILogger
{
    private readonly ConcurrentQueue<string> _lines = new();

    /// <summary>Level and text of each line, in order.</summary>
    public IReadOnlyCollection<string> Lines => _lines;

    /// <summary>Called with each line, by who logs it.</summary>
    public Action<string>? AtLine { get; init; }

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        string line = $"{logLevel} {formatter(state, exception)}";
        _lines.Enqueue(line);
        AtLine?.Invoke(line);
    }

    public void Dispose()
    {
    }
}
