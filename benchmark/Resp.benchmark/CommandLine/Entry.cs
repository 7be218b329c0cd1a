namespace RespBenchmark.CommandLine;

/// <summary>Reads the grammar of a command line and runs it.</summary>
internal static class Entry
{
    /// <returns>The exit code.</returns>
    public static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        ArgumentNullException.ThrowIfNull(output);
        errors.WriteLine($"cannot read {string.Join(' ', arguments)}");
        return ExitCode.Usage;
    }
}
