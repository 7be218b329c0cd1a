using System.Diagnostics;
using System.Text;

namespace Kv.Tests.Harness;

/// <summary>What a finished program left behind.</summary>
public sealed record ChildResult(int ExitCode, string Output, string Errors);

/// <summary>Runs a program to its end, bounded in time, feeding its input and taking all its output.</summary>
public static class ChildProcess
{
    public static ChildResult Run(
        string file, IEnumerable<string> arguments, byte[]? input = null, int timeoutMs = 60_000,
        (string Name, string Value)? variable = null)
    {
        using var process = new Process { StartInfo = StartInfo(file, arguments) };
        process.StartInfo.RedirectStandardInput = true;
        if (variable is { } given) process.StartInfo.Environment[given.Name] = given.Value;
        process.Start();
        var output = process.StandardOutput.ReadToEndAsync();
        var errors = process.StandardError.ReadToEndAsync();
        var feeding = Task.Run(() => Feed(process, input));
        if (!process.WaitForExit(timeoutMs))
        {
            process.Kill(entireProcessTree: true);
            Assert.Fail($"{file} {string.Join(' ', arguments)} did not end within {timeoutMs} ms; "
                + $"it said: {(output.Wait(1000) ? output.Result : "?")}");
        }

        feeding.Wait(1000);
        return new ChildResult(process.ExitCode, output.Result, errors.Result);
    }

    internal static ProcessStartInfo StartInfo(string file, IEnumerable<string> arguments)
    {
        var info = new ProcessStartInfo(file)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            StandardOutputEncoding = Encoding.Latin1,
            StandardErrorEncoding = Encoding.Latin1,
        };
        foreach (string argument in arguments) info.ArgumentList.Add(argument);
        return info;
    }

    private static void Feed(Process process, byte[]? input)
    {
        try
        {
            if (input is not null) process.StandardInput.BaseStream.Write(input);
            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // The program ended without reading everything: its exit code says whether that was right.
        }
    }
}
