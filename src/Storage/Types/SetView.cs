using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a set.</summary>
/// <remarks>
/// Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has succeeded.
/// A set of integers has no text of its members: it is written into <see cref="Digits"/>, which the caller provides, and a
/// member is valid until the next one is asked for.
/// </remarks>
internal readonly unsafe ref struct SetView : IMemberScan
{
    /// <summary>Most bytes of an integer's text.</summary>
    public const int DigitsMax = 20;

    private readonly ValueKind _kind;
    private readonly IntegerSet _integers;
    private readonly PackedRun _run;
    private readonly MemberTable _table;
    private readonly Span<byte> _digits;

    /// <param name="digits">Scratch of <see cref="DigitsMax"/> bytes.</param>
    public SetView(scoped in ValueView value, ref readonly KeyHash hash, Span<byte> digits)
    {
        _kind = value.Kind;
        _digits = digits;
        if (_kind == ValueKind.IntegerSet) _integers = value.IntegerSet;
        else if (_kind == ValueKind.PackedSet) _run = value.Run;
        else _table = new MemberTable(value.Region, in hash);
    }

    /// <summary>Members of the set.</summary>
    public long Count => _kind == ValueKind.IntegerSet ? _integers.Count : _kind == ValueKind.PackedSet ? _run.Count : _table.Count;

    public ValueKind Kind => _kind;

    /// <summary>Whether it is a member.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Contains(ReadOnlySpan<byte> member)
    {
        if (_kind == ValueKind.PackedSet) return _run.Find(member, 0) != null;
        if (_kind == ValueKind.Set) return _table.Find(member, _table.HashOf(member)) != null;
        return IntegerText.TryParse(member, out long number) && _integers.Find(number) >= 0;
    }

    /// <summary>The same, by one who knows the member's hash.</summary>
    public bool Contains(ReadOnlySpan<byte> member, ulong hash) => _kind == ValueKind.Set ? _table.Find(member, hash) != null : Contains(member);

    /// <summary>One member, each as likely as another. There must be one.</summary>
    public ReadOnlySpan<byte> Random(Random random)
    {
        if (_kind == ValueKind.Set) return MemberItem.MemberOf(_table.Random(random));
        return At(random.Next((int)Count));
    }

    /// <summary>The member at a place of a small set.</summary>
    public ReadOnlySpan<byte> At(int index)
    {
        if (_kind == ValueKind.IntegerSet) return Text(_integers[index]);
        byte* at = _run.First;
        ReadOnlySpan<byte> member = default;
        for (; index >= 0 && at != null; index--) at = _run.Next(at, out member);
        return member;
    }

    /// <summary>Different members, any of so many as likely as another.</summary>
    /// <param name="budget">Of the store.</param>
    /// <param name="count">At most as many as there are; below 0: so many that may be the same.</param>
    public void Sample<TSink>(Random random, MemoryBudget budget, long count, ref TSink sink) where TSink : struct, IMemberSink, allows ref struct
    {
        if (_kind == ValueKind.Set)
        {
            SampleTable(random, budget, count, ref sink);
            return;
        }

        for (; count < 0; count++) sink.Write(Random(random));
        var walk = GetWalk();
        for (long left = Count; count > 0 && walk.Next(out var member); left--)
        {
            if (random.NextInt64(left) >= count) continue;
            sink.Write(member);
            count--;
        }
    }

    private void SampleTable<TSink>(Random random, MemoryBudget budget, long count, ref TSink sink) where TSink : struct, IMemberSink, allows ref struct
    {
        var sample = new MemberSample(budget, count, Count);
        try
        {
            var batch = new MemberBatch();
            while (sample.Fill(ref batch, _table, random))
                for (int i = 0; i < batch.Count; i++) sink.Write(batch.Member(i));
        }
        finally
        {
            sample.Dispose();
        }
    }

    /// <summary>Visits the members of a large set, some at a time.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned.</param>
    /// <returns>The next cursor; 0: done.</returns>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct =>
        _table.Scan(cursor, ref visit);

    /// <summary>All members one after another. No change in between.</summary>
    /// <param name="from">Where to begin, in a large one.</param>
    public Walk GetWalk(MemberPlace from = default) => new(this, from);

    private ReadOnlySpan<byte> Text(long number)
    {
        number.TryFormat(_digits, out int length);
        return _digits[..length];
    }

    /// <summary>A walk over all members.</summary>
    public ref struct Walk
    {
        private readonly SetView _set;
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

/// <summary>Takes members.</summary>
internal interface IMemberSink
{
    void Write(ReadOnlySpan<byte> member);
}
