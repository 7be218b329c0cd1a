using System.Buffers;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Collects the members of a new set, each once, apart from the store; then makes it the value of a
/// key.</summary>
/// <remarks>Whoever makes one disposes it. Cost: a table of its own, freed or handed over.</remarks>
internal unsafe struct SetBuilder
{
    private readonly Store _store;
    private Region _region;
    private bool _areIntegers;
    private int _longest;
    private long _bytes;

    public SetBuilder(Store store)
    {
        _store = store;
        _areIntegers = true;
    }

    /// <summary>Members so far.</summary>
    public readonly long Count => _region.IsNone ? 0 : new MemberTable(_region, in _store.Hash).Count;

    /// <summary>Adds a member, unless it is there.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> member) => TryAdd(member, _store.Hash.Of(member), mayBeThere: true);

    /// <summary>Adds a member whose hash is known, and perhaps that it is not there.</summary>
    public bool TryAdd(scoped ReadOnlySpan<byte> member, ulong hash, bool mayBeThere)
    {
        Debug.Assert(hash == _store.Hash.Of(member), "the hash is the member's");
        int size = LengthPrefix.SizeWith(member.Length);
        if (_region.IsNone)
        {
            _region = Region.Create(_store.Budget, MemberTable.ReserveBytes(default, 1));
            if (_region.IsNone) return false;
            new MemberTable(_region, in _store.Hash).Begin();
        }

        if (mayBeThere && new MemberTable(_region, in _store.Hash).Find(member, hash) != null) return true;
        if (!Region.TryReserve(ref _region, _store.Budget,
            size + Region.UnitBytes + MemberTable.ReserveBytes(_region, 1))) return false;
        uint item = _region.Take(size);
        MemberItem.Write(_region.At(item), member);
        new MemberTable(_region, in _store.Hash).Insert(item, hash);
        _areIntegers = _areIntegers && IntegerText.TryParse(member, out _);
        _longest = Math.Max(_longest, member.Length);
        _bytes += size;
        return true;
    }

    /// <summary>Asks for the memory that adding members will look at.</summary>
    public readonly void Prefetch(scoped ref MemberBatch members)
    {
        if (!_region.IsNone) members.Prefetch(_region);
    }

    /// <summary>Removes a member if it is there.</summary>
    public readonly void Remove(scoped ReadOnlySpan<byte> member)
    {
        if (_region.IsNone) return;
        var table = new MemberTable(_region, in _store.Hash);
        ulong hash = _store.Hash.Of(member);
        uint* place = table.Find(member, hash);
        if (place == null) return;
        uint item = *place;
        table.Remove(place, hash);
        _region.Give(item, LengthPrefix.SizeWith(member.Length));
    }

    /// <summary>All members, one after another, or those from a place on. There must be some.</summary>
    public readonly MemberTable.Walk GetWalk(MemberPlace from = default) =>
        new MemberTable(_region, in _store.Hash).GetWalk(from);

    /// <summary>Makes the set the value of a key, whatever was there; without members the key is deleted.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs = NewValue.NoExpiry)
    {
        long count = Count;
        PackedLimits limits = target.Limits;
        if (count == 0)
        {
            if (target.Exists) target.Delete();
            return StoreStatus.Ok;
        }

        if (_areIntegers && count <= Math.Min(limits.IntegerSetEntries, IntegerSet.CountMax))
            return StoreIntegers(target, (int)count, expiryMs);
        if (count <= limits.SetEntries && _longest <= limits.SetBytes && _bytes <= PackedRun.BytesMax)
            return StoreRun(target, (int)count, expiryMs);
        var status = target.TryReplace(ValueKind.Set, _region, expiryMs);
        if (status == StoreStatus.Ok) _region = default;        // the record's now
        return status;
    }

    /// <summary>Frees what was not handed over.</summary>
    public void Dispose()
    {
        if (!_region.IsNone) _region.Free();
        _region = default;
    }

    private readonly StoreStatus StoreIntegers(HeldValue target, int count, long expiryMs)
    {
        Debug.Assert(_areIntegers && count == Count, "all members are integers");
        long[] numbers = ArrayPool<long>.Shared.Rent(count);
        byte[] content = ArrayPool<byte>.Shared.Rent(IntegerSet.BytesFor(count, sizeof(long)));
        int index = 0;
        for (var walk = GetWalk(); walk.Next(out byte* item); index++)
            IntegerText.TryParse(MemberItem.MemberOf(item), out numbers[index]);
        Array.Sort(numbers, 0, count);
        StoreStatus status;
        fixed (byte* start = content)
        {
            IntegerSet.Begin(start);
            for (int i = 0; i < count; i++) new IntegerSet(start, content.Length).Insert(i, numbers[i]);
            int width = new IntegerSet(start, content.Length).Width;
            status = target.TryReplace(ValueKind.IntegerSet,
                content.AsSpan(0, Math.Max(sizeof(long), IntegerSet.BytesFor(count, width))), expiryMs);
        }

        ArrayPool<long>.Shared.Return(numbers);
        ArrayPool<byte>.Shared.Return(content);
        return status;
    }

    private readonly StoreStatus StoreRun(HeldValue target, int count, long expiryMs)
    {
        byte[] content = ArrayPool<byte>.Shared.Rent(Math.Max(sizeof(long), PackedRun.HeaderBytes + (int)_bytes));
        StoreStatus status;
        fixed (byte* start = content)
        {
            byte* at = start + PackedRun.HeaderBytes;
            int left = count;
            for (var walk = GetWalk(); left > 0 && walk.Next(out byte* item); left--)
                at = LengthPrefix.WriteWith(at, MemberItem.MemberOf(item));
            int used = (int)(at - start);
            new PackedRun(start, used).SetSize(used - PackedRun.HeaderBytes, count);
            status = target.TryReplace(ValueKind.PackedSet, content.AsSpan(0, Math.Max(sizeof(long), used)), expiryMs);
        }

        ArrayPool<byte>.Shared.Return(content);
        return status;
    }
}
