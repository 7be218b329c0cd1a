using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command adds with each of its arguments; for <see cref="AdditionSteps{TAdd}"/>.</summary>
internal interface IArgumentAddition : IArgumentUse
{
    /// <summary>Of the value.</summary>
    static abstract DataType Type { get; }

    /// <summary>Reads what belongs together, and sums up what it takes. A bad one is the arguments' error, and nothing
    /// is added.</summary>
    void Read(ref CommandArguments arguments);

    /// <summary>When all are read: what a new key's record needs; -1: none is made, and the reply is 0.</summary>
    int ExpectedBytes(PackedLimits limits);
}
