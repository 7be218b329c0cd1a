namespace Kv.Storage;

/// <summary>Elements that a command pushes at one end of a list: those that are still to come.</summary>
/// <param name="Count">How many.</param>
/// <param name="Bytes">Bytes of all of them.</param>
/// <param name="Longest">Bytes of the longest, or more.</param>
internal readonly record struct ListPush(long Count, long Bytes, int Longest)
{
    /// <summary>A single element.</summary>
    public ListPush(int length)
        : this(1, length, length)
    {
    }

    /// <summary>Whether all are equally long, and not empty: a leaf of such elements has no slots.</summary>
    public bool IsUniform => Bytes == Count * Longest && Longest != 0;

    /// <summary>Whether some will have a leaf of their own.</summary>
    public bool HasAlone => Longest > LargeList.SharedBytesMax;

    /// <summary>Bytes in leaves with slots.</summary>
    public long SlottedBytes => Bytes + (Count * ListLeaf.SlotBytes);

    /// <summary>Bytes in leaves that are made for them.</summary>
    public long NewLeafBytes => IsUniform && !HasAlone ? Bytes : SlottedBytes;

    /// <summary>With one element more.</summary>
    public ListPush With(int length) => new(Count + 1, Bytes + length, Math.Max(Longest, length));

    /// <summary>What is still to come after an element.</summary>
    public ListPush Behind(int length) => this with { Count = Count - 1, Bytes = Bytes - length };
}
