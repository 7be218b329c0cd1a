using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Kv.Server;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>Tells systemd how the server is, by datagrams to the socket that NOTIFY_SOCKET names.</summary>
/// <remarks>
/// With a watchdog (WATCHDOG_USEC) a thread says at each half of that time that the server lives, if it does: if every
/// worker has come by meanwhile. Threads: any. Nothing is thrown when nobody listens.
/// </remarks>
internal sealed class Supervisor : IDisposable
{
    private const int SendMs = 1000;

    // A unit may name years; a thread cannot wait that long at once.
    private static readonly TimeSpan LongestWait = TimeSpan.FromHours(1);

    private readonly string? _path;
    private readonly ILogger _log;
    private readonly ManualResetEventSlim _ending = new();
    private Thread? _watchdog;

    public Supervisor(ServerOptions options, ILogger log)
    {
        _log = log;
        if (options.Supervised == Supervision.No) return;
        string? path = Environment.GetEnvironmentVariable("NOTIFY_SOCKET");
        if (path is { Length: > 1 } && path[0] is '/' or '@') _path = path;
        else if (options.Supervised == Supervision.Systemd)
            log.LogWarning("supervised systemd, but NOTIFY_SOCKET names no socket: nobody is told of the start");
    }

    /// <summary>The server accepts; the watchdog begins.</summary>
    public void Ready(KvServer server)
    {
        if (_path == null) return;
        Tell(string.Create(CultureInfo.InvariantCulture,
            $"READY=1\nMAINPID={Environment.ProcessId}\nSTATUS={StatusOf(server)}"));
        if (WatchdogTime() is not { } half) return;
        Debug.Assert(_watchdog == null && half > TimeSpan.Zero && half <= LongestWait, "there is one, which can wait");
        _watchdog = new Thread(() => Watch(server, half)) { Name = "kv-watchdog", IsBackground = true };
        _watchdog.Start();
    }

    /// <summary>A reload begins; <see cref="Reloaded"/> says when it is over.</summary>
    public void Reloading() => Tell(string.Create(CultureInfo.InvariantCulture,
        $"RELOADING=1\nMONOTONIC_USEC={(long)Stopwatch.GetElapsedTime(0).TotalMicroseconds}\nSTATUS=Reloading"));

    public void Reloaded(KvServer server) => Tell($"READY=1\nSTATUS={StatusOf(server)}");

    public void Stopping() => Tell("STOPPING=1\nSTATUS=Answering what was received");

    /// <summary>Ends the watchdog.</summary>
    public void Dispose()
    {
        _ending.Set();
        _watchdog?.Join();
        _ending.Dispose();
    }

    private static string StatusOf(KvServer server) => $"Ready to accept connections: {string.Join(", ",
        server.Endpoints)}";

    /// <returns>Half of the time after which systemd gives the server up, or an hour; null when it does not watch this
    /// process.</returns>
    private static TimeSpan? WatchdogTime()
    {
        string? pid = Environment.GetEnvironmentVariable("WATCHDOG_PID");
        bool isOurs = string.IsNullOrEmpty(pid)
            || pid == Environment.ProcessId.ToString(CultureInfo.InvariantCulture);
        return isOurs && long.TryParse(Environment.GetEnvironmentVariable("WATCHDOG_USEC"), NumberStyles.None,
            CultureInfo.InvariantCulture, out long us) && us > 1
            ? TimeSpan.FromMicroseconds(Math.Min(us / 2.0, LongestWait.TotalMicroseconds)) : null;
    }

    private void Watch(KvServer server, TimeSpan half)
    {
        // Ends: when the server begins to stop.
        while (!_ending.Wait(half))
        {
            if (server.IsServing(half)) Tell("WATCHDOG=1");
            else if (!_ending.IsSet)
                _log.LogCritical("A worker has not come by for {Milliseconds} ms: the watchdog is not told that the "
                    + "server lives", (long)half.TotalMilliseconds);
        }
    }

    private void Tell(string words)
    {
        if (_path == null) return;
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
            {
                SendTimeout = SendMs,
            };
            // An at sign stands for the zero that names in no directory begin with.
            socket.SendTo(Encoding.UTF8.GetBytes(words), new UnixDomainSocketEndPoint(
                _path[0] == '@' ? "\0" + _path[1..] : _path));
        }
        catch (Exception exception) when (exception is SocketException or ArgumentException)
        {
            _log.LogWarning("Cannot tell the supervisor at {Socket}: {Message}", _path, exception.Message);
        }
    }
}
