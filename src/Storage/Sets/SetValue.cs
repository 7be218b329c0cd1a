using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Changes the set of a held key.</summary>
/// <remarks>Reserve, change, then <see cref="Settle"/>, once for the whole command.</remarks>
internal readonly unsafe ref struct SetValue(HeldValue value)
{
    private readonly HeldValue _value = value;

    /// <summary>For reading, until the next change.</summary>
    public SetView View => new(_value.View, in _value.Hash);

    /// <summary>Members of the set, 0 of a key without a value.</summary>
    public long Count => _value.Exists ? View.Count : 0;

    private MemberTable Table => new(_value.Region, in _value.Hash);

    private IntegerSet Integers => _value.View.IntegerSet;

    /// <summary>What a new set will take in its record.</summary>
    public static int ExpectedBytes(int members, long bytes, int longest, bool areIntegers)
    {
        if (areIntegers && members <= IntegerSet.CountMax) return WantedBytes(0, members, 0, longest);
        long run = PackedRun.HeaderBytes + bytes + members;
        return longest < 254 && run <= PackedRun.BytesMax ? (int)run : sizeof(long);
    }

    /// <summary>Makes room for members: all that can fail.</summary>
    /// <param name="members">How many are added.</param>
    /// <param name="bytes">Of all of them.</param>
    /// <param name="longest">Of the longest.</param>
    /// <param name="areIntegers">Whether all of them are the text of 64-bit integers.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserve(int members, long bytes, int longest, bool areIntegers)
    {
        Debug.Assert(members > 0 && longest >= 0 && bytes >= longest, "the members are as they were counted");
        PackedLimits limits = _value.Limits;
        long count = Count, items = bytes + (13L * members);
        if (areIntegers && (!_value.Exists || _value.Kind == ValueKind.IntegerSet)
            && count + members <= Math.Min(PackedLimits.Twice(limits.IntegerSetEntries), IntegerSet.CountMax))
        {
            bool isNew = !_value.Exists;
            // Exactly what it will be is not known before: the width of the widest that came would be. Eight bytes for
            // each new one.
            int width = isNew ? 0 : Integers.Width;
            if (!_value.TryReserveBytes(ValueKind.IntegerSet, WantedBytes((int)count, members, width, longest)))
                return false;
            fixed (byte* start = _value.Bytes)
                if (isNew) IntegerSet.Begin(start);
            return true;
        }

        if (!_value.Exists || _value.Kind is ValueKind.PackedSet or ValueKind.IntegerSet)
        {
            int used = !_value.Exists ? 0 : _value.Kind == ValueKind.PackedSet
                ? _value.Run.Used : (SetView.DigitsMax + 1) * Integers.Count;
            bool packs = longest <= limits.SetBytes && used + items <= PackedRun.BytesMax
                && count + members <= PackedLimits.Twice(limits.SetEntries);
            if (packs && _value.Exists && _value.Kind == ValueKind.IntegerSet) packs = count <= limits.SetEntries;
            if (packs && (!_value.Exists || _value.Kind == ValueKind.PackedSet))
                return _value.TryReserveRun(ValueKind.PackedSet, used + (int)(longest < 254 ? bytes + members : items));
            if (packs) return TryPack((int)items);
            if (!TryUnpack(items)) return false;
        }

        if (_value.TryReserve(items + MemberTable.ReserveBytes(_value.Region, members))) return true;
        if (Count == 0) _value.Delete();        // a new set that got a table, and then no room for its members, is none
        return false;
    }

    /// <summary>Adds a member.</summary>
    /// <returns>Whether it is new.</returns>
    public bool Add(ReadOnlySpan<byte> member)
    {
        Debug.Assert(_value.Type == DataType.Set, "room was reserved");
        switch (_value.Kind)
        {
            case ValueKind.IntegerSet:
                bool isInteger = IntegerText.TryParse(member, out long number);
                Debug.Assert(isInteger, "an array of integers takes no other text");
                int index = Integers.Find(number);
                if (index < 0) Integers.Insert(~index, number);
                return index < 0;

            case ValueKind.PackedSet:
                PackedRun run = _value.Run;
                if (run.Find(member, 0) != null) return false;
                byte* end = run.End;
                run.Splice(end, 0, LengthPrefix.SizeWith(member.Length), 1);
                LengthPrefix.WriteWith(end, member);
                return true;

            default:
                MemberTable table = Table;
                ulong hash = table.HashOf(member);
                if (table.Find(member, hash) != null) return false;
                table.Insert(Write(_value.Region, member), hash);
                return true;
        }
    }

    /// <summary>Removes a member. Needs no memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(ReadOnlySpan<byte> member)
    {
        if (!_value.Exists) return false;
        switch (_value.Kind)
        {
            case ValueKind.IntegerSet:
                int index = IntegerText.TryParse(member, out long number) ? Integers.Find(number) : -1;
                if (index < 0) return false;
                _value.BeginChange();
                Integers.RemoveAt(index);
                return true;

            case ValueKind.PackedSet:
                PackedRun run = _value.Run;
                byte* at = run.Find(member, 0);
                if (at == null) return false;
                _value.BeginChange();
                run.Splice(at, (int)(run.Next(at, out _) - at), 0, -1);
                return true;

            default:
                MemberTable table = Table;
                ulong hash = table.HashOf(member);
                uint* place = table.Find(member, hash);
                if (place == null) return false;
                uint item = *place;
                _value.BeginChange();
                table.Remove(place, hash);
                _value.Region.Give(item, LengthPrefix.SizeWith(member.Length));
                return true;
        }
    }

    /// <summary>Takes some different members of a large set at random, to be read and removed one by one.</summary>
    /// <param name="most">How many at most.</param>
    public void Draw(ref MemberBatch members, ref Dice dice, long most)
    {
        Debug.Assert(_value.Kind == ValueKind.Set && Count != 0, "a large set has a table to draw from");
        // Ends: each draw finds some, at the latest after a few.
        do members.Draw(Table, ref dice, most);
        while (members.Count == 0);
        members.KeepDifferent();
    }

    /// <summary>Ends a change: an empty set is deleted, one that is too long for what it is becomes larger (if there is
    /// memory; else next time).</summary>
    public void Settle()
    {
        if (!_value.Exists) return;
        long count = Count;
        if (count == 0) _value.Delete();
        else if (_value.Kind == ValueKind.PackedSet && count > _value.Limits.SetEntries) TryUnpack(0);
        else if (_value.Kind == ValueKind.IntegerSet && count > _value.Limits.IntegerSetEntries) TryUnpack(0);
        else _value.TidyRegion();
    }

    private static int WantedBytes(int count, int members, int width, int longest)
    {
        // Texts of up to 4 bytes fit in 2 bytes, of up to 9 in 4.
        int wider = Math.Max(width, longest <= 4 ? 2 : longest <= 9 ? 4 : 8);
        return IntegerSet.BytesFor(count + members, wider);
    }

    private static uint Write(Region region, ReadOnlySpan<byte> member)
    {
        uint item = region.Take(LengthPrefix.SizeWith(member.Length));
        MemberItem.Write(region.At(item), member);
        return item;
    }

    /// <summary>Makes a set of integers a run of their texts, with room for more.</summary>
    private bool TryPack(int moreBytes)
    {
        Debug.Assert(_value.Kind == ValueKind.IntegerSet, "only integers become texts");
        int count = Integers.Count;
        Span<long> numbers = stackalloc long[count];        // not more than are packed
        for (int i = 0; i < count; i++) numbers[i] = Integers[i];
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        int bytes = moreBytes;
        foreach (long number in numbers)
        {
            number.TryFormat(digits, out int length);
            bytes += 1 + length;
        }

        if (!_value.TryReserveBytes(ValueKind.PackedSet, PackedRun.HeaderBytes + bytes)) return false;
        _value.Run.SetSize(0, 0);
        foreach (long number in numbers)
        {
            number.TryFormat(digits, out int length);
            Add(digits[..length]);
        }

        return true;
    }

    /// <summary>Makes a small set, or none, one with a table.</summary>
    private bool TryUnpack(long moreBytes)
    {
        Debug.Assert(!_value.HoldsRegion, "a small set, or nothing, becomes a table");
        long count = Count;
        int used = !_value.Exists ? 0 : _value.Kind == ValueKind.PackedSet
            ? _value.Run.Used : (SetView.DigitsMax + 1) * Integers.Count;
        Region region = Region.Create(_value.Budget,
            used + (8 * count) + moreBytes + MemberTable.ReserveBytes(default, count));
        if (region.IsNone) return false;
        var table = new MemberTable(region, in _value.Hash);
        table.Begin();
        if (count != 0)
        {
            var walk = View.GetWalk();
            while (walk.Next(out var member)) table.Insert(Write(region, member), table.HashOf(member));
        }

        return _value.TryBecome(ValueKind.Set, region);
    }
}
