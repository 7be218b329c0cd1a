namespace Kv.Server.Execution;

/// <summary>What <see cref="CommandChecks"/> decide of a command.</summary>
internal enum CheckResult
{
    /// <summary>It may run.</summary>
    Runs,

    /// <summary>An error was written.</summary>
    Refused,

    /// <summary>It is kept, and its session parked: nothing was written.</summary>
    Waits,
}
