using Kv.Server.Configuration;
using Kv.Server.Metrics;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>The log: one line an event on standard output or in a file, in the form of log-format, and in the system's
/// log if syslog-enabled says so.</summary>
/// <remarks>
/// A factory and loggers of our own behind the usual interfaces: the console provider of the framework needs
/// containers, options and its own thread, which takes longer than the rest of the start.
/// Threads: any; the lines are written by those of <see cref="LineQueue"/>.
/// </remarks>
internal sealed class LineLogging : ILoggerFactory, ILogFigures
{
    // Replaced once, by the server's own copy; a line may be judged by the old one.
    private volatile ServerOptions _options;
    private readonly LineQueue _lines;
    private readonly SyslogStream? _syslog;
    private readonly LineQueue? _syslogLines;

    /// <param name="syslogPath">The socket of the system's log.</param>
    public LineLogging(ServerOptions options, string syslogPath = SyslogStream.DefaultPath)
    {
        _options = options;
        _lines = new LineQueue(options.LogFile.Length > 0 ? OpenFile() : Console.OpenStandardOutput());
        if (!options.SyslogEnabled) return;
        _syslog = new SyslogStream(syslogPath, SayLost);
        _syslogLines = new LineQueue(_syslog);
    }

    /// <inheritdoc/>
    public long DroppedLines => _lines.Dropped + (_syslogLines?.Dropped ?? 0) + (_syslog?.Dropped ?? 0);

    /// <summary>Goes by these options from now on: the server's, which CONFIG SET loglevel changes.</summary>
    public void Follow(ServerOptions options) => _options = options;

    public ILogger CreateLogger(string categoryName) =>
        new Logger(this, categoryName[(categoryName.LastIndexOf('.') + 1)..]);

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException("log lines go to one place");

    /// <summary>Opens logfile anew: somebody has renamed it (logrotate), and the lines go on in a new one.</summary>
    /// <exception cref="IOException">It cannot be opened, or <see cref="UnauthorizedAccessException"/>: the lines go on
    /// in the old one.</exception>
    public void Reopen()
    {
        if (_options.LogFile.Length > 0) _lines.MoveTo(OpenFile());
    }

    /// <summary>Writes what was logged, for a second at most: whoever reads the log may have stopped.</summary>
    public void Dispose()
    {
        _lines.Dispose();
        _syslogLines?.Dispose();
    }

    private FileStream OpenFile() => new(_options.LogFile, FileMode.Append, FileAccess.Write,
        FileShare.ReadWrite | FileShare.Delete, 1);

    private bool IsEnabled(LogLevel level) => _options.LogLevel switch
    {
        LogVerbosity.Debug => level >= LogLevel.Trace,
        LogVerbosity.Verbose => level >= LogLevel.Debug,
        LogVerbosity.Notice => level >= LogLevel.Information,
        LogVerbosity.Warning => level >= LogLevel.Warning,
        _ => false,
    };

    private void Add(LogLine line)
    {
        AddToLog(line);
        _syslogLines?.Add(Syslog(line), dropped => Syslog(Missing(dropped)));
    }

    /// <summary>Says in the log that the system's log is not there: its lines are missing, and who looks for them
    /// there looks here next.</summary>
    private void SayLost(string reason)
    {
        if (!IsEnabled(LogLevel.Warning)) return;
        AddToLog(new LogLine(LogLevel.Warning, "Log", "The system's log cannot be reached (syslog-enabled); lines for "
            + $"it are dropped until it can. {reason}", null));
    }

    private void AddToLog(LogLine line) => _lines.Add(line.Write(_options.LogFormat, DateTime.UtcNow),
        dropped => Missing(dropped).Write(_options.LogFormat, DateTime.UtcNow));

    private byte[] Syslog(LogLine line) =>
        line.WriteSyslog(_options.SyslogFacility, _options.SyslogIdent, DateTime.Now);

    private static LogLine Missing(long dropped) => new(LogLevel.Warning, "Log",
        $"{dropped} lines are missing here: they came faster than the log takes them", null);

    private sealed class Logger(LineLogging lines, string part) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel level) => lines.IsEnabled(level);

        public void Log<TState>(LogLevel level, EventId id, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            if (lines.IsEnabled(level)) lines.Add(new LogLine(level, part, formatter(state, exception), exception));
        }
    }
}
