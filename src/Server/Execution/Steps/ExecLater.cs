namespace Kv.Server.Execution;

/// <summary>EXEC, when everybody else has to stand still and could not be stopped in the last turn, or when it was not
/// for steps after all.</summary>
internal sealed class ExecLater : ICommandSteps
{
    public bool Holds => false;

    public bool Step(ref CommandContext context) => context.Transactions.TryExecuteAtOnce(ref context);
}
