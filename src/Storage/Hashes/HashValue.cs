using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Changes the hash of a held key.</summary>
/// <remarks>Reserve, change, then <see cref="Settle"/>, once for the whole command. A field that has expired counts as
/// none.</remarks>
internal readonly unsafe ref struct HashValue(HeldValue value)
{
    private readonly HeldValue _value = value;

    /// <summary>For reading, until the next change.</summary>
    public HashView View => new(_value.View, in _value.Hash, _value.NowMs);

    /// <summary>Fields of the hash, 0 of a key without a value; those that have expired count until they are
    /// removed.</summary>
    public long Count => _value.Exists ? View.Count : 0;

    private bool IsPacked => _value.Kind == ValueKind.PackedHash;

    private PackedFields Packed => new(_value.Run);

    private FieldTable Table => new(_value.Region, in _value.Hash);

    /// <summary>What a new hash will take in its record.</summary>
    public static int ExpectedBytes(int fields, long bytes, int longest)
    {
        long run = PackedRun.HeaderBytes + bytes + (2L * fields);
        return longest < 254 && run <= PackedRun.BytesMax ? (int)run : sizeof(long);
    }

    /// <summary>Removes what has expired: before reading that counts, or that draws fields.</summary>
    /// <returns>Whether anything is left; else the key has gone.</returns>
    /// <remarks>Cost: a walk over the hash, if there may be any.</remarks>
    public bool RemoveExpired()
    {
        new ExpiredFields(_value).Remove();
        return _value.Exists;
    }

    /// <summary>One field, each as likely as another.</summary>
    /// <returns>False when all have expired: the key has gone.</returns>
    public bool TryRandom(scoped ref Dice dice, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        const int draws = 64;
        for (int draw = 0; draw < draws; draw++)
            if (View.Random(ref dice, out field, out value)) return true;
        field = value = default;
        return RemoveExpired() && View.Random(ref dice, out field, out value);
    }

    /// <summary>Makes room for fields and values: all that can fail.</summary>
    /// <param name="fields">How many are set.</param>
    /// <param name="bytes">Of all fields and values.</param>
    /// <param name="longest">Of the longest field or value.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserve(int fields, long bytes, int longest)
    {
        Debug.Assert(fields > 0 && longest >= 0 && bytes >= longest, "the fields are as they were counted");
        long packed = bytes + (10L * fields);
        if (!_value.Exists || IsPacked)
        {
            PackedLimits limits = _value.Limits;
            int used = 0, more = 0;
            if (_value.Exists)
            {
                used = _value.Run.Used;
                if (Packed.HasExpiries) more = fields * PackedFields.NoExpirySize;
            }

            // Far more fields than are packed: not one by one into a run first.
            if (longest <= limits.HashBytes && used + packed + more <= PackedRun.BytesMax
                && Count + fields <= PackedLimits.Twice(limits.HashEntries))
                return _value.TryReserveRun(ValueKind.PackedHash,
                    used + more + (int)(longest < 254 ? bytes + (2L * fields) : packed));
            if (!TryUnpack(packed)) return false;
        }

        const long rest = 8 + 16;       // of the last unit, and of a field that keeps its expiry
        if (_value.TryReserve(packed + (rest * fields) + MemberTable.ReserveBytes(_value.Region, fields))) return true;
        if (Count == 0) _value.Delete();        // a new hash that got a table, and then no room for its fields, is none
        return false;
    }

    /// <summary>Sets a field.</summary>
    /// <param name="field">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <param name="keepExpiry">Whether it goes on to expire when it did; else it lives as long as the hash.</param>
    /// <returns>Whether it is new.</returns>
    public bool Set(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, bool keepExpiry = false)
    {
        Debug.Assert(_value.Exists && _value.Type == DataType.Hash, "room was reserved");
        if (!IsPacked) return SetInTable(field, value, keepExpiry);
        var fields = Packed;
        byte* at = fields.Find(field);
        if (at == null)
        {
            fields.Append(field, value);
            return true;
        }

        if (!fields.HasExpiries)
        {
            fields.ReplaceValue(at, value);
            return false;
        }

        fields.Next(at, out _, out _, out long expiryMs);
        bool expired = FieldExpiry.IsPast(expiryMs, _value.NowMs);
        if (expired) ExpiredFields.Tell(_value, field);
        fields = fields.ReplaceValue(at, value);
        if (expiryMs == FieldExpiry.None || (keepExpiry && !expired)) return false;
        fields.SetExpiry(at, FieldExpiry.None);
        _value.NoteFieldExpiry(had: true, expired ? 1 : 0);
        return expired;
    }

    private bool SetInTable(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, bool keepExpiry)
    {
        var table = Table;
        ulong hash = table.Members.HashOf(field);
        uint* place = table.Members.Find(field, hash);
        if (place == null)
        {
            table.Members.Insert(table.Write(field, value, FieldExpiry.None), hash);
            return true;
        }

        long expiryMs = table.Replace(place, field, value, keepExpiry, _value.NowMs);
        if (expiryMs == FieldExpiry.None) return false;
        bool expired = FieldExpiry.IsPast(expiryMs, _value.NowMs);
        if (expired) ExpiredFields.Tell(_value, field);
        _value.NoteFieldExpiry(had: true, expired ? 1 : 0);
        return expired;
    }

    /// <summary>Removes a field. Needs no memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(ReadOnlySpan<byte> field)
    {
        if (!TryFind(field, out var place)) return false;
        bool expired = FieldExpiry.IsPast(place.ExpiryMs, _value.NowMs);
        Remove(field, place, expired);
        return !expired;
    }

    /// <summary>What <see cref="SetExpiry"/> would do, and the memory that it takes.</summary>
    /// <param name="field">Its name.</param>
    /// <param name="expiryMs">Unix milliseconds, at most <see cref="FieldExpiry.ClientMaxMs"/>.</param>
    /// <param name="rule">When it may be changed.</param>
    /// <param name="bytes">What it takes is added, for <see cref="TryReserveExpiries"/>.</param>
    public FieldExpiryStatus AskExpiry(ReadOnlySpan<byte> field, long expiryMs, FieldExpiryRule rule, ref long bytes)
    {
        Debug.Assert(expiryMs is >= 0 and <= FieldExpiry.ClientMaxMs && bytes >= 0, "a time has its bounds");
        bool isThere = TryFind(field, out var place);
        var status = Judge(isThere, place, expiryMs, rule);
        if (status != FieldExpiryStatus.Changed) return status;
        if (place.Packed != null) bytes += PackedFields.ExpirySize;
        else if (HashItem.ExpiryOf(MemberItem.PayloadOf(Table.Members.ItemAt(place.Item))) == null)
            bytes += Region.SizeOf(HashItem.SizeOf(Table.Members.ItemAt(place.Item)) + (2 * PackedFields.ExpirySize));
        return status;
    }

    /// <summary>Makes room for expiries of fields: all that can fail.</summary>
    /// <param name="bytes">As <see cref="AskExpiry"/> has added up.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserveExpiries(long bytes)
    {
        Debug.Assert(Count != 0 && bytes >= 0, "there are fields, and what they take was added up");
        if (!IsPacked) return _value.TryReserve(bytes);
        long run = _value.Run.Used + Packed.BeginBytes + bytes;
        // A run that gets too long: every field may have to move to an item with room for an expiry.
        if (run > PackedRun.BytesMax) return TryUnpack(_value.Run.Used + (32L * Count));
        if (!_value.TryReserveRun(ValueKind.PackedHash, (int)run)) return false;
        Packed.Begin();
        return true;
    }

    /// <summary>Makes a field expire.</summary>
    /// <inheritdoc cref="AskExpiry"/>
    public FieldExpiryStatus SetExpiry(ReadOnlySpan<byte> field, long expiryMs, FieldExpiryRule rule)
    {
        bool isThere = TryFind(field, out var place);
        var status = Judge(isThere, place, expiryMs, rule);
        if (status == FieldExpiryStatus.Removed) Remove(field, place, expired: true);
        if (status == FieldExpiryStatus.Changed) WriteExpiry(place, expiryMs);
        return status;
    }

    /// <summary>Lets a field live as long as the hash. Needs no memory.</summary>
    public FieldExpiryStatus Persist(ReadOnlySpan<byte> field)
    {
        if (!TryFind(field, out var place) || FieldExpiry.IsPast(place.ExpiryMs, _value.NowMs))
            return FieldExpiryStatus.NoField;
        if (place.ExpiryMs == FieldExpiry.None) return FieldExpiryStatus.Unchanged;
        _value.BeginChange();
        WriteExpiry(place, FieldExpiry.None);
        return FieldExpiryStatus.Changed;
    }

    /// <summary>Ends a change: an empty hash is deleted, one that is too long for a run gets a table (if there is
    /// memory; else next time).</summary>
    public void Settle()
    {
        if (!_value.Exists) return;
        long count = Count;
        if (count == 0) _value.Delete();
        else if (IsPacked && count > _value.Limits.HashEntries) TryUnpack(0);
        else _value.TidyRegion();
    }

    /// <summary>Finds a field, expired or not.</summary>
    private bool TryFind(ReadOnlySpan<byte> field, out Place place)
    {
        place = default;
        if (!_value.Exists) return false;       // the last one may just have gone
        if (IsPacked)
        {
            place.Packed = Packed.Find(field);
            if (place.Packed != null) Packed.Next(place.Packed, out _, out _, out place.ExpiryMs);
            return place.Packed != null;
        }

        place.Item = Table.Members.Find(field, Table.Members.HashOf(field));
        if (place.Item != null)
            place.ExpiryMs = HashItem.Read(MemberItem.PayloadOf(Table.Members.ItemAt(place.Item)), out _);
        return place.Item != null;
    }

    private FieldExpiryStatus Judge(bool isThere, in Place place, long expiryMs, FieldExpiryRule rule) =>
        !isThere || FieldExpiry.IsPast(place.ExpiryMs, _value.NowMs) ? FieldExpiryStatus.NoField
            : !rule.Allows(place.ExpiryMs, expiryMs) ? FieldExpiryStatus.Unchanged
            : FieldExpiry.IsPast(expiryMs, _value.NowMs) ? FieldExpiryStatus.Removed
            : FieldExpiryStatus.Changed;

    private void WriteExpiry(in Place place, long expiryMs)
    {
        Debug.Assert(place.Packed != null || place.Item != null, "the field is there");
        bool had = _value.FieldExpiryMs != FieldExpiry.Never;
        if (place.Packed != null) Packed.SetExpiry(place.Packed, expiryMs);
        else Table.SetExpiry(place.Item, expiryMs);
        _value.NoteFieldExpiry(had);
    }

    private void Remove(ReadOnlySpan<byte> field, in Place place, bool expired)
    {
        Debug.Assert(place.Packed != null || place.Item != null, "the field is there");
        _value.BeginChange();
        if (FieldExpiry.IsPast(place.ExpiryMs, _value.NowMs)) _value.Tell(KeyNote.FieldsExpired);
        if (expired) ExpiredFields.Tell(_value, field);
        bool had = place.ExpiryMs != FieldExpiry.None;
        if (place.Packed != null) Packed.Remove(place.Packed);
        else Table.Remove(place.Item, Table.Members.HashOf(field));
        if (had | expired) _value.NoteFieldExpiry(had || _value.FieldExpiryMs != FieldExpiry.Never, expired ? 1 : 0);
    }

    /// <summary>Makes a packed hash, or none, one with a table.</summary>
    private bool TryUnpack(long moreBytes)
    {
        Debug.Assert(moreBytes >= 0 && (!_value.Exists || IsPacked), "a run, or nothing, becomes a table");
        long count = Count, used = 0;
        if (_value.Exists) used = _value.Run.Used + (Packed.HasExpiries ? 8 * count : 0);
        Region region = Region.Create(_value.Budget,
            used + (8 * count) + moreBytes + MemberTable.ReserveBytes(default, count));
        if (region.IsNone) return false;
        var table = new FieldTable(region, in _value.Hash);
        table.Members.Begin();
        if (count != 0)
        {
            byte* at = Packed.First;
            // Ends: each round goes on by a field.
            while ((at = Packed.Next(at, out var field, out var value, out long expiryMs)) != null)
                table.Members.Insert(table.Write(field, value, expiryMs), table.Members.HashOf(field));
        }

        return _value.TryBecome(ValueKind.Hash, region);
    }

    /// <summary>Where a field is: in a run, or in a table.</summary>
    private struct Place
    {
        public byte* Packed;
        public uint* Item;
        public long ExpiryMs;
    }
}
