using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command does with each of its arguments about one collection; for
/// <see cref="ArgumentSteps{TUse}"/>.</summary>
internal interface IArgumentUse
{
    /// <summary>So many arguments belong together.</summary>
    static abstract int Stride { get; }

    /// <summary>Whether the value is changed.</summary>
    static abstract bool Changes { get; }

    ReplyHead Head { get; }

    /// <summary>Does what there is to do with one.</summary>
    /// <param name="arguments">One, or as many as belong together.</param>
    /// <param name="reply">Takes what is answered of it.</param>
    /// <param name="count">The number of the reply, or of its elements.</param>
    /// <returns>Not Ok: nothing has been changed by any of them; it is the answer.</returns>
    StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count);

    /// <summary>Behind all of them, where the value is changed.</summary>
    void Settle(HeldValue value);
}
