namespace Kv.Server.Execution;

/// <summary>What is in front of the values that a <see cref="LongElements"/> collects.</summary>
internal enum ReplyHead : byte
{
    Array,
    Set,
    Map,

    /// <summary>There are none: the reply is the number.</summary>
    Number,

    /// <summary>There are none: the reply is OK.</summary>
    Ok,

    /// <summary>Nothing: what is collected is the reply.</summary>
    None,
}
