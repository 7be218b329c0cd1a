namespace Kv.Server.Persistence;

/// <summary>What a snapshot is written for.</summary>
internal enum SnapshotPurpose : byte
{
    /// <summary>The file <c>dbfilename</c>.</summary>
    File,

    /// <summary>The base of the append-only file.</summary>
    AppendOnlyBase,

    /// <summary>A replica, or a tool that wants a file.</summary>
    Replica,

    /// <summary>A replica that does not know that fields of hashes can expire: they are there without their
    /// times.</summary>
    OlderReplica,
}
