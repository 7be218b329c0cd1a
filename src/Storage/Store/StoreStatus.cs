namespace Kv.Storage;

/// <summary>What became of an operation on the store. Only these outcomes are expected; anything else throws.</summary>
public enum StoreStatus : byte
{
    /// <summary>Done.</summary>
    Ok = 0,

    /// <summary>No such key, or its time has passed. Nothing was changed.</summary>
    NotFound,

    /// <summary>The key holds another type than asked for. Nothing was changed.</summary>
    WrongType,

    /// <summary>The system or the budget refused the memory. Nothing was changed.</summary>
    OutOfMemory,

    /// <summary>Key or value is larger than the store can hold (512 MB). Nothing was changed.</summary>
    TooLarge,
}
