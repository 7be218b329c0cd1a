namespace Kv.Storage;

/// <summary>How a value is written, as RDB files and DUMP say it. The numbers are Redis': add, never change.</summary>
/// <remarks>Source: the RDB format of Redis 1 to 7.4.</remarks>
internal enum RdbType : byte
{
    String = 0,
    List = 1,
    Set = 2,

    /// <summary>A sorted set with scores as text.</summary>
    SortedSetText = 3,
    Hash = 4,

    /// <summary>A sorted set with scores as 8 bytes.</summary>
    SortedSet = 5,

    /// <summary>Values of modules, of two versions.</summary>
    ModuleOld = 6,
    Module = 7,

    HashZipmap = 9,
    ListZiplist = 10,
    IntegerSet = 11,
    SortedSetZiplist = 12,
    HashZiplist = 13,

    /// <summary>Nodes, each a ziplist.</summary>
    ListQuicklist = 14,
    Stream = 15,
    HashListpack = 16,
    SortedSetListpack = 17,

    /// <summary>Nodes, each a listpack or one element.</summary>
    ListQuicklist2 = 18,
    Stream2 = 19,
    SetListpack = 20,
    Stream3 = 21,

    /// <summary>Hashes whose fields expire: of the release candidates of 7.4, then of 7.4.</summary>
    HashExpiryOld = 22,
    HashListpackExpiryOld = 23,
    HashExpiry = 24,
    HashListpackExpiry = 25,
}

/// <summary>What became of reading a value.</summary>
internal enum RdbStatus : byte
{
    Ok = 0,

    /// <summary>There is more to do: call again.</summary>
    More,

    /// <summary>Not what the format allows: too short, a wrong length, a member twice, an empty collection...</summary>
    BadData,

    /// <summary>A type that this server does not know: a module's.</summary>
    Unknown,

    /// <summary>A version that is too new, or a checksum that is not that of the bytes.</summary>
    BadChecksum,

    /// <summary>There is no memory for it.</summary>
    OutOfMemory,
}
