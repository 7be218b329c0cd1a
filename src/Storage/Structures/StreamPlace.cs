namespace Kv.Storage;

/// <summary>Where an entry is, until the stream changes. The default is the end.</summary>
internal readonly record struct StreamPlace(uint Leaf, int Index)
{
    public bool IsEnd => Leaf == 0;
}
