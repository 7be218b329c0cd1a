namespace Kv.Tests.Harness;

/// <summary>Runs the body of a test in a process of its own, for what counts or changes something of the whole
/// process.</summary>
/// <remarks>
/// Resident memory, processor time, descriptors, threads, mappings, the collector's counters and the limits of the
/// thread pool belong to the process: beside other tests they say nothing, and after other tests little, since those
/// leave memory behind. A test that begins with <c>if (OwnProcess.Ran()) return;</c> runs what follows only in a child:
/// the test program again, told by a variable which test it is to run. The child's failure, its skip and its output are
/// those of the test.
/// </remarks>
public static class OwnProcess
{
    private const string Variable = "KV_OWN_PROCESS";

    /// <summary>What a child writes before its test begins: without it nothing was tested, whatever the exit code
    /// says.</summary>
    private const string Begun = "In a process of its own: ";

    /// <summary>Whether this process is such a child.</summary>
    public static bool IsHere => Environment.GetEnvironmentVariable(Variable) != null;

    /// <summary>True when the caller has nothing left to do: the test ran in a child and succeeded.</summary>
    public static bool Ran()
    {
        var context = TestContext.Current;
        string test = context.Test!.TestDisplayName;
        if (Environment.GetEnvironmentVariable(Variable) is { } wanted)
        {
            // The child is given a method: of a theory it runs one row.
            if (wanted != test) return true;
            Console.Out.WriteLine(Begun + test);
            return false;
        }

        string method = $"{context.TestClass!.TestClassName}.{context.TestMethod!.MethodName}";
        string program = Path.Combine(AppContext.BaseDirectory,
            "Kv.Tests" + (OperatingSystem.IsWindows() ? ".exe" : ""));
        var run = ChildProcess.Run(program, ["-method", method, "-parallel", "none", "-noColor", "-showLiveOutput"],
            timeoutMs: (int)Math.Min(int.MaxValue, 600_000 * TimeBudget.Scale), variable: (Variable, test));
        context.TestOutputHelper!.WriteLine(run.Output);
        if (run.ExitCode != 0)
            Assert.Fail($"in a process of its own: exit code {run.ExitCode}\n{run.Output}\n{run.Errors}");
        Assert.Contains(Begun + test, run.Output, StringComparison.Ordinal);
        if (Skipped(run.Output, test) is { } reason) Assert.Skip(reason);
        return true;
    }

    private static string? Skipped(string output, string test)
    {
        string[] lines = output.Split('\n');
        int at = Array.FindIndex(lines, line => line.Contains(test + " [SKIP]", StringComparison.Ordinal));
        return at < 0 ? null : lines.Skip(at + 1).FirstOrDefault()?.Trim() ?? "in a process of its own";
    }
}
