namespace Kv.Server.Execution;

/// <summary>What a command is and may do. COMMAND shows clients the first block; the second is the server's
/// own.</summary>
[Flags]
internal enum CommandFlags
{
    None = 0,
    Write = 1 << 0,
    ReadOnly = 1 << 1,
    DenyOom = 1 << 2,
    Admin = 1 << 3,
    PubSub = 1 << 4,
    NoScript = 1 << 5,
    Blocking = 1 << 6,
    Loading = 1 << 7,
    Stale = 1 << 8,
    SkipMonitor = 1 << 9,
    SkipSlowLog = 1 << 10,
    Fast = 1 << 11,
    NoAuth = 1 << 12,
    MayReplicate = 1 << 13,
    NoMulti = 1 << 14,
    AllowBusy = 1 << 15,
    MovableKeys = 1 << 16,
    NoAsyncLoading = 1 << 17,
    NoMandatoryKeys = 1 << 18,
    Protected = 1 << 19,
    Asking = 1 << 20,
    Sentinel = 1 << 21,
    OnlySentinel = 1 << 22,
    TouchesArbitraryKeys = 1 << 23,

    /// <summary>Writes any number of replies or messages (subscriptions, CLIENT REPLY).</summary>
    OwnReplies = 1 << 24,

    /// <summary>Changes how later commands of the session are read or looked up (SELECT, AUTH, HELLO, RESET, ...): the
    /// look-ahead stops here.</summary>
    ChangesSession = 1 << 25,

    /// <summary>Runs at once between MULTI and EXEC, where other commands are queued.</summary>
    NotQueued = 1 << 26,

    /// <summary>Where keys are evicted, it waits for room as commands with <see cref="DenyOom"/> do, and then runs in
    /// any case: the commands that it calls may be refused (scripts).</summary>
    WaitsForRoom = 1 << 27,
}

/// <summary>The groups that COMMAND DOCS names.</summary>
internal enum CommandGroup { Generic, String, List, Set, SortedSet, Hash, PubSub, Transactions, Connection, Server,
    Scripting, HyperLogLog, Cluster, Sentinel, Geo, Stream, Bitmap }

/// <summary>ACL categories that a row may name; those that follow from flags and group are derived.</summary>
[Flags]
internal enum AclCategories
{
    None = 0, Keyspace = 1, Read = 2, Write = 4, Set = 8, SortedSet = 16, List = 32, Hash = 64, String = 128,
        Bitmap = 256, HyperLogLog = 512, Geo = 1024,
    Stream = 2048, PubSub = 4096, Admin = 8192, Fast = 16384, Slow = 32768, Blocking = 65536, Dangerous = 1 << 17,
    Connection = 1 << 18, Transaction = 1 << 19, Scripting = 1 << 20,
}
