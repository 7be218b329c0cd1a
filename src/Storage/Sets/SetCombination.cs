using System.Diagnostics.CodeAnalysis;

namespace Kv.Storage;

/// <summary>How sets are combined.</summary>
public enum SetOperation : byte
{
    /// <summary>What is in any of them.</summary>
    Union,

    /// <summary>What is in all of them.</summary>
    Intersection,

    /// <summary>What is in the first and in none of the others.</summary>
    Difference,
}

/// <summary>Union, intersection or difference of the sets of held keys, as many members at a time as one
/// likes.</summary>
/// <remarks>Whoever makes one disposes it, with its result, once; a copy is the same one. No object: small sets are
/// combined without a byte of the heap.</remarks>
internal struct SetCombination(Store store, SetOperation operation, int first, int count) : IDisposable
{
    private SetBuilder _result = new(store);
    private MemberPlace _place;
    private int _set, _end = -1;

    /// <summary>Most members that are wanted.</summary>
    public long Limit { get; init; } = long.MaxValue;

    /// <summary>Whether the members are only counted.</summary>
    public bool OnlyCounts { get; init; }

    /// <summary>Members found.</summary>
    public long Count { get; private set; }

    /// <summary>Why nothing came of it.</summary>
    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    /// <summary>The members, once they are collected.</summary>
    [UnscopedRef]
    public ref SetBuilder Result => ref _result;

    /// <summary>Whether one of the keys holds something else.</summary>
    public bool HasWrongType(in HeldKeys held)
    {
        for (int i = 0; i < count; i++)
            if (held.Value(first + i).Type is not (DataType.Set or DataType.Any)) return true;
        return false;
    }

    /// <summary>How many members are to be looked at.</summary>
    public long Work(in HeldKeys held)
    {
        Begin(held);
        long work = 0;
        for (int i = _set; i < _end; i++)
            if (held.Exists(first + i)) work += View(held, i).Count;
        return work;
    }

    /// <summary>Looks at members, from where it left off.</summary>
    /// <param name="members">About so many.</param>
    /// <returns>True when it has ended.</returns>
    public bool Run(in HeldKeys held, long members)
    {
        Begin(held);
        for (; _set < _end; _set++, _place = default)
        {
            if (!held.Exists(first + _set)) continue;
            if (held.Value(first + _set).Kind == ValueKind.Set)
            {
                if (!RunLarge(held, ref members)) return Status != StoreStatus.Ok;
                continue;
            }

            var walk = View(held, _set).GetWalk(_place);
            while (Count < Limit && walk.Next(out var member))
            {
                // A small set is done in one go.
                members--;
                ulong hash = store.Hash.Of(member);
                if (!Takes(held, member, hash) || TryTake(member, hash)) continue;
                Status = StoreStatus.OutOfMemory;
                return true;
            }
        }

        return true;
    }

    /// <summary>Looks at members of a large set.</summary>
    /// <returns>False when that was enough, or nothing comes of it.</returns>
    private bool RunLarge(in HeldKeys held, ref long members)
    {
        if (members <= 0) return false;
        var walk = new MemberTable(held.Value(first + _set).Region, in store.Hash).GetWalk(_place);
        var batch = new MemberBatch();
        // Ends: at the limit, or with the set's members.
        while (Count < Limit && batch.Fill(ref walk, in store.Hash))
        {
            Prefetch(held, ref batch);
            for (int i = 0; i < batch.Count && Count < Limit; i++)
            {
                if (!Takes(held, batch.Member(i), batch.Hash(i)) || TryTake(batch.Member(i), batch.Hash(i))) continue;
                Status = StoreStatus.OutOfMemory;
                return false;
            }

            members -= batch.Count;
            if (members > 0) continue;
            _place = walk.Place;
            return false;
        }

        return true;
    }

    private readonly void Prefetch(in HeldKeys held, scoped ref MemberBatch batch)
    {
        if (!OnlyCounts) _result.Prefetch(ref batch);
        if (operation == SetOperation.Union) return;
        for (int i = 0; i < count; i++)
            if (i != _set && held.Exists(first + i) && held.Value(first + i).HoldsRegion)
                batch.Prefetch(held.Value(first + i).Region);
    }

    /// <summary>Frees the result, unless it is a key's value by now.</summary>
    public void Dispose() => _result.Dispose();

    // Which sets are gone through: all of a union, of the others the one that has all that can come of it.
    private void Begin(in HeldKeys held)
    {
        if (_end >= 0) return;
        if (operation == SetOperation.Intersection)
        {
            int smallest = FindSmallest(held);
            _set = Math.Max(0, smallest);
            _end = smallest + 1;
        }
        else
        {
            _end = operation == SetOperation.Union ? count : 1;
        }
    }

    private bool Takes(in HeldKeys held, ReadOnlySpan<byte> member, ulong hash) => operation switch
    {
        SetOperation.Union => true,
        SetOperation.Difference => !AnyOtherHas(held, member, hash),
        _ => AllHave(held, member, hash),
    };

    private bool TryTake(scoped ReadOnlySpan<byte> member, ulong hash)
    {
        if (OnlyCounts)
        {
            Count++;
            return true;
        }

        // Of one set each member comes once.
        bool done = _result.TryAdd(member, hash, mayBeThere: operation == SetOperation.Union && _set > 0);
        Count = _result.Count;
        return done;
    }

    /// <summary>The set with the fewest members; -1 when one is missing, and with it every common member.</summary>
    private int FindSmallest(in HeldKeys held)
    {
        int smallest = -1;
        long fewest = long.MaxValue;
        for (int i = 0; i < count; i++)
        {
            if (!held.Exists(first + i)) return -1;
            long members = View(held, i).Count;
            if (members >= fewest) continue;
            fewest = members;
            smallest = i;
        }

        return smallest;
    }

    private bool AllHave(in HeldKeys held, ReadOnlySpan<byte> member, ulong hash)
    {
        for (int i = 0; i < count; i++)
            if (i != _set && !View(held, i).Contains(member, hash)) return false;
        return true;
    }

    private bool AnyOtherHas(in HeldKeys held, ReadOnlySpan<byte> member, ulong hash)
    {
        for (int i = 1; i < count; i++)
            if (held.Exists(first + i) && View(held, i).Contains(member, hash)) return true;
        return false;
    }

    private SetView View(in HeldKeys held, int index) => new(held.View(first + index), in store.Hash);
}
