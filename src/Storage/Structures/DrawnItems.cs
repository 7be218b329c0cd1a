using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Which items of a region have been drawn: their names, in native memory that the store is charged
/// for.</summary>
/// <remarks>Open addressing, at most half full. A slot of 0 is empty: no item has that name.</remarks>
internal unsafe struct DrawnItems : IDisposable
{
    private MemoryBudget? _budget;
    private uint* _slots;
    private int _log;

    /// <summary>Bytes that the table takes for <paramref name="count"/> items.</summary>
    public static long BytesFor(long count) => sizeof(uint) * SlotsFor(count);

    /// <summary>Gets the memory.</summary>
    /// <param name="count">The most items that will be added.</param>
    /// <returns>False when there is none.</returns>
    public bool TryBegin(MemoryBudget budget, long count)
    {
        Debug.Assert(_slots == null && count >= 0, "the memory is taken once");
        if (budget.RefusesAllocation()) return false;
        long slots = SlotsFor(count);
        _slots = (uint*)NativeMemory.AllocZeroed((nuint)slots, sizeof(uint));
        _log = BitOperations.Log2((ulong)slots);
        _budget = budget;
        budget.ChargeExternal(slots * sizeof(uint));
        return true;
    }

    /// <summary>Notes an item.</summary>
    /// <returns>Whether it is new.</returns>
    public readonly bool Add(uint name)
    {
        Debug.Assert(_slots != null && name != 0, "there is memory, and 0 is no item");
        uint mask = (1u << _log) - 1;
        // Ends: half of the slots are empty.
        for (uint slot = (name * 0x9E3779B1) >> (32 - _log); ; slot = (slot + 1) & mask)
        {
            if (_slots[slot] == name) return false;
            if (_slots[slot] != 0) continue;
            _slots[slot] = name;
            return true;
        }
    }

    public void Dispose()
    {
        if (_slots == null) return;
        NativeMemory.Free(_slots);
        _slots = null;
        _budget!.ChargeExternal(-sizeof(uint) * (1L << _log));
    }

    private static long SlotsFor(long count) => (long)BitOperations.RoundUpToPowerOf2((ulong)Math.Max(8, 2 * count));
}
