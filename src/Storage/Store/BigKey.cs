namespace Kv.Storage;

/// <summary>A key that is one of the largest of its type. Immutable.</summary>
/// <param name="Database">The number of its database.</param>
/// <param name="Size">When it was last measured.</param>
internal sealed record BigKey(int Database, byte[] Name, KeySize Size)
{
    public bool IsSameKey(BigKey other) => Database == other.Database && Name.AsSpan().SequenceEqual(other.Name);
}
