using System.Buffers.Text;

namespace Kv.Storage;

/// <summary>Hashes of a session's database: fields with values, which may expire one by one. <see cref="StoreTypes"/>
/// says what holds for all operations.</summary>
/// <remarks>A field that has expired is not there for any of them, but for <see cref="Count"/>. Cost: O(1) a field,
/// where nothing else is said.</remarks>
public readonly struct StoreHashes
{
    private const int NumberBytesMax = 20;

    private readonly StoreSession _session;

    internal StoreHashes(StoreSession session) => _session = session;

    /// <summary>Sets a field; it lives as long as the hash, also where it was to expire.</summary>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) =>
        Set(key, field, value, out _);

    /// <inheritdoc cref="Set(ReadOnlySpan{byte}, ReadOnlySpan{byte}, ReadOnlySpan{byte})"/>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <param name="isNew">Whether there was no such field.</param>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, out bool isNew)
    {
        isNew = false;
        using HeldKey held = Hold(key, field, value.Length);
        var status = Reserve(held, field, value.Length);
        if (status != StoreStatus.Ok) return status;
        var hash = new HashValue(held.Value);
        isNew = hash.Set(field, value);
        hash.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Sets fields, as one step: all, or (not Ok) none.</summary>
    /// <param name="key">The key.</param>
    /// <param name="fields">Of a name that is there twice, the last value counts. None: nothing is done.</param>
    /// <param name="created">How many are new.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Set(ReadOnlySpan<byte> key, FieldBuffer fields, out int created)
    {
        created = 0;
        if (fields.Count == 0) return StoreStatus.Ok;
        long bytes = fields.Elements.Bytes;
        int longest = fields.Elements.Longest;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash,
            HashValue.ExpectedBytes(fields.Count, bytes, longest));
        if (held.Status != StoreStatus.Ok) return held.Status;
        var hash = new HashValue(held.Value);
        if (KeyOperations.IsTooLarge(longest)) return StoreStatus.TooLarge;
        if (!hash.TryReserve(fields.Count, bytes, longest)) return StoreStatus.OutOfMemory;
        for (int i = 0; i < fields.Count; i++)
            if (hash.Set(fields.Field(i), fields.Value(i))) created++;
        hash.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Sets a field unless it is there.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <param name="isSet">False: it is there, and stays as it was.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus SetIfAbsent(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value,
        out bool isSet)
    {
        isSet = false;
        using HeldKey held = Hold(key, field, value.Length);
        if (held.Status == StoreStatus.Ok && held.Value.Exists && new HashValue(held.Value).View.TryGet(field, out _))
            return StoreStatus.Ok;
        var status = Reserve(held, field, value.Length);
        if (status != StoreStatus.Ok) return status;
        var hash = new HashValue(held.Value);
        hash.Set(field, value);
        hash.Settle();
        isSet = true;
        return StoreStatus.Ok;
    }

    /// <summary>Copies the value of a field.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="value">The caller's to dispose; empty unless the status is Ok.</param>
    /// <returns>Ok, NotFound (no such key or field) or WrongType.</returns>
    public StoreStatus Get(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, out PooledBytes value)
    {
        value = default;
        var status = Read(key, field, ref value);
        if (status != StoreStatus.Ok) value.Dispose();      // what a read took that was not the last
        return status;
    }

    /// <summary>Lets the caller's struct see the value of a field where it lies.</summary>
    /// <returns>Ok, NotFound (no such key or field) or WrongType; unless it is Ok, what the struct has seen is
    /// void.</returns>
    public StoreStatus Read<TRead>(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, ref TRead read)
        where TRead : struct, IElementRead
    {
        scoped var take = new ReadField<TRead>(ref read, field, in _session.MemberHash, _session.NowMs);
        var status = _session.Read(_session.Key(key), DataType.Hash, ref take);
        return status == StoreStatus.Ok && !take.IsThere ? StoreStatus.NotFound : status;
    }

    /// <summary>Whether a hash has a field.</summary>
    /// <returns>Ok, NotFound (no such key or field) or WrongType.</returns>
    public StoreStatus Contains(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field)
    {
        var nothing = default(ReadNothing);
        return Read(key, field, ref nothing);
    }

    /// <summary>Counts the fields; those that have expired count until they are removed, within about a
    /// second.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count) => _session.Count(key, DataType.Hash, out count);

    /// <summary>Removes a field.</summary>
    /// <returns>Ok, NotFound (no such key or field) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var hash = new HashValue(held.Value);
        bool removed = hash.Remove(field);
        hash.Settle();
        return removed ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Adds to the integer in a field; a missing one counts as 0. When it expires stays as it was.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="increment">May be negative.</param>
    /// <param name="sum">The value from now on; unless the status is Ok, 0.</param>
    public IncrementStatus Increment(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, long increment, out long sum)
    {
        sum = 0;
        long value = 0;
        using HeldKey held = Hold(key, field, NumberBytesMax);
        if (held.Status == StoreStatus.Ok && held.Value.Exists
            && new HashValue(held.Value).View.TryGet(field, out var text)
            && !IntegerText.TryParse(text, out value)) return IncrementStatus.NotANumber;
        long added = unchecked(value + increment);
        if (((value ^ added) & (increment ^ added)) < 0) return IncrementStatus.Overflow;
        var status = Reserve(held, field, NumberBytesMax);
        if (status != StoreStatus.Ok) return (IncrementStatus)status;
        Span<byte> digits = stackalloc byte[NumberBytesMax];
        Utf8Formatter.TryFormat(added, digits, out int length);
        var hash = new HashValue(held.Value);
        hash.Set(field, digits[..length], keepExpiry: true);
        hash.Settle();
        sum = added;
        return IncrementStatus.Ok;
    }

    /// <summary>Copies all fields, as of one instant.</summary>
    /// <param name="key">The key.</param>
    /// <param name="fields">Emptied first.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(fields); others who want the key wait.</remarks>
    public StoreStatus GetAll(ReadOnlySpan<byte> key, FieldBuffer fields)
    {
        fields.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var all = default(HashFields);
        var budget = default(Unbounded);
        all.Run(new HashValue(held.Value).View, fields, ref budget);
        return fields.Count == 0 ? StoreStatus.NotFound : StoreStatus.Ok;
    }

    /// <summary>Copies some fields.</summary>
    /// <param name="key">The key.</param>
    /// <param name="cursor">0 to begin, else as the last call left it; 0 then: done.</param>
    /// <param name="page">Emptied first; some ten fields, or all of a small hash.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>A field that is there from the first call to the last is met at least once, whatever changes meanwhile;
    /// one may be met twice.</remarks>
    public StoreStatus Scan(ReadOnlySpan<byte> key, ref ulong cursor, FieldBuffer page)
    {
        page.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status == StoreStatus.Ok)
        {
            var visit = new CopyFields(page);
            cursor = new HashValue(held.Value).View.Scan(cursor, ref visit);
        }
        else
        {
            cursor = 0;
        }

        return held.Status;
    }

    /// <summary>Copies different fields at random; every set of that size is equally likely.</summary>
    /// <param name="key">The key.</param>
    /// <param name="count">How many at most.</param>
    /// <param name="fields">Emptied first.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(count) where fields are more than eight times as many, else O(fields); the same where some have
    /// just expired.</remarks>
    public StoreStatus Sample(ReadOnlySpan<byte> key, int count, FieldBuffer fields)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        fields.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var hash = new HashValue(held.Value);
        if (!hash.RemoveExpired()) return StoreStatus.NotFound;
        var sink = new CopyPairs(fields);
        var all = default(Unbounded);
        var sample = new MemberSample(Math.Min(count, hash.Count));
        try
        {
            hash.View.Sample(ref sample, held.Value.Budget, ref sink, ref all);
        }
        finally
        {
            sample.Dispose();
        }

        return StoreStatus.Ok;
    }

    /// <summary>Makes a field expire.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="expiryMs">Unix milliseconds, from 0 to 2^46 - 1. One that has passed removes the field.</param>
    /// <param name="rule">When its expiry may be changed.</param>
    /// <param name="result">What has become of it.</param>
    /// <returns>Ok (look at the result), NotFound (no such key), WrongType or OutOfMemory.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The time is not in its bounds.</exception>
    public StoreStatus SetExpiry(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, long expiryMs, FieldExpiryRule rule,
        out FieldExpiryStatus result)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(expiryMs);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(expiryMs, FieldExpiry.ClientMaxMs);
        result = FieldExpiryStatus.NoField;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var hash = new HashValue(held.Value);
        long bytes = 0;
        if (hash.AskExpiry(field, expiryMs, rule, ref bytes) == FieldExpiryStatus.Changed
            && !hash.TryReserveExpiries(bytes)) return StoreStatus.OutOfMemory;
        result = hash.SetExpiry(field, expiryMs, rule);
        hash.Settle();
        return StoreStatus.Ok;
    }

    /// <summary>Lets a field live as long as the hash.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="result">Changed; Unchanged: it had no expiry; NoField.</param>
    /// <returns>Ok (look at the result), NotFound (no such key) or WrongType.</returns>
    public StoreStatus Persist(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, out FieldExpiryStatus result)
    {
        result = FieldExpiryStatus.NoField;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Hash);
        if (held.Status == StoreStatus.Ok) result = new HashValue(held.Value).Persist(field);
        return held.Status;
    }

    /// <summary>Tells when a field expires.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Its name.</param>
    /// <param name="expiryMs">Unix milliseconds; -1: it lives as long as the hash.</param>
    /// <returns>Ok, NotFound (no such key or field) or WrongType.</returns>
    public StoreStatus GetExpiry(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, out long expiryMs)
    {
        var nothing = default(ReadNothing);
        scoped var take = new ReadField<ReadNothing>(ref nothing, field, in _session.MemberHash, _session.NowMs);
        var status = _session.Read(_session.Key(key), DataType.Hash, ref take);
        bool isThere = status == StoreStatus.Ok && take.IsThere;
        expiryMs = isThere ? take.ExpiryMs : FieldExpiry.None;      // what a read took that was not the last is void
        return status == StoreStatus.Ok && !isThere ? StoreStatus.NotFound : status;
    }

    private HeldKey Hold(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, int valueLength) =>
        _session.Hold(_session.Key(key), DataType.Hash,
            HashValue.ExpectedBytes(1, (long)field.Length + valueLength, Math.Max(field.Length, valueLength)));

    private static StoreStatus Reserve(in HeldKey held, ReadOnlySpan<byte> field, int valueLength)
    {
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(Math.Max(field.Length, valueLength))) return StoreStatus.TooLarge;
        bool done = new HashValue(held.Value)
            .TryReserve(1, (long)field.Length + valueLength, Math.Max(field.Length, valueLength));
        return done ? StoreStatus.Ok : StoreStatus.OutOfMemory;
    }

    private struct ReadNothing : IElementRead
    {
        public readonly void Read(ReadOnlySpan<byte> element)
        {
        }
    }

    /// <summary>Shows one field's value to a reader.</summary>
    private ref struct ReadField<TRead> : IValueRead where TRead : struct, IElementRead
    {
        private readonly ref TRead _read;
        private readonly ReadOnlySpan<byte> _field;
        private readonly ref readonly KeyHash _hash;
        private readonly long _nowMs;

        public ReadField(ref TRead read, ReadOnlySpan<byte> field, ref readonly KeyHash hash, long nowMs)
        {
            _read = ref read;
            _field = field;
            _hash = ref hash;
            _nowMs = nowMs;
            ExpiryMs = FieldExpiry.None;
        }

        public bool IsThere { get; private set; }

        public long ExpiryMs { get; private set; }

        public void Read(in ValueView value)
        {
            IsThere = new HashView(value, in _hash, _nowMs).TryGet(_field, out var found, out long expiryMs);
            ExpiryMs = IsThere ? expiryMs : FieldExpiry.None;
            if (IsThere) _read.Read(found);
        }
    }

    private readonly struct CopyPairs(FieldBuffer fields) : IPairSink
    {
        public void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) => fields.Add(field, value);
    }

    private readonly unsafe struct CopyFields(FieldBuffer page) : IMemberVisit
    {
        public void Visit(byte* item)
        {
            HashView.Split(item, out var field, out var value);
            page.Add(field, value);
        }
    }
}
