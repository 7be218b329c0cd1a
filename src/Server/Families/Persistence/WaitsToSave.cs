using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>A BGSAVE that could not stop all others in its first turn, since a script holds keys, or somebody is in a
/// long turn: it asks anew in each turn. Those others go on in between, so that nobody waits for the script's
/// end.</summary>
internal sealed class WaitsToSave(bool schedules) : ICommandSteps
{
    public bool Holds => false;

    public bool Step(ref CommandContext context) => SnapshotCommands.TryBgSave(ref context, schedules);
}
