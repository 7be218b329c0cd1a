namespace Kv.Storage;

/// <summary>What became of adding to a number. The first numbers are those of <see cref="StoreStatus"/>.</summary>
public enum IncrementStatus : byte
{
    /// <summary>Done.</summary>
    Ok = StoreStatus.Ok,

    /// <summary>The key holds another type. Nothing was changed.</summary>
    WrongType = StoreStatus.WrongType,

    /// <summary>The system refused the memory. Nothing was changed.</summary>
    OutOfMemory = StoreStatus.OutOfMemory,

    /// <summary>Key or element is larger than the store can hold (512 MB). Nothing was changed.</summary>
    TooLarge = StoreStatus.TooLarge,

    /// <summary>What is there is no number, or the sum would be none. Nothing was changed.</summary>
    NotANumber = 100,

    /// <summary>The sum would be out of the range of 64 bits. Nothing was changed.</summary>
    Overflow = 101,
}
