using System.ComponentModel;
using System.Diagnostics;
using RespBenchmark.CommandLine;
using RespBenchmark.Network;

namespace RespBenchmark.Native;

/// <summary>A server that we started, and stop by its process: never by name.</summary>
internal sealed class StartedServer : IDisposable
{
    private static readonly TimeSpan StartMax = TimeSpan.FromSeconds(30), StopMax = TimeSpan.FromSeconds(15);

    private readonly Process _process;

    private StartedServer(Process process) => _process = process;

    public int ProcessId => _process.Id;

    /// <summary>Starts it and waits until it answers PING.</summary>
    /// <param name="cores">Where it may run, as taskset takes it; null: anywhere.</param>
    /// <exception cref="UsageException">It cannot be started, or does not answer within 30 s.</exception>
    public static StartedServer Start(string command, Target target, string? cores)
    {
        string[] words = [.. cores is null ? [] : (string[])["taskset", "-c", cores], .. Words(command)];
        var start = new ProcessStartInfo(words[0], words.Skip(1)) { RedirectStandardOutput = true,
            RedirectStandardError = true, RedirectStandardInput = true };
        Process process;
        try
        {
            process = Process.Start(start) ?? throw new UsageException($"--start: '{command}' did not start");
        }
        catch (Win32Exception failure)
        {
            throw new UsageException($"--start: {words[0]}: {failure.Message}");
        }

        // What it prints is not ours to show, but must be taken off the pipe.
        process.OutputDataReceived += static (_, _) => { };
        process.ErrorDataReceived += static (_, _) => { };
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        var server = new StartedServer(process);
        try
        {
            server.WaitUntilReady(command, target);
            return server;
        }
        catch
        {
            server.Dispose();
            throw;
        }
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            using Process? asked = Process.Start("kill", ["-TERM", _process.Id.ToString()]);
            asked?.WaitForExit();
            if (!_process.WaitForExit(StopMax)) _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }

    private void WaitUntilReady(string command, Target target)
    {
        long begun = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(begun) < StartMax)      // ends: it answers, it is gone, or the time is over
        {
            if (_process.HasExited)
                throw new UsageException($"--start: '{command}' ended with code {_process.ExitCode}");
            try
            {
                using ControlConnection control = ControlConnection.Open(target, TimeSpan.FromSeconds(1));
                if (control.TryText("PING") is not null) return;
            }
            catch (Exception failure) when (failure is ConnectException or TargetException)
            {
                // Not yet.
            }

            _process.WaitForExit(20);
        }

        throw new UsageException($"--start: '{command}' does not answer at {target.Address}");
    }

    /// <summary>Splits at blanks outside of quotes.</summary>
    private static IEnumerable<string> Words(string command)
    {
        var words = new List<string>();
        string? word = null;
        char quote = '\0';
        foreach (char c in command)
        {
            if (quote != '\0')
            {
                if (c == quote) quote = '\0';
                else word += c;
            }
            else if (c is '"' or '\'') (quote, word) = (c, word ?? "");
            else if (char.IsWhiteSpace(c))
            {
                if (word is not null) words.Add(word);
                word = null;
            }
            else word += c;
        }

        if (word is not null) words.Add(word);
        return words.Count > 0 && quote == '\0'
            ? words : throw new UsageException($"--start: '{command}' is no command line");
    }
}
