using System.Numerics;

namespace Kv.Storage;

/// <summary>Where a value lies.</summary>
internal enum ValuePlace
{
    /// <summary>In its record, in a segment of the log.</summary>
    Log,

    /// <summary>A string in a block of its own.</summary>
    Block,

    /// <summary>A collection in a region of its own.</summary>
    Region,
}

/// <summary>How many values there are of each size, and where they lie. One writes, and then nobody.</summary>
internal sealed class ValueSizes
{
    /// <summary>The last class has all that is larger.</summary>
    private const int Classes = 40;

    private static readonly int Places = Enum.GetValues<ValuePlace>().Length;

    private readonly long[] _counts = new long[Places * Classes], _bytes = new long[Places * Classes];

    /// <summary>Adds a value.</summary>
    /// <param name="bytes">Of key and value.</param>
    public void Add(ValuePlace place, long bytes)
    {
        int at = ((int)place * Classes) + ClassOf(bytes);
        _counts[at]++;
        _bytes[at] += bytes;
    }

    /// <summary>The sizes that some value has, ascending: up to how many bytes, and the values of each place.</summary>
    public IEnumerable<(long UpToBytes, (long Count, long Bytes)[] Places)> Rows =>
        from size in Enumerable.Range(0, Classes)
        let values = Enumerable.Range(0, Places).Select(place =>
            (_counts[(place * Classes) + size], _bytes[(place * Classes) + size])).ToArray()
        where Array.Exists(values, value => value.Item1 != 0)
        select (1L << size, values);

    private static int ClassOf(long bytes) =>
        bytes <= 1 ? 0 : Math.Min(Classes - 1, BitOperations.Log2((ulong)(bytes - 1)) + 1);
}
