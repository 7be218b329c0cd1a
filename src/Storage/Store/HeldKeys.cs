using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Keys that the caller alone may read and change until it disposes this.</summary>
/// <remarks>Indexes are those of the <see cref="KeyList"/>; a key that is there twice is one. Readers of these keys
/// wait: be quick.</remarks>
public readonly unsafe ref struct HeldKeys : IHeldKeys
{
    private readonly KeyList _keys;
    private readonly KeyLocks _locks;
    private readonly RecordChanges _changes;
    private readonly KeyPlaces? _places;

    internal HeldKeys(KeyList keys, KeyLocks locks, RecordChanges changes, StoreStatus status)
    {
        _keys = keys;
        _locks = locks;
        _changes = changes;
        Status = status;
    }

    /// <summary>Keys of a transaction, which goes on to hold them.</summary>
    internal HeldKeys(KeyPlaces places, KeyLocks locks, RecordChanges changes)
    {
        _keys = null!;
        _places = places;
        _locks = locks;
        _changes = changes;
    }

    /// <summary>Ok; or <see cref="StoreStatus.OutOfMemory"/>, then nothing is held.</summary>
    public StoreStatus Status { get; }

    /// <summary>Whether the key has a value now.</summary>
    public bool Exists(int index) => Held(index).Exists;

    /// <summary>The value now; stable until this key is next changed.</summary>
    public ValueView View(int index) => Held(index).View;

    /// <inheritdoc cref="StoreSession.Update"/>
    public StoreStatus Update<TUpdate>(int index, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        ref HeldRecord held = ref Held(index);
        var status = _changes.Apply(ref held, type, ref update);
        Store(ref held);
        return status;
    }

    /// <summary>The value as a string, without expiry.</summary>
    public StoreStatus Set(int index, ReadOnlySpan<byte> value, Block block = default)
    {
        var update = new SetString(value, block, NewValue.NoExpiry);
        return Update(index, DataType.Any, ref update);
    }

    /// <summary>Gets the memory for a string, which <see cref="FinishSet"/> then makes the value: nothing has changed
    /// until then.</summary>
    /// <returns>Ok; OutOfMemory or TooLarge: disposing leaves every key as it was, unless some were finished
    /// already.</returns>
    /// <remarks>To set several keys or none: prepare all, then finish all. Of a key that is there twice the last value
    /// counts.</remarks>
    public StoreStatus PrepareSet(int index, ReadOnlySpan<byte> value, Block block = default)
    {
        ref HeldRecord held = ref Held(index);
        held.PreparedIndex = index;
        return _changes.PrepareString(ref held, value, block);
    }

    /// <summary>Makes a prepared string, without expiry, the value. Cannot fail.</summary>
    /// <param name="value">As it was prepared.</param>
    public void FinishSet(int index, ReadOnlySpan<byte> value)
    {
        ref HeldRecord held = ref Held(index);
        if (held.PreparedIndex != index) return;
        _changes.FinishString(ref held, value);
        Store(ref held);
    }

    /// <summary>Deletes the key; it stays held.</summary>
    /// <returns>Whether it had a value.</returns>
    public bool Delete(int index)
    {
        ref HeldRecord held = ref Held(index);
        if (!held.Exists) return false;
        _changes.MakeAbsent(ref held);
        Store(ref held);
        return true;
    }

    /// <summary>Makes the value of one key, of any type, that of another, with the given expiry (unix ms or
    /// -1).</summary>
    public StoreStatus Copy(int from, int to, long expiryMs)
    {
        Debug.Assert(Exists(from) && from != to, "what is copied is there, and goes elsewhere");
        HeldValue source = Value(from);
        if (source.Type == DataType.String)
        {
            var update = new CopyString(source.View, expiryMs);
            return Update(to, DataType.Any, ref update);
        }

        if (!RecordWord.HoldsRegion(Held(from).Word)) return Value(to).TryReplace(source.Kind, source.Bytes, expiryMs);
        Region copy = source.Region.Copy(source.Budget);
        if (copy.IsNone) return StoreStatus.OutOfMemory;
        var status = Value(to).TryReplace(source.Kind, copy, expiryMs);
        if (status != StoreStatus.Ok) copy.Free();
        return status;
    }

    /// <summary>Makes the value of one key that of another, with its expiry, and deletes it where it was. O(1) for
    /// large collections.</summary>
    public StoreStatus Move(int from, int to)
    {
        Debug.Assert(Exists(from) && from != to, "what is moved is there, and goes elsewhere");
        HeldValue source = Value(from);
        long expiryMs = source.View.ExpiryMs;
        if (!RecordWord.HoldsRegion(Held(from).Word))
        {
            var copied = Copy(from, to, expiryMs);
            if (copied == StoreStatus.Ok) Delete(from);
            return copied;
        }

        var status = Value(to).TryReplace(source.Kind, source.Region, expiryMs);
        if (status != StoreStatus.Ok) return status;
        _changes.MakeAbsent(ref Held(from), regionMoved: true);
        Store(ref Held(from));
        return StoreStatus.Ok;
    }

    IHeldSteps? IHeldKeys.TryBeginUse(IHeldUse use) => TryBeginUse(use);

    /// <inheritdoc cref="IHeldKeys.TryBeginUse"/>
    internal IHeldSteps? TryBeginUse(IHeldUse use) =>
        _places != null ? _places.BeginUse(use) : _locks.TryBeginUse(_keys, use);

    /// <summary>The value of a key, for a collection to work on.</summary>
    internal HeldValue Value(int index) => new(_changes, ref Held(index));

    /// <summary>Publishes and lets go of all keys.</summary>
    public void Dispose()
    {
        if (_places == null) _locks.Release();
    }

    private ref HeldRecord Held(int index)
    {
        Debug.Assert(Status == StoreStatus.Ok, "the keys are held");
        return ref _locks[_places != null ? _places[index] : _keys[index].Held];
    }

    // The word in memory says what the record is now, still locked: views and walks rely on it.
    private static void Store(ref HeldRecord held) => Record.WriteWord(held.Record, held.Word | RecordWord.Lock);

    private ref struct CopyString(ValueView source, long expiryMs) : IValueUpdate
    {
        private readonly ValueView _source = source;

        public readonly Change Decide(in ValueView current, ref NewValue next)
        {
            next.ExpiryMs = expiryMs;
            next.Kind = _source.Kind == ValueKind.BlockString ? ValueKind.String : _source.Kind;
            if (next.Kind == ValueKind.Integer) next.Integer = _source.Integer;
            else next.Length = _source.Bytes.Length;
            next.Block = _source.Block;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination) => _source.Bytes.CopyTo(destination);
    }
}
