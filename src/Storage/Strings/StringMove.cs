namespace Kv.Storage;

/// <summary>Whether a string has to be copied for a change, and is so long that this should be done in steps.</summary>
internal static class StringMove
{
    private const long BytesMin = 4 << 20;

    /// <param name="length">Bytes that it will have.</param>
    /// <remarks>Others may take a reference to its block, or give one up, at any moment: then it is copied in one turn
    /// after all, or needs no copy.</remarks>
    public static bool IsLong(in ValueView current, long length)
    {
        if (!current.Exists || current.Kind != ValueKind.BlockString) return false;
        Block block = current.Block;
        return block.Length >= BytesMin && (!block.IsExclusive || block.Capacity < length);
    }
}
