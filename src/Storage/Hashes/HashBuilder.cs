using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Collects the fields of a new hash, each once, apart from the store; then makes it the value of a
/// key.</summary>
/// <remarks>A small one stays in the order in which its fields came. Whoever makes one disposes it.</remarks>
internal unsafe struct HashBuilder
{
    private const int RunBytesFirst = 256;

    private readonly Store _store;
    private Region _region;

    // A run of the fields so far, as long as they are few; and for each a bit by its hash, so that most are known to be
    // new.
    private byte* _run;
    private int _runBytes;
    private Filter _filter;

    public HashBuilder(Store store) => _store = store;

    /// <summary>Fields so far.</summary>
    public readonly long Count => !_region.IsNone ? Table.Members.Count : _run != null ? Packed.Count : 0;

    private readonly FieldTable Table => new(_region, in _store.Hash);

    private readonly PackedRun Run => new(_run, _runBytes);

    private readonly PackedFields Packed => new(Run);

    /// <summary>Adds a field.</summary>
    /// <param name="field">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <param name="isNew">False: it was there, and stays as it was.</param>
    /// <param name="expiryMs">Unix milliseconds, or <see cref="FieldExpiry.None"/>.</param>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, out bool isNew,
        long expiryMs = FieldExpiry.None)
    {
        isNew = true;
        Debug.Assert(expiryMs >= FieldExpiry.None, "an expiry is a time, or none");
        ulong hash = _store.Hash.Of(field);
        if (_region.IsNone)
        {
            if (_run == null) Begin();
            int bytes = LengthPrefix.SizeWith(field.Length) + LengthPrefix.SizeWith(value.Length), used = Run.Used;
            if (expiryMs != FieldExpiry.None) bytes += PackedFields.ExpirySize + Packed.BeginBytes;
            else if (Packed.HasExpiries) bytes += PackedFields.NoExpirySize;
            bool isSmall = Math.Max(field.Length, value.Length) <= _store.PackedLimits.HashBytes
                && Count < _store.PackedLimits.HashEntries && used + bytes <= PackedRun.BytesMax;
            if (isSmall) return TryAppend(field, value, expiryMs, hash, used + bytes, out isNew);
            if (!TryUnpack()) return false;
        }

        return TryInsert(field, value, expiryMs, hash, out isNew);
    }

    /// <summary>Makes the hash the value of a key, whatever was there; without fields the key is deleted.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs = NewValue.NoExpiry)
    {
        if (Count == 0)
        {
            if (target.Exists) target.Delete();
            return StoreStatus.Ok;
        }

        if (_region.IsNone)
        {
            int bytes = Math.Max(sizeof(long), PackedRun.HeaderBytes + Run.Used);
            return target.TryReplace(ValueKind.PackedHash, new ReadOnlySpan<byte>(_run, bytes), expiryMs);
        }

        var status = target.TryReplace(ValueKind.Hash, _region, expiryMs);
        if (status == StoreStatus.Ok) _region = default;        // the record's now
        return status;
    }

    /// <summary>Frees what was not handed over.</summary>
    public void Dispose()
    {
        if (!_region.IsNone) _region.Free();
        _region = default;
        NativeMemory.Free(_run);
        _run = null;
    }

    private void Begin()
    {
        Debug.Assert(_region.IsNone && _run == null, "a hash begins as a run, once");
        _run = (byte*)NativeMemory.Alloc(RunBytesFirst);
        _runBytes = RunBytesFirst;
        Run.SetSize(0, 0);
    }

    private bool TryAppend(
        scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs, ulong hash, int bytes,
        out bool isNew)
    {
        isNew = _filter.Add(hash) || Packed.Find(field) == null;
        if (!isNew) return true;
        if (PackedRun.HeaderBytes + bytes > _runBytes)
        {
            _runBytes = 2 * (PackedRun.HeaderBytes + bytes);
            _run = (byte*)NativeMemory.Realloc(_run, (nuint)_runBytes);
        }

        if (expiryMs != FieldExpiry.None) Packed.Begin();
        byte* at = Run.End;
        Packed.Append(field, value);
        if (expiryMs != FieldExpiry.None) Packed.SetExpiry(at, expiryMs);
        return true;
    }

    private bool TryInsert(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, long expiryMs, ulong hash,
        out bool isNew)
    {
        isNew = Table.Members.Find(field, hash) == null;
        if (!isNew) return true;
        int size = HashItem.SizeOf(field.Length, value.Length, expiryMs != FieldExpiry.None);
        if (!Region.TryReserve(ref _region, _store.Budget,
            size + Region.UnitBytes + MemberTable.ReserveBytes(_region, 1))) return false;
        Table.Members.Insert(Table.Write(field, value, expiryMs), hash);
        return true;
    }

    /// <summary>Makes the run a table.</summary>
    private bool TryUnpack()
    {
        long count = Count, used = Run.Used + (Packed.HasExpiries ? 8 * count : 0);
        Debug.Assert(_run != null && _region.IsNone, "a run becomes a table once");
        _region = Region.Create(_store.Budget,
            used + (8 * count) + MemberTable.ReserveBytes(default, Math.Max(1, count)));
        if (_region.IsNone) return false;
        Table.Members.Begin();
        // Ends: each round goes on by a field.
        for (byte* at = Packed.First; (at = Packed.Next(at, out var field, out var value, out long expiryMs)) != null;)
            Table.Members.Insert(Table.Write(field, value, expiryMs), _store.Hash.Of(field));
        NativeMemory.Free(_run);
        _run = null;
        return true;
    }

    /// <summary>Says of a hash that it is new, or that it may not be.</summary>
    private struct Filter
    {
        private Words _words;

        /// <summary>Whether no such hash was there.</summary>
        public bool Add(ulong hash)
        {
            int word = (int)(hash >> 6) & (Words.Count - 1);
            ulong bit = 1UL << (int)(hash & 63);
            bool isNew = (_words[word] & bit) == 0;
            _words[word] |= bit;
            return isNew;
        }

        [InlineArray(Count)]
        private struct Words
        {
            public const int Count = 64;
            private ulong _first;
        }
    }
}
