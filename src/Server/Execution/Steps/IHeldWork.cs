using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What a command does with what it holds: an operation of the store, and how it is answered. One body,
/// whether it runs in the command's turn, in steps, or for a client that has waited.</summary>
internal interface IHeldWork
{
    /// <summary>What the elements of the reply come after.</summary>
    ReplyHead Head { get; }

    /// <summary>Elements of the reply, or the number that it is. Before the end below 0 where it is not known
    /// yet.</summary>
    long Count { get; }

    /// <summary>Whether it changes the value before its last piece: then, once it has begun, all of it is done, whoever
    /// has left.</summary>
    static virtual bool Changes => false;

    /// <summary>Whether nothing may come of it: then it has a <see cref="Status"/>.</summary>
    static virtual bool MayFail => false;

    /// <summary>Why nothing came of it; right at the end.</summary>
    StoreStatus Status => StoreStatus.Ok;

    /// <summary>Before it goes on in later turns: copies what it needs of the command's arguments.</summary>
    void Keep()
    {
    }

    /// <summary>Whether it owns something between its pieces, once it is kept: then it is disposed at their end, or
    /// when they cannot begin. Done in one piece, it leaves nothing.</summary>
    static virtual bool Owns => false;

    /// <summary>Gives back what it owns.</summary>
    void Dispose()
    {
    }
}

/// <summary>With one value, as much as shows only when it is done.</summary>
internal interface IOpenWork : IHeldWork
{
    /// <summary>Does a piece.</summary>
    /// <param name="value">The same one each time; nobody else sees or changes it in between.</param>
    /// <param name="reply">Takes the elements.</param>
    /// <param name="budget">Of this piece.</param>
    /// <returns>True when everything is done. Each piece gets on.</returns>
    bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget;
}

/// <summary>With one value, of which it is known how much there is to do.</summary>
internal interface IValueWork : IOpenWork
{
    /// <summary>Whether it is too much for one turn.</summary>
    bool IsLong(HeldValue value);
}

/// <summary>With the values of several keys. It owns something from the start: whoever is given one to run disposes
/// it.</summary>
internal interface IKeysWork : IHeldWork
{
    /// <summary>Whether it is too much for one turn.</summary>
    bool IsLong(in HeldKeys held);

    /// <inheritdoc cref="IOpenWork.Run"/>
    bool Run<TReply, TBudget>(in HeldKeys held, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget;
}
