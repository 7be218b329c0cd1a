using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command may do in its own turn before the rest is left to steps: some thousands of elements, or a
/// whole piece.</summary>
internal struct TurnBudget() : IStepBudget
{
    private long _left = StepBudget.OneTurnMax;

    public static bool IsBounded => true;

    public bool TryTake(long count) =>
        (_left -= count == IStepBudget.WholePiece ? StepBudget.OneTurnMax : count) >= 0;
}
