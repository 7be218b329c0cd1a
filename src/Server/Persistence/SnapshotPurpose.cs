namespace Kv.Server.Persistence;

/// <summary>What a snapshot is written for.</summary>
internal enum SnapshotPurpose : byte
{
    /// <summary>The file <c>dbfilename</c>.</summary>
    File,

    /// <summary>The base of the append-only file.</summary>
    AppendOnlyBase,

    /// <summary>A replica.</summary>
    Replica,
}
