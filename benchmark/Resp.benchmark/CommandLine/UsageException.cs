namespace RespBenchmark.CommandLine;

/// <summary>A command line that cannot be run; the message names the option, its value and the remedy.</summary>
internal sealed class UsageException(string message, int exitCode = ExitCode.Usage) : Exception(message)
{
    public int ExitCode { get; } = exitCode;
}
