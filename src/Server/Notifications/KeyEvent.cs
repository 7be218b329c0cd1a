namespace Kv.Server.Notifications;

/// <summary>What subscribers are told to have happened to a key.</summary>
/// <remarks>Names and classes are in <see cref="KeyEventNames"/>, in this order.</remarks>
internal enum KeyEvent : byte
{
    // g
    Del, RenameFrom, RenameTo, MoveFrom, MoveTo, CopyTo, Restore, Expire, Persist,

    // $
    Set, Append, SetRange, IncrBy, IncrByFloat, SetBit, PfAdd,

    // l
    LPush, RPush, LInsert, LSet, LRem, LTrim, LPop, RPop, SortStore,

    // h
    HSet, HDel, HIncrBy, HIncrByFloat, HExpire, HExpired, HPersist,

    // s
    SAdd, SRem, SPop, SInterStore, SUnionStore, SDiffStore,

    // z
    ZAdd, ZIncr, ZRem, ZRemRangeByScore, ZRemRangeByRank, ZRemRangeByLex, ZPopMin, ZPopMax, ZUnionStore, ZInterStore,
    ZDiffStore, ZRangeStore, GeoRadiusStore, GeoSearchStore,

    // t
    XAdd, XTrim, XDel, XSetId, XGroupCreate, XGroupSetId, XGroupCreateConsumer, XGroupDelConsumer, XGroupDestroy,

    // x, e, m, n
    Expired, Evicted, KeyMiss, New,

    /// <summary>Nothing: a command that has no event of its own.</summary>
    None,
}
