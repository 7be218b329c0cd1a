using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command adds to one collection with each of its arguments; for
/// <see cref="AdditionSteps{TAdd}"/>.</summary>
internal interface IArgumentAddition
{
    /// <summary>So many arguments belong together.</summary>
    static abstract int Stride { get; }

    /// <summary>Of the value.</summary>
    static abstract DataType Type { get; }

    ReplyHead Head { get; }

    /// <summary>Reads what belongs together, and sums up what it takes. A bad one is the arguments' error, and nothing
    /// is added.</summary>
    void Read(ref CommandArguments arguments);

    /// <summary>When all are read: what a new key's record needs; <see cref="HeldKey.OnlyIfThere"/>: none is made, and
    /// the reply is 0.</summary>
    int ExpectedBytes(PackedLimits limits);

    /// <summary>Adds what belongs together; before the first, makes room for all.</summary>
    /// <param name="reply">Takes what is answered of it.</param>
    /// <param name="count">The number of the reply, or of its elements.</param>
    /// <returns>Not Ok: nothing has been changed by any of them; it is the answer.</returns>
    StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count);

    /// <summary>After all of them.</summary>
    void Settle(HeldValue value);
}
