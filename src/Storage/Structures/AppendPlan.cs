namespace Kv.Storage;

/// <summary>What appending an entry takes.</summary>
internal struct AppendPlan
{
    /// <summary>Bytes of fields and values.</summary>
    public long Text;

    /// <summary>Bytes of pieces to reserve; 0: there is room.</summary>
    public long Reserve;

    /// <summary>What the new leaf has, or what the last one must be widened to; 0: it has room.</summary>
    public int Capacity;

    /// <summary>The fewest bytes that a free piece may have to be taken instead.</summary>
    public int Least;

    /// <summary>Bytes that Redis' listpack gets more.</summary>
    public int Listpack;

    public bool IsNewLeaf, IsSame;

    public readonly bool IsTooLarge => Text > LargeStream.EntryBytesMax;
}
