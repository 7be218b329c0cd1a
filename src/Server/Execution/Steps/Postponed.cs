namespace Kv.Server.Execution;

/// <summary>Stands for a command that EXEC begins anew in a later turn; nobody takes a step of it.</summary>
internal sealed class Postponed : ICommandSteps
{
    public static readonly Postponed Instance = new();

    public bool Holds => false;

    public bool Step(ref CommandContext context) =>
        throw new InvalidOperationException("a postponed command is begun anew");
}
