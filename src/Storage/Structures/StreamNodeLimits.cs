namespace Kv.Storage;

/// <summary>When a leaf of a stream is full: Redis' limits of its nodes.</summary>
/// <param name="Bytes">Most bytes of a listpack with its next entry; 0: any number.</param>
/// <param name="Entries">Most entries, deleted ones too; 0: any number.</param>
internal readonly record struct StreamNodeLimits(long Bytes, long Entries);
