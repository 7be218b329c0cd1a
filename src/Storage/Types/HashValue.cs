namespace Kv.Storage;

/// <summary>Changes the hash of a held key.</summary>
/// <remarks>Reserve, change, then <see cref="Settle"/>, once for the whole command.</remarks>
internal readonly unsafe ref struct HashValue(HeldValue value)
{
    private readonly HeldValue _value = value;

    /// <summary>For reading, until the next change.</summary>
    public HashView View => new(_value.View, in _value.Hash);

    /// <summary>Fields of the hash, 0 of a key without a value.</summary>
    public long Count => _value.Exists ? View.Count : 0;

    private bool IsPacked => _value.Kind == ValueKind.PackedHash;

    private MemberTable Table => new(_value.Region, in _value.Hash);

    /// <summary>What a new hash of so many fields will take in its record.</summary>
    public static int ExpectedBytes(int fields, long bytes, int longest)
    {
        long run = PackedRun.HeaderBytes + bytes + (2L * fields);
        return longest < 254 && run <= PackedRun.BytesMax ? (int)run : sizeof(long);
    }

    /// <summary>Makes room for fields and values: all that can fail.</summary>
    /// <param name="fields">How many are set.</param>
    /// <param name="bytes">Of all fields and values.</param>
    /// <param name="longest">Of the longest field or value.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserve(int fields, long bytes, int longest)
    {
        long packed = bytes + (10L * fields);
        if (!_value.Exists || IsPacked)
        {
            PackedLimits limits = _value.Limits;
            int used = _value.Exists ? _value.Run.Used : 0;
            // Far more fields than are packed: not one by one into a run first.
            if (longest <= limits.HashBytes && used + packed <= PackedRun.BytesMax && Count + fields <= 2L * limits.HashEntries)
                return _value.TryReserveRun(ValueKind.PackedHash, used + (int)(longest < 254 ? bytes + (2L * fields) : packed));
            if (!TryUnpack(packed)) return false;
        }

        return _value.TryReserve(packed + (8L * fields) + MemberTable.ReserveBytes(_value.Region, fields));
    }

    /// <summary>Sets a field.</summary>
    /// <returns>Whether it is new.</returns>
    public bool Set(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        if (!IsPacked) return SetInTable(field, value);
        PackedRun run = _value.Run;
        byte* at = run.Find(field, skipElements: 1, skipBytes: 0);
        int valueBytes = LengthPrefix.SizeWith(value.Length);
        if (at == null)
        {
            byte* end = run.End;
            run.Splice(end, 0, LengthPrefix.SizeWith(field.Length) + valueBytes, 2);
            LengthPrefix.WriteWith(LengthPrefix.WriteWith(end, field), value);
            return true;
        }

        at = run.Next(at, out _);
        byte* behind = run.Next(at, out _);
        run.Splice(at, (int)(behind - at), valueBytes, 0);
        LengthPrefix.WriteWith(at, value);
        return false;
    }

    private bool SetInTable(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        MemberTable table = Table;
        Region region = _value.Region;
        ulong hash = table.HashOf(field);
        uint* place = table.Find(field, hash);
        int size = MemberItem.SizeOf(field.Length, LengthPrefix.SizeWith(value.Length));
        if (place != null)
        {
            byte* old = table.ItemAt(place);
            int oldSize = SizeOf(old);
            if (Region.SizeOf(oldSize) == Region.SizeOf(size))
            {
                LengthPrefix.WriteWith(MemberItem.PayloadOf(old), value);
                return false;
            }

            uint replaced = *place;
            MemberTable.Replace(place, Write(region, field, value, size));
            region.Give(replaced, oldSize);
            return false;
        }

        table.Insert(Write(region, field, value, size), hash);
        return true;
    }

    /// <summary>Removes a field. Needs no memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(ReadOnlySpan<byte> field)
    {
        if (!_value.Exists) return false;       // the last one may just have gone
        if (IsPacked)
        {
            PackedRun run = _value.Run;
            byte* at = run.Find(field, skipElements: 1, skipBytes: 0);
            if (at == null) return false;
            byte* behind = run.Next(run.Next(at, out _), out _);
            _value.BeginChange();
            run.Splice(at, (int)(behind - at), 0, -2);
            return true;
        }

        MemberTable table = Table;
        ulong hash = table.HashOf(field);
        uint* place = table.Find(field, hash);
        if (place == null) return false;
        uint item = *place;
        _value.BeginChange();
        table.Remove(place, hash);
        _value.Region.Give(item, SizeOf(_value.Region.At(item)));
        return true;
    }

    /// <summary>Ends a change: an empty hash is deleted, one that is too long for a run gets a table (if there is memory; else next time).</summary>
    public void Settle()
    {
        if (!_value.Exists) return;
        long count = Count;
        if (count == 0) _value.Delete();
        else if (IsPacked && count > _value.Limits.HashEntries) TryUnpack(0);
    }

    private static uint Write(Region region, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, int size)
    {
        uint item = region.Take(size);
        LengthPrefix.WriteWith(MemberItem.Write(region.At(item), field), value);
        return item;
    }

    private static int SizeOf(byte* item) =>
        (int)(MemberItem.PayloadOf(MemberItem.PayloadOf(item)) - item);

    /// <summary>Makes a packed hash, or none, one with a table.</summary>
    private bool TryUnpack(long moreBytes)
    {
        int used = _value.Exists ? _value.Run.Used : 0;
        long count = Count;
        Region region = Region.Create(_value.Budget, used + (8 * count) + moreBytes + MemberTable.ReserveBytes(default, count));
        if (region.IsNone) return false;
        var table = new MemberTable(region, in _value.Hash);
        table.Begin();
        if (count != 0)
        {
            var walk = View.GetWalk();
            while (walk.Next(out var field, out var value))
            {
                int size = MemberItem.SizeOf(field.Length, LengthPrefix.SizeWith(value.Length));
                table.Insert(Write(region, field, value, size), table.HashOf(field));
            }
        }

        return _value.TryBecome(ValueKind.Hash, region);
    }
}
