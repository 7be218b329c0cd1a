using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Network;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>One run of the program: start, banner, signals, orderly end.</summary>
internal sealed class ServerProgram(ParsedOptions parsed)
{
    // A large collection has up to three; Linux' own default is 65,530.
    private const long MappingsWanted = 16384;

    /// <summary>SIGXFSZ of Linux, for which .NET has no name.</summary>
    private const int FileSizeExceeded = 25;

    private const string LogName = "Kv.Server.Server";

    private readonly ServerOptions _options = parsed.Options!;
    private int _signals;

    /// <returns>The exit code: 0 after an orderly end, 1 when the server could not start or was told twice to
    /// end.</returns>
    public Task<int> RunAsync()
    {
        LineLogging log;
        try
        {
            log = new LineLogging(_options);
        }
        catch (Exception exception) when (IsOfFile(exception))
        {
            string reason = $"Can't open the log file {_options.LogFile}: {exception.Message}";
            _options.LogFile = "";
            using var others = new LineLogging(_options);
            return Task.FromResult(Fail(others.CreateLogger(LogName), reason));
        }

        return RunAsync(log);
    }

    private async Task<int> RunAsync(LineLogging log)
    {
        using var ofRun = log;
        var server = log.CreateLogger(LogName);
        var ending = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var term = PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal => OnSignal(signal, ending));
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, signal => OnSignal(signal, ending));
        using var supervisor = new Supervisor(_options, server);
        using var crashes = new CrashReporter(_options, log);
        KvServer? reloaded = null;
        // Volatile: written when the server serves.
        var reloads = new Reloads(() => Reload(log, server, supervisor, Volatile.Read(ref reloaded)));
        // The system's way of saying that a file is as large as it may be (ulimit -f): the write fails besides, and
        // that is answered, as on a full disk. It would end the process.
        using var fileSize = OperatingSystem.IsLinux()
            ? PosixSignalRegistration.Create((PosixSignal)FileSizeExceeded, signal => signal.Cancel = true) : null;
        using var hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, signal =>
        {
            signal.Cancel = true;
            if (!ending.Task.IsCompleted) reloads.Ask();
        });

        Announce(log, server);
        KvServer kv;
        try
        {
            _options.OwnsProcess = _options.LoadsAtStart = true;
            _options.ListeningSockets = InheritedSockets.Take();
            kv = await KvServer.StartAsync(_options, log);
        }
        catch (ListenException exception)
        {
            return Fail(server, exception.Message + (exception.AddressInUse
                ? $"{PortOwner.Describe(exception.Port)} (start with --port 0 to take any free port)" : ""));
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            return Fail(server, exception.Message);
        }
        catch (ArgumentException exception)
        {
            return Fail(server, exception.Message.Split(" (Parameter '")[0]);       // users, or names of commands
        }

        await using (kv)
        {
            log.Follow(kv.Options);
            crashes.Follow(kv);
            try
            {
                WritePidFile();
            }
            catch (Exception exception) when (IsOfFile(exception))
            {
                return Fail(server, $"Can't write the pid file {_options.PidFile}: {exception.Message}");
            }

            AnnounceReady(kv, log, server);
            Volatile.Write(ref reloaded, kv);
            supervisor.Ready(kv);
            await Task.WhenAny(ending.Task, kv.StopRequested);
            supervisor.Stopping();
            server.LogInformation("Ending: answering what was received, then closing {Clients} connections",
                kv.Clients);
            await kv.StopAsync();
            if (!kv.EndedInOrder)
            {
                DeletePidFile(server);
                return 1;
            }
        }

        DeletePidFile(server);
        server.LogInformation("Ended in order");
        return 0;
    }

    /// <summary>SIGHUP: opens the log file anew, and reads what the server has from files.</summary>
    private void Reload(LineLogging log, ILogger server, Supervisor supervisor, KvServer? kv)
    {
        if (kv != null) supervisor.Reloading();
        try
        {
            log.Reopen();
        }
        catch (Exception exception) when (IsOfFile(exception))
        {
            server.LogError("The log file {File} cannot be opened anew, the log goes on in the old one: {Message}",
                _options.LogFile, exception.Message);
        }

        if (kv == null) return;
        try
        {
            server.LogInformation("SIGHUP: {What}", kv.Reload() ? "read again what is in files"
                : "not all that is in files could be read; what could not is as it was");
        }
        catch (Exception exception)
        {
            // SIGHUP never ends a server.
            server.LogError(exception, "SIGHUP: what is in files could not be read");
        }

        supervisor.Reloaded(kv);
    }

    private void OnSignal(PosixSignalContext signal, TaskCompletionSource ending)
    {
        signal.Cancel = true;
        if (Interlocked.Increment(ref _signals) > 1) Environment.Exit(1);
        ending.TrySetResult();
    }

    private void Announce(LineLogging log, ILogger server)
    {
        int cores = Environment.ProcessorCount;
        server.LogInformation(
            "Kv {Version} (redis {Redis}), RESP2 and RESP3, .NET {Runtime}, {Cores} {Unit}, pid {Pid}",
            ServerVersion.KvVersion, ServerVersion.RedisVersion, Environment.Version, cores,
            cores == 1 ? "core" : "cores", Environment.ProcessId);
        foreach (string warning in parsed.Warnings) server.LogWarning("{Warning}", warning);
        var memory = log.CreateLogger("Kv.Server.Memory");
        long machine = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes, mappings = SystemMemory.Read().SystemMappingsMax;
        if (mappings < MappingsWanted)
            memory.LogWarning(
                "vm.max_map_count is {Limit}: with many large collections, memory is refused before the limit is "
                + "reached. Set it to {Wanted}", mappings, MappingsWanted);
        if (_options.MaxMemory > 0)
        {
            memory.LogInformation("maxmemory {Limit}, {Percent}% of the machine's or cgroup's {Machine}, {Policy}",
                Size(_options.MaxMemory),
                100 * _options.MaxMemory / Math.Max(machine, 1), Size(machine), _options.Read("maxmemory-policy"));
        }
        else
        {
            memory.LogWarning(
                "no maxmemory is set; the machine or cgroup has {Machine}, and a cache that fills it is killed. Set "
                + "--maxmemory", Size(machine));
        }
    }

    private void AnnounceReady(KvServer kv, LineLogging log, ILogger server)
    {
        var endpoints = kv.Endpoints.Select(endpoint => endpoint is IPEndPoint { Port: var port }
            ? $"{(port == kv.Options.Tls.Port ? "tls" : "tcp")} {endpoint}" : $"unix {endpoint}");
        log.CreateLogger("Kv.Server.Network")
            .LogInformation("{Endpoints}; {Mode}; {Workers} {Transport} workers", string.Join(", ", endpoints),
            kv.IsProtected ? "protected mode, loopback only (open with --requirepass and --bind)"
                : "open to all that reach it",
            kv.Workers, kv.Transport);
        int first = kv.Endpoints.OfType<IPEndPoint>().FirstOrDefault()?.Port ?? 0;
        var sinceStart = DateTime.UtcNow - Process.GetCurrentProcess().StartTime.ToUniversalTime();
        server.LogInformation("Ready to accept connections on port {Port}, {Milliseconds} ms after start", first,
            (long)sinceStart.TotalMilliseconds);
    }

    private void WritePidFile()
    {
        if (_options.PidFile.Length > 0)
            File.WriteAllText(_options.PidFile, Environment.ProcessId.ToString(CultureInfo.InvariantCulture) + "\n");
    }

    private void DeletePidFile(ILogger log)
    {
        try
        {
            if (_options.PidFile.Length > 0) File.Delete(_options.PidFile);
        }
        catch (Exception exception) when (IsOfFile(exception))
        {
            log.LogWarning("Can't delete the pid file {File}: {Message}", _options.PidFile, exception.Message);
        }
    }

    /// <summary>Why the server does not start: a line for whoever started it, and one in the log, unless that is read
    /// by the same people.</summary>
    private int Fail(ILogger server, string reason)
    {
        if (_options.LogFile.Length > 0 || _options.SyslogEnabled) server.LogCritical("{Reason}", reason);
        Console.Error.WriteLine(reason);
        return 1;
    }

    /// <summary>What a path that is wrong, forbidden or taken throws.</summary>
    private static bool IsOfFile(Exception exception) =>
        exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException;

    private static string Size(long bytes) => bytes switch
    {
        >= 1L << 30 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 30):0.0}gb"),
        >= 1L << 20 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 20):0.0}mb"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1024.0:0.0}kb"),
    };
}
