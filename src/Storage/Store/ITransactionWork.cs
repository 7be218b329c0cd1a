namespace Kv.Storage;

/// <summary>What may be done once all keys of a transaction are locked.</summary>
internal enum TransactionStart : byte
{
    Run,

    /// <summary>A watched key has changed: nothing is run.</summary>
    Changed,

    /// <summary>Databases are being flushed or swapped in this very moment: lock the keys once more.</summary>
    Again,
}

/// <summary>A transaction of very many commands or keys, for a <see cref="TransactionHold"/>.</summary>
/// <remarks>Threads: any, one at a time. The keys stay where they are until the transaction has ended.</remarks>
internal interface ITransactionWork : IHeldUse
{
    /// <summary>The most keys that the work may need.</summary>
    int KeysMax { get; }

    /// <summary>Adds the keys of some commands.</summary>
    /// <returns>True when all were added.</returns>
    bool FindKeys(KeyOrder keys);

    /// <summary>Begins to find them anew.</summary>
    void FindAgain();

    /// <summary>The numbers of the databases that the keys are in.</summary>
    IReadOnlyCollection<int> Databases { get; }

    /// <summary>Whether <see cref="FindKeys"/> has met what cannot be done in steps: the hold ends, nothing was
    /// locked.</summary>
    bool IsRefused { get; }

    /// <summary>All keys are locked, in the databases of a table.</summary>
    TransactionStart Start(Database?[] table);
}
