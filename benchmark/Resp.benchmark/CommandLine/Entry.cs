namespace RespBenchmark.CommandLine;

/// <summary>Reads the grammar of a command line and runs it.</summary>
internal static class Entry
{
    /// <returns>The exit code.</returns>
    public static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments.Length > 0 && Native.Verbs.IsVerb(arguments[0]))
        {
            using var stop = new CancellationTokenSource();
            using var interrupt = System.Runtime.InteropServices.PosixSignalRegistration.Create(
                System.Runtime.InteropServices.PosixSignal.SIGINT, signal => { signal.Cancel = true; stop.Cancel(); });
            using var terminate = System.Runtime.InteropServices.PosixSignalRegistration.Create(
                System.Runtime.InteropServices.PosixSignal.SIGTERM, signal => { signal.Cancel = true; stop.Cancel(); });
            return Native.Verbs.Run(arguments, output, errors, stop.Token);
        }

        errors.WriteLine($"cannot read {string.Join(' ', arguments)}");
        return ExitCode.Usage;
    }
}
