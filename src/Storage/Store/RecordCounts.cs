using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>What a database counts of its records in one session's stripe, and what their segments note: when the next
/// of them expires.</summary>
/// <remarks>Threads: the session's; the sums are read by any. All records are locked by it, or known to
/// nobody.</remarks>
internal readonly unsafe struct RecordCounts(SegmentedLog log, int slot)
{
    private readonly SegmentedLog _log = log;
    private readonly int _slot = slot;

    /// <summary>Counts a record that has just become what its key has.</summary>
    /// <param name="expiryMs">Of the key.</param>
    /// <param name="alreadyOutside">Whether what it holds outside of the log is counted.</param>
    public void Add(Database database, byte* record, ulong word, long expiryMs, bool alreadyOutside)
    {
        Database.Stripe* stripe = database.StripeOf(_slot);
        stripe->Keys++;
        if (!alreadyOutside)
        {
            if (RecordWord.HoldsPointer(word)) stripe->Outside++;
            if (RecordWord.KeyField(word) == RecordWord.LongKey) stripe->Outside++;
        }

        if (RecordWord.HoldsFields(word))
        {
            long earliest = FieldExpiryOf(record, word);
            if (earliest != FieldExpiry.Never)
            {
                stripe->WithFieldExpiry++;
                _log.InfoOf(record)->NoteExpiry(earliest);
            }
        }

        if (expiryMs == NewValue.NoExpiry) return;
        stripe->WithExpiry++;
        stripe->ExpirySum += Database.ExpiryPart(expiryMs);
        _log.InfoOf(record)->NoteExpiry(expiryMs);
    }

    /// <summary>Counts a record no longer; what it holds outside of the log is another matter.</summary>
    public void Remove(Database database, byte* record, ulong word) =>
        Remove(database, Record.ExpiryOf(record, word), HasFieldExpiry(record, word));

    /// <inheritdoc cref="Remove(Database, byte*, ulong)"/>
    public void Remove(Database database, long expiryMs, bool hasFieldExpiry)
    {
        Database.Stripe* stripe = database.StripeOf(_slot);
        stripe->Keys--;
        if (hasFieldExpiry) stripe->WithFieldExpiry--;
        if (expiryMs == NewValue.NoExpiry) return;
        stripe->WithExpiry--;
        stripe->ExpirySum -= Database.ExpiryPart(expiryMs);
    }

    /// <summary>Writes another expiry, or none, into a locked record that has room for one; its word is the caller's to
    /// change.</summary>
    /// <remarks>Of a string: fields of hashes count differently.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void MoveExpiry(Database database, byte* record, long expiryMs)
    {
        Debug.Assert(Record.IsLocked(record), "only who holds a key changes its expiry");
        long old = Record.ExpiryOf(record, RecordWord.HasExpiry);
        if (old == expiryMs) return;
        // one of the two is none
        if ((old | expiryMs) < 0) CountExpiry(database, old == NewValue.NoExpiry ? 1 : -1);
        Record.SetExpiry(record, expiryMs);
        database.StripeOf(_slot)->ExpirySum += ExpiryPart(expiryMs) - ExpiryPart(old);
        if (expiryMs != NewValue.NoExpiry) _log.InfoOf(record)->NoteExpiryOfLocked(expiryMs);

        static long ExpiryPart(long ms) => ms < 0 ? 0 : Database.ExpiryPart(ms);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void CountExpiry(Database database, int more) => database.StripeOf(_slot)->WithExpiry += more;

    /// <summary>Counts a hash that has got a first field with an expiry, or lost the last, and notes with the segment
    /// when to look for it.</summary>
    /// <param name="had">Whether it had one before.</param>
    public void NoteFieldExpiry(in HeldRecord held, bool had)
    {
        Debug.Assert(Record.IsLocked(held.Record), "only who holds a hash changes when its fields expire");
        long earliest = held.Exists && RecordWord.HoldsFields(held.Word)
            ? FieldExpiryOf(held.Record, held.Word) : FieldExpiry.Never;
        bool has = earliest != FieldExpiry.Never;
        if (has) _log.InfoOf(held.Record)->NoteExpiry(earliest);
        if (has != had) held.Database.StripeOf(_slot)->WithFieldExpiry += has ? 1 : -1;
    }

    /// <summary>Counts fields that were removed because their time had passed.</summary>
    public void CountExpiredFields(in HeldRecord held, long fields) =>
        held.Database.StripeOf(_slot)->ExpiredFields += fields;

    /// <summary>When the first field of a hash expires, or earlier.</summary>
    public static long FieldExpiryOf(byte* record, ulong word) =>
        FieldExpiry.EarliestOf(Record.ValueOf(record, word), RecordWord.Kind(word), RecordWord.ValueBytes(word));

    /// <summary>Whether it is a hash that has fields with an expiry.</summary>
    public static bool HasFieldExpiry(byte* record, ulong word) =>
        RecordWord.HoldsFields(word) && FieldExpiryOf(record, word) != FieldExpiry.Never;
}
