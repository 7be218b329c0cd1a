using System.Globalization;
using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Metrics;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>Log lines on standard output or in a file: <c>2026-01-31T12:00:00.101Z notice Server: text</c>, one line an
/// event.</summary>
/// <remarks>
/// A factory and loggers of our own behind the usual interfaces: the console provider of the framework needs
/// containers, options and its own thread, which takes longer than the rest of the start.
/// Threads: any; the lines are written by <see cref="LineQueue"/>'s.
/// </remarks>
internal sealed class LineLogging : ILoggerFactory, ILogFigures
{
    // Replaced once, by the server's own copy; a line may be judged by the old one.
    private volatile ServerOptions _options;
    private readonly LineQueue _lines;

    public LineLogging(ServerOptions options)
    {
        _options = options;
        _lines = new LineQueue(options.LogFile.Length > 0
            ? new FileStream(options.LogFile, FileMode.Append, FileAccess.Write,
                FileShare.ReadWrite | FileShare.Delete, 1)
            : Console.OpenStandardOutput());
    }

    /// <inheritdoc/>
    public long DroppedLines => _lines.Dropped;

    /// <summary>Goes by these options from now on: the server's, which CONFIG SET loglevel changes.</summary>
    public void Follow(ServerOptions options) => _options = options;

    public ILogger CreateLogger(string categoryName) =>
        new Logger(this, categoryName[(categoryName.LastIndexOf('.') + 1)..]);

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException("log lines go to one place");

    /// <summary>Writes what was logged, for a second at most: whoever reads the log may have stopped.</summary>
    public void Dispose() => _lines.Dispose();

    private bool IsEnabled(LogLevel level) => _options.LogLevel switch
    {
        LogVerbosity.Debug => level >= LogLevel.Trace,
        LogVerbosity.Verbose => level >= LogLevel.Debug,
        LogVerbosity.Notice => level >= LogLevel.Information,
        LogVerbosity.Warning => level >= LogLevel.Warning,
        _ => false,
    };

    private static byte[] Format(LogLevel level, string category, string text, Exception? exception)
    {
        var line = new StringBuilder(128);
        line.Append(DateTime.UtcNow.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture));
        line.Append(' ').Append(Word(level)).Append(' ').Append(category).Append(": ");
        AppendEscaped(line, text);
        if (exception != null) AppendEscaped(line.Append(" | "), exception.ToString());
        line.Append('\n');
        return Encoding.UTF8.GetBytes(line.ToString());
    }

    /// <summary>One line an event, whatever a client put into it.</summary>
    private static void AppendEscaped(StringBuilder line, string text)
    {
        foreach (char c in text)
        {
            if (c == '\n') line.Append("\\n");
            else if (char.IsControl(c)) line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:x2}");
            else line.Append(c);
        }
    }

    private static string Word(LogLevel level) => level switch
    {
        LogLevel.Trace => "debug",
        LogLevel.Debug => "verbose",
        LogLevel.Information => "notice",
        _ => "warning",
    };

    private sealed class Logger(LineLogging lines, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel level) => lines.IsEnabled(level);

        public void Log<TState>(LogLevel level, EventId id, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            if (!lines.IsEnabled(level)) return;
            lines._lines.Add(Format(level, category, formatter(state, exception), exception),
                dropped =>
                    Format(LogLevel.Warning, "Log",
                        $"{dropped} lines are missing here: they came faster than the log takes them", null));
        }
    }
}
