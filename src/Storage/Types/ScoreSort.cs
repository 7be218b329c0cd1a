namespace Kv.Storage;

/// <summary>Brings the items of a region into the order of a sorted set.</summary>
/// <remarks>Scores first, as whole numbers of the same order, which is several times faster than comparing elements; then the bytes of those whose scores are equal.</remarks>
internal static unsafe class ScoreSort
{
    private const int InsertionMax = 16;

    /// <summary>Sorts items by score, then by bytes.</summary>
    /// <param name="keys">Of each item: <see cref="KeyOf"/> of its score.</param>
    public static void Run(Region region, Span<ulong> keys, Span<uint> items)
    {
        keys.Sort(items);
        IComparer<uint>? comparer = null;
        for (int first = 0; first < keys.Length;)
        {
            int end = first + 1;
            while (end < keys.Length && keys[end] == keys[first]) end++;
            if (end - first > InsertionMax) items[first..end].Sort(comparer ??= new ByBytes(region));
            else if (end - first > 1) Insert(region, items[first..end]);
            first = end;
        }
    }

    /// <summary>A number that orders as the score does; 0 and -0 are one.</summary>
    public static ulong KeyOf(double score)
    {
        ulong bits = BitConverter.DoubleToUInt64Bits(score + 0.0);
        return (bits & (1UL << 63)) != 0 ? ~bits : bits | (1UL << 63);
    }

    private static void Insert(Region region, Span<uint> items)
    {
        for (int i = 1; i < items.Length; i++)
        {
            uint moving = items[i];
            var member = MemberItem.MemberOf(region.At(moving));
            int at = i;
            for (; at > 0 && MemberItem.MemberOf(region.At(items[at - 1])).SequenceCompareTo(member) > 0; at--) items[at] = items[at - 1];
            items[at] = moving;
        }
    }

    private sealed class ByBytes(Region region) : IComparer<uint>
    {
        public int Compare(uint left, uint right) =>
            MemberItem.MemberOf(region.At(left)).SequenceCompareTo(MemberItem.MemberOf(region.At(right)));
    }
}
