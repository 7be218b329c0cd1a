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

/// <summary>Union, intersection or difference of the sets of held keys, as many members at a time as one likes.</summary>
/// <remarks>Whoever makes one disposes it, with its result, once; a copy is the same one. No object: small sets are combined without a byte of the heap.</remarks>
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
            if (held.Exists(first + i)) work += View(held, i, default).Count;
        return work;
    }

    /// <summary>Looks at members, from where it left off.</summary>
    /// <param name="members">About so many.</param>
    /// <returns>True when it has ended.</returns>
    public bool Run(in HeldKeys held, long members)
    {
        Begin(held);
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        for (; _set < _end; _set++, _place = default)
        {
            if (!held.Exists(first + _set)) continue;
            var walk = View(held, _set, digits).GetWalk(_place);
            while (Count < Limit && walk.Next(out var member))
            {
                if (Takes(held, member) && !TryTake(member))
                {
                    Status = StoreStatus.OutOfMemory;
                    return true;
                }

                // A small set is done in one go.
                if (--members > 0 || held.Value(first + _set).Kind != ValueKind.Set) continue;
                _place = walk.Place;
                return false;
            }
        }

        return true;
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

    private bool Takes(in HeldKeys held, ReadOnlySpan<byte> member) => operation switch
    {
        SetOperation.Union => true,
        SetOperation.Difference => !AnyOtherHas(held, member),
        _ => AllHave(held, member),
    };

    private bool TryTake(scoped ReadOnlySpan<byte> member)
    {
        if (OnlyCounts)
        {
            Count++;
            return true;
        }

        bool done = _result.TryAdd(member);
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
            long members = View(held, i, default).Count;
            if (members >= fewest) continue;
            fewest = members;
            smallest = i;
        }

        return smallest;
    }

    private bool AllHave(in HeldKeys held, ReadOnlySpan<byte> member)
    {
        for (int i = 0; i < count; i++)
            if (i != _set && !View(held, i, default).Contains(member)) return false;
        return true;
    }

    private bool AnyOtherHas(in HeldKeys held, ReadOnlySpan<byte> member)
    {
        for (int i = 1; i < count; i++)
            if (held.Exists(first + i) && View(held, i, default).Contains(member)) return true;
        return false;
    }

    private SetView View(in HeldKeys held, int index, Span<byte> digits) => new(held.View(first + index), in store.Hash, digits);
}
