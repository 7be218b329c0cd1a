namespace Kv.Storage;

/// <summary>What became of adding to a stream. The first numbers are those of <see cref="StoreStatus"/>.</summary>
public enum StreamAddStatus : byte
{
    /// <summary>Done.</summary>
    Ok = StoreStatus.Ok,

    /// <summary>The key holds another type. Nothing was changed.</summary>
    WrongType = StoreStatus.WrongType,

    /// <summary>The system refused the memory. Nothing was changed.</summary>
    OutOfMemory = StoreStatus.OutOfMemory,

    /// <summary>The key, a field or a value is over 512 MB, or the entry over 1 GB. Nothing was changed.</summary>
    TooLarge = StoreStatus.TooLarge,

    /// <summary>The id is not above the last one of the stream (or 0-0), or none is left above that. Nothing was
    /// changed.</summary>
    NotAboveLast = 100,
}
