using System.Buffers;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Collects the elements of a new list apart from the store; then makes it the value of a key.</summary>
/// <remarks>Whoever makes one disposes it. Cost: leaves of its own, freed or handed over; a short list is copied into
/// its record.</remarks>
internal unsafe struct ListBuilder(MemoryBudget budget) : IDisposable
{
    private readonly MemoryBudget _budget = budget;
    private Region _region;
    private long _count, _bytes, _listpack;

    // The last leaf, while elements go into it, and how many of them the list does not count yet.
    private ListLeaf _leaf;
    private bool _hasLeaf;
    private int _uncounted;

    /// <summary>Elements so far.</summary>
    public readonly long Count => _count;

    /// <summary>Adds an element after the others.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> element)
    {
        if (_hasLeaf && element.Length <= LargeList.SharedBytesMax && _leaf.CanAppend(_leaf.SizeFor(element.Length)))
        {
            _leaf.Push(left: false, element);
            _uncounted++;
        }
        else if (!TryAddSlow(element))
        {
            return false;
        }

        _count++;
        // What a listpack would have matters only as long as the list may be packed.
        if (_bytes <= ListLeaf.BytesMax) _listpack += ListpackRule.SizeOf(element);
        _bytes += ListLeaf.SizeOf(element.Length);
        return true;
    }

    /// <summary>Begins a leaf with an element, or makes the last one longer for it.</summary>
    private bool TryAddSlow(scoped ReadOnlySpan<byte> element)
    {
        EndLeaf();
        long needed = LargeList.PushBytes(_region, left: false, new ListPush(element.Length));
        if (_region.IsNone)
        {
            _region = Region.Create(_budget, needed);
            if (_region.IsNone) return false;
        }
        else if (!Region.TryReserve(ref _region, _budget, needed))
        {
            return false;
        }

        var list = new LargeList(_region);
        list.Push(left: false, element);
        _leaf = list.Leaf(list.Leaves - 1);
        _hasLeaf = !_leaf.IsAlone;
        return true;
    }

    private void EndLeaf()
    {
        if (_uncounted != 0) new LargeList(_region).CountPushed(_uncounted);
        _uncounted = 0;
        _hasLeaf = false;
    }

    /// <summary>Makes the list the value of a key, whatever was there; without elements the key is deleted.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs = NewValue.NoExpiry)
    {
        EndLeaf();
        long count = Count;
        if (count == 0)
        {
            if (target.Exists) target.Delete();
            return StoreStatus.Ok;
        }

        long packed = ListLeaf.HeaderBytes + _bytes;
        if (packed <= ListLeaf.BytesMax
            && !ListpackRule.IsTooLarge(target.Limits.ListSize, ListpackRule.EmptyBytes + _listpack, count))
            return StorePacked(target, (int)packed, expiryMs);
        var status = target.TryReplace(ValueKind.List, _region, expiryMs);
        if (status != StoreStatus.Ok) return status;
        _region = default;      // the record's now
        return status;
    }

    /// <summary>Frees what was not handed over; the builder may begin anew.</summary>
    public void Dispose()
    {
        if (!_region.IsNone) _region.Free();
        this = new ListBuilder(_budget);
    }

    private readonly StoreStatus StorePacked(HeldValue target, int bytes, long expiryMs)
    {
        Debug.Assert(bytes <= ListLeaf.BytesMax && _uncounted == 0, "a short list, whose elements are all counted");
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
