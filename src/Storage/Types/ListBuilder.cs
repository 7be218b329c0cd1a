using System.Buffers;

namespace Kv.Storage;

/// <summary>Collects the elements of a new list apart from the store; then makes it the value of a key.</summary>
/// <remarks>Whoever makes one disposes it. Cost: leaves of its own, freed or handed over; a short list is copied into its record.</remarks>
internal unsafe struct ListBuilder(MemoryBudget budget) : IDisposable
{
    private readonly MemoryBudget _budget = budget;
    private Region _region;
    private long _bytes, _listpack;

    /// <summary>Elements so far.</summary>
    public readonly long Count => _region.IsNone ? 0 : new LargeList(_region).Count;

    /// <summary>Adds an element behind the others.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> element)
    {
        long needed = LargeList.PushBytes(_region, left: false, 1, element.Length, element.Length);
        if (_region.IsNone)
        {
            _region = Region.Create(_budget, needed);
            if (_region.IsNone) return false;
        }
        else
        {
            if (!Region.TryReserve(ref _region, _budget, needed, out Region left)) return false;
            if (!left.IsNone) left.FreeMemory();        // nobody else knows of it
        }

        new LargeList(_region).Push(left: false, element, 0);
        _bytes += ListLeaf.SizeOf(element.Length);
        _listpack += ListpackRule.SizeOf(element);
        return true;
    }

    /// <summary>Makes the list the value of a key, whatever was there; without elements the key is deleted.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs = NewValue.NoExpiry)
    {
        long count = Count;
        if (count == 0)
        {
            if (target.Exists) target.Delete();
            return StoreStatus.Ok;
        }

        long packed = ListLeaf.HeaderBytes + _bytes;
        if (packed <= ListLeaf.BytesMax && !ListpackRule.IsTooLarge(target.Limits.ListSize, ListpackRule.EmptyBytes + _listpack, count))
            return StorePacked(target, (int)packed, expiryMs);
        var status = target.TryReplace(ValueKind.List, _region, expiryMs);
        if (status == StoreStatus.Ok) _region = default;        // the record's now
        return status;
    }

    /// <summary>Frees what was not handed over.</summary>
    public void Dispose()
    {
        if (!_region.IsNone) _region.Free();
        _region = default;
    }

    private readonly StoreStatus StorePacked(HeldValue target, int bytes, long expiryMs)
    {
        byte[] content = ArrayPool<byte>.Shared.Rent(bytes);
        StoreStatus status;
        fixed (byte* start = content)
        {
            ListLeaf leaf = ListLeaf.Begin(start, bytes, isReversed: false);
            var list = new LargeList(_region);
            for (int i = 0; i < list.Leaves; i++)
            {
                ListLeaf from = list.Leaf(i);
                int count = from.IsAlone ? 1 : from.Count;
                for (int j = 0; j < count; j++) leaf.Push(left: false, from[j]);
            }

            leaf.ListpackBytes = (int)_listpack;
            status = target.TryReplace(ValueKind.PackedList, content.AsSpan(0, bytes), expiryMs);
        }

        ArrayPool<byte>.Shared.Return(content);
        return status;
    }
}
