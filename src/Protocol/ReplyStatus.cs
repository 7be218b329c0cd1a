namespace Kv.Protocol;

/// <summary>What came of one attempt to read a reply.</summary>
public enum ReplyStatus : byte
{
    /// <summary>One whole reply.</summary>
    Complete,

    /// <summary>The bytes end inside the reply; nothing was consumed.</summary>
    NeedMoreData,

    /// <summary>Not RESP.</summary>
    Invalid,

    /// <summary>Aggregates nested deeper than <see cref="RespLimits.MaxReplyDepth"/>.</summary>
    TooDeep,
}
