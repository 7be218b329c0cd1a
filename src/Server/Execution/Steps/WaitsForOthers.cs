namespace Kv.Server.Execution;

/// <summary>A command that is done while all others stand still, and could not stop them in its first turn.</summary>
/// <remarks>
/// Two clients that want this at once wait for each other's turns to end: so each ends its turn and asks anew in the
/// next one.
/// </remarks>
internal sealed class WaitsForOthers(OtherClients.Work work) : ICommandSteps
{
    public bool Holds => false;

    // Each step ends its turn: whoever has the others stopped, or is in a long turn, goes on meanwhile.
    public bool Step(ref CommandContext context) => OtherClients.TryRun(ref context, work);
}
