using System.Diagnostics;
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

/// <summary>Union, intersection or difference of the sets of held keys, some members at a time.</summary>
/// <remarks>Whoever makes one disposes it, with its result, once; a copy is the same one. No object: small sets are
/// combined without a byte of the heap.</remarks>
internal struct SetCombination(Store store, SetOperation operation, int first, int count) : IDisposable
{
    /// <summary>Of more sets members are not asked ahead for.</summary>
    private const int PrefetchedMax = 64;

    private SetBuilder _result = new(store);
    private MemberPlace _place;
    private int _set, _end;
    private bool _hasEnd;

    // How far the piece before came: keys that were looked at before the first member, members of a small set or of a
    // batch, and for the next one sets in which it was looked for.
    private int _begun, _taken, _asked;

    // Of an intersection: the set with the fewest members.
    private int _smallest;
    private long _fewest = long.MaxValue;
    private bool _isMissing;

    /// <summary>Most members that are wanted.</summary>
    public long Limit { get; init; } = long.MaxValue;

    /// <summary>Whether the members are only counted.</summary>
    public bool OnlyCounts { get; init; }

    /// <summary>Members found.</summary>
    public long Count { get; private set; }

    /// <summary>Why there is no result; Ok: there is one.</summary>
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

    /// <summary>Whether there are so many sets that even to look at each once takes several pieces: then their types
    /// are looked at there, too.</summary>
    public bool IsOfMany { get; init; }

    /// <summary>How many members are to be looked at or for.</summary>
    public long Work(in HeldKeys held)
    {
        if (IsOfMany) return long.MaxValue;
        long all = long.MaxValue, work = 0;
        TryBegin(held, ref all);
        for (int i = _set; i < _end; i++)
            if (held.Exists(first + i)) work += View(held, i).Count;
        return operation == SetOperation.Union ? work : work * Math.Max(1, count - 1);
    }

    /// <summary>Looks at members, from where it left off.</summary>
    /// <param name="members">About how many members, or sets.</param>
    /// <returns>True when it has ended.</returns>
    public bool Run(in HeldKeys held, long members)
    {
        Debug.Assert(members > 0 && Status == StoreStatus.Ok, "each call looks at a member, until something fails");
        if (!TryBegin(held, ref members)) return Status != StoreStatus.Ok;
        for (; _set < _end; _set++, _place = default, _taken = 0)
        {
            if (members-- <= 0) return false;
            if (!held.Exists(first + _set)) continue;
            bool isLarge = held.Value(first + _set).Kind == ValueKind.Set;
            bool isDone = isLarge ? RunLarge(held, ref members) : RunSmall(held, ref members);
            if (!isDone) return Status != StoreStatus.Ok;
        }

        return true;
    }

    /// <summary>Looks at members of a small set, which have no places: those of the pieces before are passed
    /// over.</summary>
    /// <returns>False when that was enough, or it has failed.</returns>
    private bool RunSmall(in HeldKeys held, ref long members)
    {
        var walk = View(held, _set).GetWalk();
        for (int at = 0; Count < Limit && walk.Next(out var member); at++)
        {
            if (at < _taken) continue;
            if (!TryLookAt(held, member, store.Hash.Of(member), ref members)) return false;
        }

        return true;
    }

    /// <summary>Looks at members of a large set.</summary>
    /// <returns>False when that was enough, or it has failed.</returns>
    private bool RunLarge(in HeldKeys held, ref long members)
    {
        var walk = new MemberTable(held.Value(first + _set).Region, in store.Hash).GetWalk(_place);
        var batch = new MemberBatch();
        // Ends: at the limit, or with the set's members.
        while (Count < Limit && batch.Fill(ref walk, in store.Hash))
        {
            if (count <= PrefetchedMax) Prefetch(held, ref batch);
            while (_taken < batch.Count && Count < Limit)
                if (!TryLookAt(held, batch.Member(_taken), batch.Hash(_taken), ref members)) return false;
            (_place, _taken) = (walk.Place, 0);
        }

        return true;
    }

    /// <summary>Looks at the next member.</summary>
    /// <returns>False when the piece has to end first, or nothing comes of all this.</returns>
    private bool TryLookAt(in HeldKeys held, scoped ReadOnlySpan<byte> member, ulong hash, ref long members)
    {
        if (members <= 0 || !TryAsk(held, member, hash, ref members, out bool takes)) return false;
        _taken++;
        if (!takes || TryTake(member, hash)) return true;
        Status = StoreStatus.OutOfMemory;
        return false;
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
    /// <returns>False when the piece has to end first, or nothing comes of all this.</returns>
    private bool TryBegin(in HeldKeys held, ref long members)
    {
        Debug.Assert(count > 0, "there is a set to combine");
        if (_hasEnd) return true;
        bool isCommon = operation == SetOperation.Intersection;
        for (; _begun < count && (isCommon || IsOfMany); _begun++)
        {
            if (members-- <= 0) return false;
            if (IsOfMany && held.Value(first + _begun).Type is not (DataType.Set or DataType.Any))
            {
                Status = StoreStatus.WrongType;
                return false;
            }

            if (isCommon) NoteSmallest(held, _begun);
        }

        _set = _smallest;
        _end = operation == SetOperation.Union ? count : _isMissing ? 0 : _smallest + 1;
        _hasEnd = true;
        return true;
    }

    // One that is missing ends it: there are no common members.
    private void NoteSmallest(in HeldKeys held, int set)
    {
        _isMissing |= !held.Exists(first + set);
        if (_isMissing) return;
        long members = View(held, set).Count;
        if (members >= _fewest) return;
        (_fewest, _smallest) = (members, set);
    }

    /// <summary>Looks for a member in the other sets.</summary>
    /// <param name="takes">Whether it is one of the result's.</param>
    /// <returns>False when the piece ends before that is known.</returns>
    private bool TryAsk(in HeldKeys held, scoped ReadOnlySpan<byte> member, ulong hash, ref long members,
        out bool takes)
    {
        takes = true;
        if (operation == SetOperation.Union || count == 1)
        {
            members--;
            return true;
        }

        bool isCommon = operation == SetOperation.Intersection;
        for (; _asked < count && takes; _asked++)
        {
            if (_asked == _set) continue;
            if (members-- <= 0) return false;
            bool has = held.Exists(first + _asked) && View(held, _asked).Contains(member, hash);
            takes = has == isCommon;
        }

        _asked = 0;
        return true;
    }

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

    private SetView View(in HeldKeys held, int index) => new(held.View(first + index), in store.Hash);
}
