using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a hash. What has expired is not there, but in <see cref="Count"/> and for <see cref="Random"/> and
/// <see cref="Sample"/>.</summary>
/// <remarks>Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has
/// succeeded.</remarks>
internal readonly unsafe ref struct HashView : IMemberScan
{
    private readonly bool _isPacked;
    private readonly PackedRun _run;
    private readonly FieldTable _table;
    private readonly long _nowMs;

    /// <param name="nowMs">Of the session: unix milliseconds.</param>
    public HashView(scoped in ValueView value, ref readonly KeyHash hash, long nowMs)
    {
        Debug.Assert(value.Type == DataType.Hash, "the value is a hash");
        _nowMs = nowMs;
        _isPacked = value.Kind == ValueKind.PackedHash;
        if (_isPacked) _run = value.Run;
        else _table = new FieldTable(value.Region, in hash);
    }

    /// <summary>Fields of the hash; those that have expired count until they are removed.</summary>
    public long Count => _isPacked ? _run.Count / 2 : _table.Members.Count;

    /// <summary>The fields of a large hash, those that have expired included.</summary>
    public MemberTable Fields => _table.Members;

    /// <summary>Whether it is a run in its record.</summary>
    public bool IsPacked => _isPacked;

    /// <summary>Whether it is a run whose fields have room for an expiry.</summary>
    public bool IsPackedWithExpiries => _isPacked && Packed.HasExpiries;

    /// <summary>Whether a field is gone.</summary>
    public bool IsPast(long expiryMs) => FieldExpiry.IsPast(expiryMs, _nowMs);

    /// <summary>Whether some of the fields may have expired.</summary>
    private bool MayHaveExpired => _table.EarliestMs <= _nowMs;

    private PackedFields Packed => new(_run);

    /// <summary>Finds the value of a field.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGet(ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        if (!_isPacked || (_run.Count & 1) != 0) return TryGet(field, out value, out _);
        value = default;
        byte* at = _run.Find(field, skipElements: 1);
        if (at == null) return false;
        at = _run.Next(at, out _);
        return at != null && _run.Next(at, out value) != null;
    }

    /// <summary>Finds a field that may expire.</summary>
    /// <param name="expiryMs">Unix milliseconds; <see cref="FieldExpiry.None"/>: it lives as long as the hash.</param>
    public bool TryGet(ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value, out long expiryMs)
    {
        value = default;
        expiryMs = FieldExpiry.None;
        if (_isPacked)
        {
            byte* at = Packed.Find(field);
            return at != null && Packed.Next(at, out _, out value, out expiryMs) != null
                && !FieldExpiry.IsPast(expiryMs, _nowMs);
        }

        uint* place = _table.Members.Find(field, _table.Members.HashOf(field));
        if (place == null) return false;
        expiryMs = HashItem.Read(MemberItem.PayloadOf(_table.Members.ItemAt(place)), out value);
        return !FieldExpiry.IsPast(expiryMs, _nowMs);
    }

    /// <summary>One field, each as likely as another. There must be one.</summary>
    /// <returns>False when it was one that has expired.</returns>
    public bool Random(scoped ref Dice dice, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        long expiryMs;
        if (!_isPacked)
        {
            byte* item = _table.Members.Random(ref dice);
            field = MemberItem.MemberOf(item);
            expiryMs = HashItem.Read(MemberItem.PayloadOf(item), out value);
            return !FieldExpiry.IsPast(expiryMs, _nowMs);
        }

        byte* at = Packed.First;
        for (long skip = dice.Below(Packed.Count); skip > 0; skip--) at = Packed.Next(at, out _, out _, out _);
        Packed.Next(at, out field, out value, out expiryMs);
        return !FieldExpiry.IsPast(expiryMs, _nowMs);
    }

    /// <summary>Draws fields, as far as the budget goes. None may have expired.</summary>
    /// <returns>True when all have been drawn.</returns>
    public bool Sample<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink, ref TBudget budget)
        where TSink : struct, IPairSink where TBudget : struct, IStepBudget
    {
        if (!_isPacked) return SampleTable(ref sample, memory, ref sink, ref budget);
        ReadOnlySpan<byte> field, value;
        long count = sample.Left;
        if (sample.MayRepeat)
        {
            for (; count > 0 && budget.TryTake(); count--)
            {
                Random(ref sample.Dice, out field, out value);
                sink.Write(field, value);
            }

            sample.Left = count;
            return count == 0;
        }

        // No more than a record has: at once.
        var walk = GetWalk();
        for (long left = Count; count > 0 && walk.Next(out field, out value); left--)
        {
            if (sample.Dice.Below(left) >= count) continue;
            sink.Write(field, value);
            count--;
        }

        sample.Left = 0;
        return true;
    }

    private bool SampleTable<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink,
        ref TBudget budget)
        where TSink : struct, IPairSink where TBudget : struct, IStepBudget
    {
        var batch = new MemberBatch();
        while (budget.TryTake(MemberBatch.CountMax))
        {
            if (!sample.Fill(ref batch, _table.Members, memory)) return true;
            for (int i = 0; i < batch.Count; i++)
            {
                Split(batch.Item(i), out var field, out var value);
                sink.Write(field, value);
            }
        }

        return false;
    }

    /// <summary>Visits some fields.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned; of a packed hash all are visited at
    /// once.</param>
    /// <returns>The next cursor; 0: done.</returns>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct
    {
        if (!_isPacked)
        {
            if (!MayHaveExpired) return _table.Members.Scan(cursor, ref visit);
            var living = new VisitLiving<TVisit> { Visitor = visit, NowMs = _nowMs };
            cursor = _table.Members.Scan(cursor, ref living);
            visit = living.Visitor;
            return cursor;
        }

        byte* at = Packed.First;
        // Ends: each round goes on by a field, up to the end of the run.
        while (true)
        {
            byte* behind = Packed.Next(at, out _, out _, out long expiryMs);
            if (behind == null) return 0;
            if (!FieldExpiry.IsPast(expiryMs, _nowMs)) visit.Visit(at);
            at = behind;
        }
    }

    /// <summary>All fields one after another. No change in between.</summary>
    /// <param name="from">Where to begin, in a large one.</param>
    public Walk GetWalk(MemberPlace from = default) => new(this, from);

    /// <summary>A field and its value where a visit finds them: a packed pair looks as an item does.</summary>
    public static void Split(byte* item, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        field = MemberItem.MemberOf(item);
        HashItem.Read(MemberItem.PayloadOf(item), out value);
    }

    /// <summary>A walk over all fields that have not expired.</summary>
    public ref struct Walk
    {
        private readonly HashView _hash;
        private MemberTable.Walk _walk;
        private byte* _at;

        internal Walk(HashView hash, MemberPlace from)
        {
            _hash = hash;
            if (hash._isPacked) _at = hash.Packed.First;
            else _walk = hash._table.Members.GetWalk(from);
        }

        /// <summary>Where it is in a large one, to go on from there while nothing has changed.</summary>
        public readonly MemberPlace Place => _walk.Place;

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        public bool Next(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value) =>
            Next(out field, out value, out _);

        /// <summary>The next one.</summary>
        /// <param name="field">Its name.</param>
        /// <param name="value">Its value.</param>
        /// <param name="expiryMs">Unix milliseconds, or <see cref="FieldExpiry.None"/>.</param>
        /// <returns>False at the end.</returns>
        public bool Next(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value, out long expiryMs)
        {
            // Ends: at a field that lives, or at the end of the hash.
            do
            {
                if (_hash._isPacked)
                {
                    _at = _hash.Packed.Next(_at, out field, out value, out expiryMs);
                    if (_at == null) return false;
                    continue;
                }

                field = value = default;
                expiryMs = FieldExpiry.None;
                if (!_walk.Next(out byte* item)) return false;
                field = MemberItem.MemberOf(item);
                expiryMs = HashItem.Read(MemberItem.PayloadOf(item), out value);
            }
            while (FieldExpiry.IsPast(expiryMs, _hash._nowMs));

            return true;
        }
    }

    /// <summary>Passes on what has not expired.</summary>
    private ref struct VisitLiving<TVisit> : IMemberVisit where TVisit : struct, IMemberVisit, allows ref struct
    {
        public TVisit Visitor;
        public long NowMs;

        public void Visit(byte* item)
        {
            if (!FieldExpiry.IsPast(HashItem.Read(MemberItem.PayloadOf(item), out _), NowMs)) Visitor.Visit(item);
        }
    }
}

/// <summary>Takes fields with their values.</summary>
internal interface IPairSink
{
    void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value);
}
