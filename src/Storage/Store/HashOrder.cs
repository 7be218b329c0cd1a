namespace Kv.Storage;

/// <summary>Looks for a place in a list that is in the order of its keys' hashes.</summary>
internal static unsafe class HashOrder
{
    /// <summary>The first place that has no smaller hash.</summary>
    /// <param name="first">The hash of the first item.</param>
    /// <param name="stride">Bytes of an item.</param>
    public static int FirstFrom(ulong* first, int stride, int count, ulong hash)
    {
        int low = 0, high = count;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (*(ulong*)((byte*)first + ((long)middle * stride)) < hash) low = middle + 1;
            else high = middle;
        }

        return low;
    }
}
