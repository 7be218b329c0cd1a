using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>Asks for the memory at an end of a large list before the command that pushes or pops there is
/// run.</summary>
/// <remarks>
/// What it reads a writer may be changing, or it is of a region that is no more, or no list's: memory that is there
/// until the epoch ends, and every offset is checked, so that the worst is a prefetch for nothing.
/// </remarks>
internal static unsafe class ListLookAhead
{
    /// <summary>Asks for the name of the leaf at an end, and its count.</summary>
    /// <param name="region">From <see cref="LookAhead.Region"/>, a step before.</param>
    /// <returns>Where the name is; null when that cannot be.</returns>
    public static byte* PrefetchName(byte* region, bool left)
    {
        if (!Sse.IsSupported) return null;
        var directory = new ListDirectory(new Region(region));
        int leaves = directory.Leaves;
        if (leaves <= 0) return null;
        int index = left ? 0 : leaves - 1;
        byte* count = (byte*)(directory.Counts + index), name = (byte*)(directory.Names + index);
        if (!IsInside(region, name)) return null;
        Sse.Prefetch0(count);
        Sse.Prefetch0(name);
        return name;
    }

    /// <summary>Asks for the head of the leaf.</summary>
    /// <returns>Where it is; null when that cannot be.</returns>
    public static byte* PrefetchLeaf(byte* region, byte* name)
    {
        byte* leaf = region + ((long)*(uint*)name * Region.UnitBytes);
        if (!IsInside(region, leaf)) return null;
        Sse.Prefetch0(leaf);
        return leaf;
    }

    /// <summary>Asks for the last slot of the leaf; of one without slots, for the memory where the elements
    /// end.</summary>
    /// <returns>Where the slot is; null when that cannot be, or there is none.</returns>
    public static byte* PrefetchSlot(byte* region, byte* leaf)
    {
        if (new ListLeaf(leaf).TryGetUniformEnd(out byte* end))
        {
            Sse.Prefetch0(end);
            return null;
        }

        byte* slot = new ListLeaf(leaf).LastSlot;
        if (slot < leaf || !IsInside(region, slot)) return null;
        Sse.Prefetch0(slot);
        return slot;
    }

    /// <summary>Asks for the memory where the elements end.</summary>
    public static void PrefetchElement(byte* leaf, byte* slot) =>
        Sse.Prefetch0(leaf + ListLeaf.HeaderBytes + *(ushort*)slot);

    private static bool IsInside(byte* region, byte* place) =>
        place >= region && place - region <= *(long*)region - sizeof(ulong);
}
