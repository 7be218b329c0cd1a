using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Kv.Tests.Harness;

/// <summary>A server that runs as a program of its own, from its "Ready to accept connections" to its end.</summary>
public abstract class ServerProgram : TestServer
{
    private const int FirstPort = 10_000, Ports = 22_000;

    // Each process begins elsewhere.
    private static int _lastPort = Environment.ProcessId * 1009;

    private readonly StringBuilder _log = new();
    private readonly ManualResetEventSlim _ready = new();

    protected ServerProgram(string file, IEnumerable<string> arguments, IPEndPoint endPoint,
        params (string Name, string Value)[] variables)
    {
        EndPoint = endPoint;
        Process = new Process { StartInfo = ChildProcess.StartInfo(file, arguments) };
        foreach (var (name, value) in variables) Process.StartInfo.Environment[name] = value;
        Process.OutputDataReceived += (_, line) => Take(line.Data);
        Process.ErrorDataReceived += (_, line) => Take(line.Data);
        Process.Start();
        Process.BeginOutputReadLine();
        Process.BeginErrorReadLine();
        AppDomain.CurrentDomain.ProcessExit += KillNow;
    }

    public Process Process { get; }

    public override EndPoint EndPoint { get; }

    /// <summary>Everything it has written so far.</summary>
    public string Log
    {
        get { lock (_log) return _log.ToString(); }
    }

    /// <summary>A port that nobody listens on now, and that the system gives to nobody by itself, be it a client or a
    /// server that takes any: those begin at 32768. Another caller may take it all the same: starting is tried again
    /// then.</summary>
    public static int FreePort()
    {
        // Ends: few of so many ports are taken.
        while (true)
        {
            int port = FirstPort + (int)((uint)Interlocked.Increment(ref _lastPort) % Ports);
            try
            {
                using var listener = new TcpListener(IPAddress.Loopback, port);
                listener.Start();
                return port;
            }
            catch (SocketException)
            {
                // Somebody has it.
            }
        }
    }

    /// <summary>Waits until it accepts; false when it ended before.</summary>
    public bool WaitUntilReady(int timeoutMs = 60_000)
    {
        long begin = Stopwatch.GetTimestamp();
        while (!_ready.Wait(20))
        {
            if (Process.HasExited) return _ready.Wait(200);
            if (Stopwatch.GetElapsedTime(begin).TotalMilliseconds > timeoutMs)
                Assert.Fail($"{Name} was not ready within {timeoutMs} ms; it said:\n{Log}");
        }

        return true;
    }

    /// <summary>Waits for its end and gives the exit code.</summary>
    public int WaitForExit(int timeoutMs = 60_000)
    {
        if (!Process.WaitForExit(timeoutMs)) Assert.Fail($"{Name} did not end within {timeoutMs} ms; it said:\n{Log}");
        Process.WaitForExit();
        return Process.ExitCode;
    }

    public void Signal(string name) => ChildProcess.Run("/bin/kill", ["-s", name, Process.Id.ToString()]);

    /// <summary>Resident memory in bytes, as the kernel counts it.</summary>
    public long ResidentBytes => 1024 * long.Parse(File.ReadLines($"/proc/{Process.Id}/status")
        .First(line => line.StartsWith("VmRSS:", StringComparison.Ordinal))[6..^2]);

    /// <summary>Names of its threads, as the system has them: 15 characters at most.</summary>
    public IEnumerable<string> ThreadNames => Directory.GetDirectories($"/proc/{Process.Id}/task")
        .Select(task => File.ReadAllText(Path.Combine(task, "comm")).TrimEnd());

    public int OpenFiles => Directory.GetFileSystemEntries($"/proc/{Process.Id}/fd").Length;

    public override void Dispose()
    {
        AppDomain.CurrentDomain.ProcessExit -= KillNow;
        KillNow(null, EventArgs.Empty);
        Process.WaitForExit(5000);
        Process.Dispose();
    }

    private void KillNow(object? sender, EventArgs e)
    {
        try
        {
            Process.Kill(entireProcessTree: true);
        }
        catch (InvalidOperationException)
        {
            // It has ended already.
        }
    }

    private void Take(string? line)
    {
        if (line is null) return;
        lock (_log) _log.AppendLine(line);
        if (line.Contains("Ready to accept connections", StringComparison.Ordinal)) _ready.Set();
    }
}
