using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command does with each of its arguments about one collection; for
/// <see cref="ArgumentWork{TUse}"/>.</summary>
internal interface IArgumentUse
{
    /// <summary>Whether the value is changed: then the reply is how many were found, else an array of what
    /// was.</summary>
    static abstract bool Changes { get; }

    /// <summary>Does what there is to do with one.</summary>
    /// <returns>Whether it was found.</returns>
    static abstract bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
        where TReply : struct, IReplyTarget;

    /// <summary>After all of them, where the value is changed.</summary>
    static virtual void Settle(HeldValue value)
    {
    }
}
