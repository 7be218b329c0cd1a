using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Collects the fields of a new hash, each once, apart from the store; then makes it the value of a key.</summary>
/// <remarks>A small one stays in the order in which its fields came. Whoever makes one disposes it.</remarks>
internal unsafe ref struct HashBuilder
{
    private const int RunBytesFirst = 256;

    private readonly MemoryBudget _budget;
    private readonly PackedLimits _limits;
    private readonly ref readonly KeyHash _hash;
    private Region _region;

    // A run of the fields so far, as long as they are few; and for each a bit by its hash, so that most are known to be new.
    private byte* _run;
    private int _runBytes;
    private Filter _filter;

    public HashBuilder(MemoryBudget budget, PackedLimits limits, ref readonly KeyHash hash)
    {
        _budget = budget;
        _limits = limits;
        _hash = ref hash;
    }

    /// <summary>Fields so far.</summary>
    public readonly long Count => !_region.IsNone ? Table.Count : _run != null ? Run.Count / 2 : 0;

    private readonly MemberTable Table => new(_region, in _hash);

    private readonly PackedRun Run => new(_run, _runBytes);

    /// <summary>Adds a field.</summary>
    /// <param name="isNew">False: it was there, and stays as it was.</param>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, out bool isNew)
    {
        isNew = true;
        ulong hash = _hash.Of(field);
        if (_region.IsNone)
        {
            int bytes = LengthPrefix.SizeWith(field.Length) + LengthPrefix.SizeWith(value.Length), used = _run == null ? 0 : Run.Used;
            bool isSmall = Math.Max(field.Length, value.Length) <= _limits.HashBytes && Count < _limits.HashEntries && used + bytes <= PackedRun.BytesMax;
            if (isSmall) return TryAppend(field, value, hash, used, bytes, out isNew);
            if (!TryUnpack()) return false;
        }

        return TryInsert(field, value, hash, out isNew);
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

    private bool TryAppend(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, ulong hash, int used, int bytes, out bool isNew)
    {
        isNew = _filter.Add(hash) || Run.Find(field, skipElements: 1, skipBytes: 0) == null;
        if (!isNew) return true;
        if (PackedRun.HeaderBytes + used + bytes > _runBytes)
        {
            bool isFirst = _run == null;
            int room = Math.Max(RunBytesFirst, 2 * (PackedRun.HeaderBytes + used + bytes));
            _run = (byte*)NativeMemory.Realloc(_run, (nuint)room);
            _runBytes = room;
            if (isFirst) new PackedRun(_run, room).SetSize(0, 0);
        }

        PackedRun run = Run;
        LengthPrefix.WriteWith(LengthPrefix.WriteWith(run.End, field), value);
        run.SetSize(used + bytes, run.Count + 2);
        return true;
    }

    private bool TryInsert(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, ulong hash, out bool isNew)
    {
        isNew = Table.Find(field, hash) == null;
        if (!isNew) return true;
        int size = MemberItem.SizeOf(field.Length, LengthPrefix.SizeWith(value.Length));
        if (!Region.TryReserve(ref _region, _budget, size + Region.UnitBytes + MemberTable.ReserveBytes(_region, 1), out Region left)) return false;
        if (!left.IsNone) left.FreeMemory();        // nobody else knows of it
        Insert(field, value, hash, size);
        return true;
    }

    private readonly void Insert(scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> value, ulong hash, int size)
    {
        uint item = _region.Take(size);
        LengthPrefix.WriteWith(MemberItem.Write(_region.At(item), field), value);
        Table.Insert(item, hash);
    }

    /// <summary>Makes the run, or none, a table.</summary>
    private bool TryUnpack()
    {
        long count = Count;
        int used = _run == null ? 0 : Run.Used;
        _region = Region.Create(_budget, used + (8 * count) + MemberTable.ReserveBytes(default, Math.Max(1, count)));
        if (_region.IsNone) return false;
        Table.Begin();
        if (_run == null) return true;
        PackedRun run = Run;
        for (byte* at = run.First; at < run.End;)
        {
            at = run.Next(run.Next(at, out var field), out var value);
            Insert(field, value, _hash.Of(field), MemberItem.SizeOf(field.Length, LengthPrefix.SizeWith(value.Length)));
        }

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
