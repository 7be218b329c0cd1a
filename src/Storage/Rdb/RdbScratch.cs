using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Memory for one string that has to be made up: of an integer, of compressed bytes.</summary>
internal unsafe struct RdbScratch : IDisposable
{
    private MemoryBudget? _budget;
    private byte* _start;
    private long _capacity;

    /// <summary>The first bytes of what was last asked for.</summary>
    public readonly Span<byte> Get(int bytes)
    {
        Debug.Assert(bytes >= 0 && bytes <= _capacity, "no more is read than was asked for");
        return new Span<byte>(_start, bytes);
    }

    /// <summary>Memory for <paramref name="bytes"/>; what was in it is gone.</summary>
    /// <returns>False when there is none.</returns>
    public bool TryGet(MemoryBudget budget, int bytes, out Span<byte> memory)
    {
        Debug.Assert(bytes >= 0 && (_budget == null || _budget == budget), "one account is charged");
        memory = default;
        if (bytes > _capacity)
        {
            Dispose();
            if (budget.RefusesAllocation()) return false;
            long capacity = Math.Max(64, bytes + (bytes / 2L));
            _start = (byte*)NativeMemory.Alloc((nuint)capacity);
            _capacity = capacity;
            _budget = budget;
            budget.ChargeExternal(capacity);
        }

        memory = new Span<byte>(_start, bytes);
        return true;
    }

    public void Dispose()
    {
        _budget?.ChargeExternal(-_capacity);
        NativeMemory.Free(_start);
        _start = null;
        _capacity = 0;
        _budget = null;
    }
}
