using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Places that follow each other, as clients name them: from one index to another, both of them too; below 0
/// from the end on, -1 is the last.</summary>
internal static class IndexRange
{
    /// <summary>Turns the first index into a place, and counts the places of the range.</summary>
    /// <param name="first">May be before all there is.</param>
    /// <param name="last">May be after all there is.</param>
    /// <param name="count">How many places there are.</param>
    /// <returns>How many places the range has.</returns>
    public static long Resolve(ref long first, long last, long count)
    {
        Debug.Assert(count >= 0, "places are counted");
        if (first < 0) first = Math.Max(0, first + count);
        if (last < 0) last += count;
        last = Math.Min(last, count - 1);
        Debug.Assert(last < first || (first >= 0 && last < count), "a range is resolved within the length");
        return last < first ? 0 : last - first + 1;
    }
}
