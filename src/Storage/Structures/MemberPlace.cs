namespace Kv.Storage;

/// <summary>A place in a table: of a bucket or one that is chained to it. The default one is the beginning.</summary>
internal readonly unsafe struct MemberPlace(byte* bucket, uint number, int place)
{
    public byte* Bucket { get; } = bucket;

    public uint Number { get; } = number;

    public int Place { get; } = place;
}
