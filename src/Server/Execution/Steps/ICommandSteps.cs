namespace Kv.Server.Execution;

/// <summary>The rest of a long command: it works in steps of at most about 1,024 keys, and other sessions have turns
/// between them.</summary>
/// <remarks>
/// The arguments are gone by then: copy what is needed. What a step found in the store is void in the next one. The
/// reply may be written piece by piece or all at the end; it must be complete when <see cref="Step"/> returns true.
/// Steps that hold memory are disposable: they are disposed when the client is gone or a step throws, from whatever
/// thread ends the session.
/// </remarks>
internal interface ICommandSteps
{
    /// <summary>Whether it holds keys or an epoch. Then it is done whether its client reads or not, and writes nothing
    /// to the client until it has let go.</summary>
    /// <remarks>
    /// What holds something in the meantime holds up others, who never waited for that client. The runner checks
    /// that nothing is written, the transports go on with it though the client's output is paused
    /// (<see cref="Sessions.Session.GoesOn"/>).
    /// </remarks>
    bool Holds { get; }

    /// <summary>Whether its next step does nothing with keys while somebody else stands alone in the store.</summary>
    bool GoesOnInPause => false;

    /// <summary>Does one piece of the work.</summary>
    /// <returns>True when the command is done and its reply written.</returns>
    bool Step(ref CommandContext context);
}
