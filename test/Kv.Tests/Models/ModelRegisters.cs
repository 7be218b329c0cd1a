namespace Kv.Tests.Models;

/// <summary>Where a thread of the model is: what its next step does.</summary>
internal enum Pc : byte
{
    Begin,

    // Searching: which bucket is home, its entries, its chain, and whether a miss counts. Or latching it: last of
    // these.
    FarHome, NearHome, Match, Reload, Next, Validate, Spin, Latch,

    // Splitting under the latch.
    FillFar, PublishFar, FillNear, Unsplit,

    // Merging under the latches of both.
    LatchFar, FillWhole, PublishWhole, ClearFar, UnlatchWhole,

    // Changing an entry under the latch.
    Scan, LinkChain, WriteEntry, UnlatchInserted, WriteReplaced, UnlatchReplaced, WriteRemoved, Shorten, UnlatchRemoved,

    // At a record.
    ReadWord, ReadLow, ReadHigh, Recheck, TryLock, Kill, UnlockCopy, WriteLow, WriteHigh, UnlockWritten,
    Hint, HeldWrite, LetGo, ManyCheck, EarlyUnlock,
}

/// <summary>What the latch is wanted for; for nothing where a key is only searched.</summary>
internal enum For : byte
{
    Nothing,
    Insert,
    Replace,
    Remove,
    Sweep,
    Merge,
}

/// <summary>Which of a thread's 32 bytes is what.</summary>
internal static class ModelRegisters
{
    /// <summary>The call that runs, where in it the thread is, and what it wants the latch for.</summary>
    public const int CallAt = 0, PcAt = 1, ForAt = 2;

    /// <summary>Of a search: the home bucket and its control as seen, bucket and lane looked at, lanes that match, next
    /// of the chain.</summary>
    public const int HomeAt = 3, ControlAt = 4, BucketAt = 5, LaneAt = 6, MaskAt = 7, LinkAt = 8;

    /// <summary>The record found, the one that the call makes, and what was seen of a value.</summary>
    public const int RecordAt = 9, MineAt = 10, LowAt = 11, FlagsAt = 12, VersionAt = 13;

    /// <summary>Of a call on two keys: which one it is at; of each the record held and the value it had.</summary>
    public const int KeyAt = 14, HeldAt = 15, OldAt = 17;

    /// <summary>Of a split: what stays in the near bucket, and its chain; what the far one's control will be. Of a
    /// merge: what comes to the near bucket, and its chain.</summary>
    public const int NearAt = 19, NearChainAt = 21, FarControlAt = 27;

    /// <summary>What the look-ahead found; 255 for nothing.</summary>
    public const int HintAt = 22;

    /// <summary>Of a read of two keys: the record or the home bucket of a miss, and its word or control as
    /// seen.</summary>
    public const int SeenAt = 23, SeenWordAt = 25;

    /// <summary>Bucket and lane that an insert takes; the key that the look-ahead searches.</summary>
    public const int FreeAt = 28, SearchingAt = 30;
}
