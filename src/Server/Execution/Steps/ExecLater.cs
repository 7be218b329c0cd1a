namespace Kv.Server.Execution;

/// <summary>EXEC, when everybody else has to stand still and could not be stopped in the last turn, when work in steps
/// has one of its keys, or when it was not for steps after all.</summary>
internal sealed class ExecLater : ICommandSteps
{
    public bool Holds => false;

    public bool Step(ref CommandContext context) =>
        !context.Session.AwaitsStill(context.Store) && context.Transactions.TryExecuteAtOnce(ref context);
}
