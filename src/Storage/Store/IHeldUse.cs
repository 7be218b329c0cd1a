namespace Kv.Storage;

/// <summary>What one command does with large collections, in steps.</summary>
/// <remarks>Threads: any, one at a time, each sees what the one before it did.</remarks>
internal interface IHeldUse : ISessionUser
{
    /// <summary>Whether something was changed: then all of it is done, also when the one who asked for it has
    /// left.</summary>
    bool HasChanged { get; }

    /// <summary>Whether whoever needs one of the keys ends it, instead of doing the rest: it is for nobody in
    /// particular.</summary>
    bool MayBeGivenUp => false;

    /// <summary>Whether it has taken so long that those who need one of the keys are told so
    /// (<see cref="StoreBusyException"/>) instead of doing the rest. From any thread.</summary>
    bool TakesLong => false;

    /// <summary>Before the first piece, and before anybody else can do one: whose session it is that the work is done
    /// on.</summary>
    void Begin(StoreSession session)
    {
    }

    /// <summary>Does a piece: some 200 us.</summary>
    /// <param name="held">The keys; nobody else sees or changes them from the first step to the last.</param>
    /// <returns>True when everything is done.</returns>
    bool Use(in HeldKeys held);
}
