using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a hash.</summary>
/// <remarks>Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has succeeded.</remarks>
internal readonly unsafe ref struct HashView : IMemberScan
{
    private readonly bool _isPacked;
    private readonly PackedRun _run;
    private readonly MemberTable _table;

    public HashView(scoped in ValueView value, ref readonly KeyHash hash)
    {
        _isPacked = value.Kind == ValueKind.PackedHash;
        if (_isPacked) _run = value.Run;
        else _table = new MemberTable(value.Region, in hash);
    }

    /// <summary>Fields of the hash.</summary>
    public long Count => _isPacked ? _run.Count / 2 : _table.Count;

    /// <summary>Whether it is a run in its record.</summary>
    public bool IsPacked => _isPacked;

    /// <summary>Finds the value of a field.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGet(ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        if (!_isPacked) return TryGetFromTable(field, out value);
        value = default;
        byte* at = _run.Find(field, skipElements: 1, skipBytes: 0);
        if (at == null) return false;
        at = _run.Next(at, out _);
        return at != null && _run.Next(at, out value) != null;
    }

    private bool TryGetFromTable(ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        uint* place = _table.Find(field, _table.HashOf(field));
        value = place == null ? default : MemberItem.MemberOf(MemberItem.PayloadOf(_table.ItemAt(place)));
        return place != null;
    }

    /// <summary>One field, each as likely as another. There must be one.</summary>
    public void Random(Random random, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        if (!_isPacked)
        {
            Split(_table.Random(random), out field, out value);
            return;
        }

        var walk = GetWalk();
        for (int skip = random.Next(_run.Count / 2); skip > 0; skip--) walk.Next(out _, out _);
        walk.Next(out field, out value);
    }

    /// <summary>Different fields, any of so many as likely as another.</summary>
    /// <param name="count">At most as many as there are.</param>
    public void Sample<TSink>(Random random, long count, ref TSink sink) where TSink : struct, IPairSink, allows ref struct
    {
        ReadOnlySpan<byte> field, value;
        if (!_isPacked && count * 3 < Count)
        {
            var seen = new HashSet<nint>((int)count);
            // Ends: two in three draws are new, at worst.
            while (seen.Count < count)
            {
                byte* item = _table.Random(random);
                if (!seen.Add((nint)item)) continue;
                Split(item, out field, out value);
                sink.Write(field, value);
            }

            return;
        }

        var walk = GetWalk();
        for (long left = Count; count > 0 && walk.Next(out field, out value); left--)
        {
            if (random.NextInt64(left) >= count) continue;
            sink.Write(field, value);
            count--;
        }
    }

    /// <summary>Visits some fields.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned; of a packed hash all are visited at once.</param>
    /// <returns>The next cursor; 0: done.</returns>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct
    {
        if (!_isPacked) return _table.Scan(cursor, ref visit);
        byte* at = _run.First;
        // Ends: each round goes on by a field, up to the end of the run.
        while (at != null && at < _run.End)
        {
            visit.Visit(at);
            at = _run.Next(at, out _);
            if (at != null) at = _run.Next(at, out _);
        }

        return 0;
    }

    /// <summary>All fields one after another. No change in between.</summary>
    /// <param name="from">Where to begin, in a large one.</param>
    public Walk GetWalk(MemberPlace from = default) => new(this, from);

    /// <summary>A field and its value where a visit finds them: a packed pair looks as an item does.</summary>
    public static void Split(byte* item, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        field = MemberItem.MemberOf(item);
        value = MemberItem.MemberOf(MemberItem.PayloadOf(item));
    }

    /// <summary>A walk over all fields.</summary>
    public ref struct Walk
    {
        private readonly HashView _hash;
        private MemberTable.Walk _walk;
        private byte* _at;

        internal Walk(HashView hash, MemberPlace from)
        {
            _hash = hash;
            if (hash._isPacked) _at = hash._run.First;
            else _walk = hash._table.GetWalk(from);
        }

        /// <summary>Where it is in a large one, to go on from there while nothing has changed.</summary>
        public readonly MemberPlace Place => _walk.Place;

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        public bool Next(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
        {
            if (_hash._isPacked)
            {
                value = default;
                field = default;
                if (_at != null) _at = _hash._run.Next(_at, out field);
                if (_at != null) _at = _hash._run.Next(_at, out value);
                return _at != null;
            }

            bool more = _walk.Next(out byte* item);
            if (more) Split(item, out field, out value);
            else field = value = default;
            return more;
        }
    }
}

/// <summary>Takes fields with their values.</summary>
internal interface IPairSink
{
    void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value);
}
