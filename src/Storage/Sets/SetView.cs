using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a set.</summary>
/// <remarks>
/// Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has succeeded.
/// A set of integers has no text of its members: each is written into the view itself, or into the walk, when it is
/// asked for. So a member is valid until the next one is asked for, and only for as long as the view or the walk that
/// it came from.
/// </remarks>
internal unsafe ref struct SetView : IMemberScan
{
    /// <summary>Most bytes of an integer's text.</summary>
    public const int DigitsMax = 20;

    private readonly ValueKind _kind;
    private readonly IntegerSet _integers;
    private readonly PackedRun _run;
    private readonly MemberTable _table;
    private Digits _digits;

    public SetView(scoped in ValueView value, ref readonly KeyHash hash)
    {
        Debug.Assert(value.Type == DataType.Set, "the value is a set");
        _kind = value.Kind;
        if (_kind == ValueKind.IntegerSet) _integers = value.IntegerSet;
        else if (_kind == ValueKind.PackedSet) _run = value.Run;
        else _table = new MemberTable(value.Region, in hash);
    }

    /// <summary>The members of a large set.</summary>
    public readonly MemberTable Table => _table;

    /// <summary>Members of the set.</summary>
    public readonly long Count =>
        _kind == ValueKind.IntegerSet ? _integers.Count : _kind == ValueKind.PackedSet ? _run.Count : _table.Count;

    public readonly ValueKind Kind => _kind;

    /// <summary>Whether it is a member.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool Contains(ReadOnlySpan<byte> member)
    {
        if (_kind == ValueKind.PackedSet) return _run.Find(member, 0) != null;
        if (_kind == ValueKind.Set) return _table.Find(member, _table.HashOf(member)) != null;
        return IntegerText.TryParse(member, out long number) && _integers.Find(number) >= 0;
    }

    /// <summary>Whether something is a member whose hash is known.</summary>
    public readonly bool Contains(ReadOnlySpan<byte> member, ulong hash) =>
        _kind == ValueKind.Set ? _table.Find(member, hash) != null : Contains(member);

    /// <summary>One member, each as likely as another. There must be one.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> Random(scoped ref Dice dice)
    {
        Debug.Assert(Count != 0, "there is one");
        if (_kind == ValueKind.Set) return MemberItem.MemberOf(_table.Random(ref dice));
        return At((int)dice.Below(Count));
    }

    /// <summary>The member at a place of a small set.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> At(int index)
    {
        Debug.Assert(_kind != ValueKind.Set && index >= 0, "a large set has no places");
        if (_kind == ValueKind.IntegerSet) return Text(_integers[index]);
        byte* at = _run.First;
        ReadOnlySpan<byte> member = default;
        for (; index >= 0 && at != null; index--) at = _run.Next(at, out member);
        return member;
    }

    /// <summary>Draws members, as far as the budget goes.</summary>
    /// <returns>True when all have been drawn.</returns>
    public bool Sample<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink, ref TBudget budget)
        where TSink : struct, IElementSink where TBudget : struct, IStepBudget
    {
        if (_kind == ValueKind.Set) return SampleTable(ref sample, memory, ref sink, ref budget);
        long count = sample.Left;
        if (sample.MayRepeat)
        {
            for (; count > 0 && budget.TryTake(); count--)
            {
                sink.Write(Random(ref sample.Dice));
            }

            sample.Left = count;
            return count == 0;
        }

        // No more than a record has: at once.
        var walk = GetWalk();
        for (long left = Count; count > 0 && walk.Next(out var member); left--)
        {
            if (sample.Dice.Below(left) >= count) continue;
            sink.Write(member);
            count--;
        }

        sample.Left = 0;
        return true;
    }

    private bool SampleTable<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink,
        ref TBudget budget)
        where TSink : struct, IElementSink where TBudget : struct, IStepBudget
    {
        Debug.Assert(sample.Left >= 0, "no more are drawn than are wanted");
        var batch = new MemberBatch();
        while (budget.TryTake(MemberBatch.CountMax))
        {
            if (!sample.Fill(ref batch, _table, memory)) return true;
            for (int i = 0; i < batch.Count; i++) sink.Write(batch.Member(i));
        }

        return false;
    }

    /// <summary>Visits the members of a large set, some at a time.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned.</param>
    /// <returns>The next cursor; 0: done.</returns>
    public readonly ulong Scan<TVisit>(ulong cursor, ref TVisit visit)
        where TVisit : struct, IMemberVisit, allows ref struct =>
        _table.Scan(cursor, ref visit);

    /// <summary>All members one after another. No change in between.</summary>
    /// <param name="from">Where to begin, in a large one.</param>
    public readonly Walk GetWalk(MemberPlace from = default) => new(this, from);

    [UnscopedRef]
    private ReadOnlySpan<byte> Text(long number)
    {
        Span<byte> digits = _digits;
        number.TryFormat(digits, out int length);
        return digits[..length];
    }

    [InlineArray(DigitsMax)]
    private struct Digits
    {
        private byte _first;
    }

    /// <summary>A walk over all members.</summary>
    public ref struct Walk
    {
        private SetView _set;
        private MemberTable.Walk _walk;
        private byte* _at;
        private int _index;

        internal Walk(SetView set, MemberPlace from)
        {
            _set = set;
            if (set._kind == ValueKind.PackedSet) _at = set._run.First;
            else if (set._kind == ValueKind.Set) _walk = set._table.GetWalk(from);
        }

        /// <summary>Where it is in a large one, to go on from there while nothing has changed.</summary>
        public readonly MemberPlace Place => _walk.Place;

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        [UnscopedRef]
        public bool Next(out ReadOnlySpan<byte> member)
        {
            member = default;
            if (_set._kind == ValueKind.PackedSet)
            {
                if (_at != null) _at = _set._run.Next(_at, out member);
                return _at != null;
            }

            if (_set._kind == ValueKind.IntegerSet)
            {
                if (_index >= _set._integers.Count) return false;
                member = _set.Text(_set._integers[_index++]);
                return true;
            }

            if (!_walk.Next(out byte* item)) return false;
            member = MemberItem.MemberOf(item);
            return true;
        }
    }
}
