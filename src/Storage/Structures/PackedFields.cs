using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   without expiries, count = 2 x fields:
//   | used 2 | count 2 | field | value | field | value | ...                            each with its length prefix
//
//   with expiries, count = 2 x fields + 1:
//   | used 2 | count 2 | 8 | earliest 8 | field | value | expiry | field | value | expiry | ...
//   expiry:  | 0 |  none        | 6 | unix ms 6 |        earliest: of all fields, exact; 2^63 - 1: none has one
//
// A hash changes to the second form when a field first gets an expiry, and keeps it.

/// <summary>The fields of a small hash in its record.</summary>
/// <remarks>As <see cref="PackedRun"/>: reading is safe whatever the bytes are; changes are for the owner of the lock,
/// within what was reserved.</remarks>
internal readonly unsafe struct PackedFields(PackedRun run)
{
    private const int HeaderBytes = 1 + sizeof(long), ExpiryBytes = 6;

    /// <summary>What a field takes more once any field of the hash has had an expiry: one without, and one
    /// with.</summary>
    public const int NoExpirySize = 1, ExpirySize = 1 + ExpiryBytes;

    private readonly PackedRun _run = run;

    /// <summary>Fields, expired ones too.</summary>
    public int Count => _run.Count / 2;

    /// <summary>Whether fields have room for an expiry.</summary>
    public bool HasExpiries => (_run.Count & 1) != 0;

    /// <summary>The first field, for <see cref="Next"/>.</summary>
    public byte* First => HasExpiries ? _run.First + HeaderBytes : _run.First;

    /// <summary>When the first field expires.</summary>
    public long EarliestMs => HasExpiries && _run.End - _run.First >= HeaderBytes
        ? Unsafe.ReadUnaligned<long>(_run.First + 1) : FieldExpiry.Never;

    /// <summary>Bytes that it takes to give all fields room for an expiry.</summary>
    public int BeginBytes => HasExpiries ? 0 : HeaderBytes + (Count * NoExpirySize);

    private int SkipElements => HasExpiries ? 2 : 1;

    /// <summary>Finds a field.</summary>
    /// <returns>Where it begins; null: it is not there.</returns>
    public byte* Find(ReadOnlySpan<byte> field) => _run.FindFrom(First, field, SkipElements);

    /// <summary>The field at a place.</summary>
    /// <returns>What follows it; null at the end.</returns>
    public byte* Next(byte* at, out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value, out long expiryMs)
    {
        value = default;
        expiryMs = FieldExpiry.None;
        if (at == null || (at = _run.Next(at, out field)) == null)
        {
            field = default;
            return null;
        }

        at = _run.Next(at, out value);
        if (at == null || !HasExpiries) return at;
        at = _run.Next(at, out var expiry);
        if (expiry.Length == ExpiryBytes) expiryMs = Read(expiry);
        return at;
    }

    /// <summary>Gives all fields room for an expiry. There must be <see cref="BeginBytes"/>.</summary>
    public PackedFields Begin()
    {
        if (HasExpiries) return this;
        int count = Count, more = BeginBytes;
        var run = _run.Splice(_run.First, 0, more, 1);
        byte* from = run.First + more, to = run.First;
        *to = sizeof(long);
        Unsafe.WriteUnaligned(to + 1, FieldExpiry.Never);
        to += HeaderBytes;
        // Each field moves down less than the one before: what is written never reaches what is still to be read.
        for (; count > 0; count--)
        {
            byte* behind = run.Next(run.Next(from, out _), out _);
            long bytes = behind - from;
            Buffer.MemoryCopy(from, to, bytes, bytes);
            to += bytes;
            *to++ = 0;
            from = behind;
        }

        return new PackedFields(run);
    }

    /// <summary>Adds a field that is not there, without an expiry.</summary>
    public void Append(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        Debug.Assert(Find(field) == null, "it is not there");
        byte* end = _run.End;
        _run.Splice(end, 0, LengthPrefix.SizeWith(field.Length) + LengthPrefix.SizeWith(value.Length)
            + (HasExpiries ? NoExpirySize : 0), 2);
        end = LengthPrefix.WriteWith(LengthPrefix.WriteWith(end, field), value);
        if (HasExpiries) *end = 0;
    }

    /// <summary>Gives the field at a place another value.</summary>
    public PackedFields ReplaceValue(byte* at, ReadOnlySpan<byte> value)
    {
        Debug.Assert(at >= First && at < _run.End, "the field is there");
        at = _run.Next(at, out _);
        byte* behind = _run.Next(at, out _);
        var run = _run.Splice(at, (int)(behind - at), LengthPrefix.SizeWith(value.Length), 0);
        LengthPrefix.WriteWith(at, value);
        return new PackedFields(run);
    }

    /// <summary>Gives the field at a place an expiry, or takes it; there must be room for one
    /// (<see cref="Begin"/>).</summary>
    /// <param name="expiryMs">Unix milliseconds, of 48 bits; <see cref="FieldExpiry.None"/>: none.</param>
    public PackedFields SetExpiry(byte* at, long expiryMs)
    {
        Debug.Assert(HasExpiries, "there is room for one");
        Debug.Assert(at >= First && at < _run.End, "the field is there");
        Debug.Assert(expiryMs is >= FieldExpiry.None and < 1L << (8 * ExpiryBytes), "an expiry has 48 bits");
        at = _run.Next(_run.Next(at, out _), out _);
        byte* behind = _run.Next(at, out var old);
        long oldMs = old.Length == ExpiryBytes ? Read(old) : FieldExpiry.None;
        bool expires = expiryMs != FieldExpiry.None;
        var fields = new PackedFields(_run.Splice(at, (int)(behind - at), expires ? ExpirySize : NoExpirySize, 0));
        *at = expires ? (byte)ExpiryBytes : (byte)0;
        if (expires)
        {
            Unsafe.WriteUnaligned(at + 1, (uint)expiryMs);
            Unsafe.WriteUnaligned(at + 1 + sizeof(uint), (ushort)(expiryMs >> 32));
        }

        if (oldMs != FieldExpiry.None && oldMs == fields.EarliestMs) fields.FindEarliest();
        else if (expires && expiryMs < fields.EarliestMs) fields.WriteEarliest(expiryMs);
        return fields;
    }

    /// <summary>Takes the field at a place out.</summary>
    public PackedFields Remove(byte* at)
    {
        Debug.Assert(at >= First && at < _run.End, "the field is there");
        byte* behind = Next(at, out _, out _, out long expiryMs);
        var fields = new PackedFields(_run.Splice(at, (int)(behind - at), 0, -2));
        if (expiryMs != FieldExpiry.None && expiryMs == fields.EarliestMs) fields.FindEarliest();
        return fields;
    }

    /// <summary>Takes out every field whose time has come.</summary>
    /// <param name="visit">Is shown each before it goes.</param>
    /// <returns>How many.</returns>
    public int RemoveExpired<TVisit>(long nowMs, in TVisit visit)
        where TVisit : struct, IFieldVisit, allows ref struct
    {
        var fields = this;
        int removed = 0;
        byte* at = fields.First;
        // Ends: each round goes on by a field, or takes one out.
        while (true)
        {
            byte* behind = fields.Next(at, out var field, out _, out long expiryMs);
            if (behind == null) break;
            if (!FieldExpiry.IsPast(expiryMs, nowMs))
            {
                at = behind;
                continue;
            }

            visit.Visit(field);
            fields = new PackedFields(fields._run.Splice(at, (int)(behind - at), 0, -2));
            removed++;
        }

        fields.FindEarliest();
        return removed;
    }

    /// <summary>Walks all fields and throws, with what is wrong, when they disagree with the header. For
    /// tests.</summary>
    public void Check()
    {
        int count = 0;
        long earliest = FieldExpiry.Never;
        byte* at = First;
        for (byte* behind; (behind = Next(at, out _, out _, out long expiryMs)) != null; at = behind, count++)
            if (expiryMs != FieldExpiry.None) earliest = Math.Min(earliest, expiryMs);
        if (count != Count || at != _run.End)
            throw new InvalidOperationException(
                $"A packed hash is damaged: {Count} fields are counted, {count} are there.");
        if (earliest != EarliestMs)
            throw new InvalidOperationException(
                $"A packed hash is damaged: it says that {EarliestMs} is the earliest expiry, and {earliest} is.");
    }

    private void FindEarliest()
    {
        if (!HasExpiries) return;
        long earliest = FieldExpiry.Never;
        // Ends: each round goes on by a field.
        for (byte* at = First; (at = Next(at, out _, out _, out long expiryMs)) != null;)
            if (expiryMs != FieldExpiry.None && expiryMs < earliest) earliest = expiryMs;
        WriteEarliest(earliest);
    }

    private void WriteEarliest(long earliestMs) => Unsafe.WriteUnaligned(_run.First + 1, earliestMs);

    private static long Read(ReadOnlySpan<byte> expiry)
    {
        fixed (byte* start = expiry) return Unsafe.ReadUnaligned<uint>(start)
            | ((long)Unsafe.ReadUnaligned<ushort>(start + sizeof(uint)) << 32);
    }
}
