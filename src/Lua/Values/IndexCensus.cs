using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Lua;

/// <summary>Counts the keys of a table that could be in its array part, to find out how large that should be.</summary>
internal struct IndexCensus
{
    // Up to LuaTable.ArrayMax.
    private const int Slices = 27;

    private Counts _counts;
    private int _integers;

    /// <summary>The largest power of two of which more than half would be in use.</summary>
    public readonly int ArraySize
    {
        get
        {
            int sum = 0, size = 0;
            for (int slice = 0; slice < Slices && 1 << slice < _integers * 2L; slice++)
            {
                sum += _counts[slice];
                if (sum > (1 << slice) / 2) size = 1 << slice;
            }

            return size;
        }
    }

    public void Add(in LuaValue key)
    {
        if (key.Reference is null && key.Number is >= 1 and <= LuaTable.ArrayMax && key.Number == (int)key.Number)
            Add((int)key.Number);
    }

    public void Add(int index)
    {
        _counts[index == 1 ? 0 : BitOperations.Log2((uint)index - 1) + 1]++;
        _integers++;
    }

    // How many keys there are from 2^(i-1) + 1 to 2^i.
    [InlineArray(Slices)]
    private struct Counts
    {
        private int _first;
    }
}
