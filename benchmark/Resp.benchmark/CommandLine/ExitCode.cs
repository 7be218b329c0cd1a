namespace RespBenchmark.CommandLine;

/// <summary>What the program ends with.</summary>
internal static class ExitCode
{
    public const int Ok = 0, RunError = 1, Usage = 2, Saturated = 3, GateFailed = 4, VerificationFailed = 5;
}
