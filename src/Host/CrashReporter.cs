using System.Globalization;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Reports;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>When an exception ends the process, writes what is known to the log and to a file in dir before the
/// end.</summary>
/// <remarks>
/// What needs nothing but the exception is written first, and what has to ask a server in an unknown state by a thread
/// that is waited for for two seconds: nothing here keeps the process from its end. The runtime ends it with SIGABRT,
/// exit code 134.
/// </remarks>
internal sealed class CrashReporter : IDisposable
{
    private const int StateMs = 2000, OtherCrashMs = 10_000;

    private readonly LineLogging _log;
    private ServerOptions _options;
    private KvServer? _server;
    private int _begun;

    public CrashReporter(ServerOptions options, LineLogging log)
    {
        (_options, _log) = (options, log);
        AppDomain.CurrentDomain.UnhandledException += OnException;
    }

    /// <summary>Tells of this server from now on.</summary>
    public void Follow(KvServer server)
    {
        _options = server.Options;
        // Volatile: any thread may end the process.
        Volatile.Write(ref _server, server);
    }

    public void Dispose() => AppDomain.CurrentDomain.UnhandledException -= OnException;

    private void OnException(object sender, UnhandledExceptionEventArgs args)
    {
        if (!_options.CrashLogEnabled) return;
        if (Interlocked.Exchange(ref _begun, 1) != 0)
        {
            Thread.Sleep(OtherCrashMs);     // returning would end the process in the middle of the first one's report
            return;
        }

        var now = DateTimeOffset.UtcNow;
        var log = _log.CreateLogger("Kv.Server.Crash");
        using var file = TryCreateFile(now, log);
        Write(CrashReport.OfException(_options, args.ExceptionObject, now), log, file);
        if (Volatile.Read(ref _server) is { } server)
        {
            string? state = null;
            var thread = new Thread(() => Volatile.Write(ref state, CrashReport.OfServer(server)))
            {
                IsBackground = true,
            };
            thread.Start();
            thread.Join(StateMs);
            Write(Volatile.Read(ref state) ?? "The server's state could not be read: a lock is held", log, file);
        }

        if (file != null) log.LogCritical("This report is in {File}", file.Name);
        TryDelete(_options.PidFile);
        _log.Dispose();
    }

    private static void Write(string text, ILogger log, FileStream? file)
    {
        foreach (string line in text.TrimEnd('\n').Split('\n')) log.LogCritical("{Line}", line);
        try
        {
            file?.Write(System.Text.Encoding.UTF8.GetBytes(text.TrimEnd('\n') + "\n"));
            file?.Flush(flushToDisk: true);
        }
        catch (IOException exception)
        {
            log.LogCritical("The report cannot be written to its file: {Message}", exception.Message);
        }
    }

    private FileStream? TryCreateFile(DateTimeOffset now, ILogger log)
    {
        string path = Path.Combine(Path.GetFullPath(_options.Dir), string.Create(CultureInfo.InvariantCulture,
            $"kv-crash-{Environment.ProcessId}-{now:yyyyMMddTHHmmssZ}.txt"));
        try
        {
            var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
            if (!OperatingSystem.IsWindows())
                options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            return new FileStream(path, options);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            log.LogCritical("No file {File} for a report of the crash: {Message}", path, exception.Message);
            return null;
        }
    }

    private static void TryDelete(string path)
    {
        try
        {
            if (path.Length > 0) File.Delete(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The process ends all the same.
        }
    }
}
