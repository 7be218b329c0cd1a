namespace Kv.Storage;

/// <summary>Removes the fields of a held hash whose time has come.</summary>
/// <remarks>Needs no memory. Whoever removes the last field deletes the key.</remarks>
internal readonly ref struct ExpiredFields(HeldValue value)
{
    private readonly HeldValue _value = value;

    /// <summary>Whether there may be any. False is certain.</summary>
    public bool MayExist => _value.FieldExpiryMs <= _value.NowMs;

    /// <summary>Removes all of them.</summary>
    /// <remarks>Cost: a walk over the hash, if there may be any.</remarks>
    public void Remove() => Remove(long.MaxValue, out _);

    /// <summary>Removes some, going on where the last call ended.</summary>
    /// <param name="bucketsMax">How many buckets of a large hash are looked at; a packed one is done at once.</param>
    /// <param name="more">Whether there are buckets left to look at.</param>
    public void Remove(long bucketsMax, out bool more)
    {
        more = false;
        if (!MayExist) return;
        long removed;
        if (_value.Kind == ValueKind.PackedHash)
        {
            _value.BeginChange(ChangeCause.Time);       // what a run says is exact: there is one
            removed = new PackedFields(_value.Run).RemoveExpired(_value.NowMs, new Told(_value));
        }
        else
        {
            _value.KeepForSnapshot();
            removed = new FieldTable(_value.Region, in _value.Hash).RemoveExpired(_value.NowMs, bucketsMax,
                new Told(_value), out more);
            if (removed != 0) _value.BeginChange(ChangeCause.Time);     // nobody reads a region without the lock
        }

        _value.NoteFieldExpiry(had: true, removed);
        if (removed != 0) _value.Tell(KeyNote.FieldsExpired);
        if (_value.View.Exists && IsEmpty)
        {
            _value.Delete();
            _value.SeeTime();
        }
        else if (removed != 0)
        {
            _value.NoteIfSparse();
        }
    }

    private bool IsEmpty => _value.Kind == ValueKind.PackedHash
        ? new PackedFields(_value.Run).Count == 0
        : new FieldTable(_value.Region, in _value.Hash).Members.Count == 0;

    /// <summary>Tells those who listen of a field that is about to go because its time has passed.</summary>
    public static void Tell(HeldValue value, ReadOnlySpan<byte> field) =>
        value.Tell(new KeyDetail(KeyDetailKind.FieldExpired) { Member = field });

    private readonly ref struct Told(HeldValue value) : IFieldVisit
    {
        private readonly HeldValue _value = value;

        public void Visit(ReadOnlySpan<byte> field) => Tell(_value, field);
    }
}
