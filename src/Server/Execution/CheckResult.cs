namespace Kv.Server.Execution;

/// <summary>What <see cref="CommandChecks"/> decide of a command.</summary>
internal enum CheckResult
{
    /// <summary>It may run.</summary>
    Runs,

    /// <summary>It was answered with an error.</summary>
    Refused,

    /// <summary>It is kept, and its session parked: there is nothing to answer yet.</summary>
    Waits,
}
