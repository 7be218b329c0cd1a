using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   head of the region, behind the member table's:
//   128            136                 144         152          156
//  +--------------+-------------------+-----------+------------+--------+
//  | earliest 8   | earliest so far 8 | cursor 8  | expiries 4 | spare  |
//  +--------------+-------------------+-----------+------------+--------+
//   earliest: at most the smallest expiry of all fields; counts only while there are expiries
//   cursor: of a pass over the table that removes what has expired, 0 between two; earliest so far: of what it has left

/// <summary>The fields of a large hash: a member table of <see cref="HashItem"/>, and when the first of them
/// expires.</summary>
internal readonly unsafe ref struct FieldTable
{
    /// <summary>Bytes of its head that stay right in a copy of the region: a cursor is right whatever the size of the
    /// table.</summary>
    public const int KeptHeadBytes = 32;

    private const int BatchMax = 64;

    private readonly Region _region;

    public FieldTable(Region region, ref readonly KeyHash hash)
    {
        _region = region;
        Members = new MemberTable(region, in hash);
    }

    /// <summary>Where they are found.</summary>
    public MemberTable Members { get; }

    /// <summary>Fields that have an expiry.</summary>
    public uint Expiries => ExpiriesRef;

    /// <summary>When the first field expires, or earlier.</summary>
    public long EarliestMs => EarliestOf(_region);

    private ref long Earliest => ref *(long*)(_region.Head + MemberTable.HeadBytes);
    private ref long EarliestSoFar => ref *(long*)(_region.Head + MemberTable.HeadBytes + 8);
    private ref ulong Cursor => ref *(ulong*)(_region.Head + MemberTable.HeadBytes + 16);
    private ref uint ExpiriesRef => ref *(uint*)(_region.Head + MemberTable.HeadBytes + 24);

    /// <summary>When the first field of the hash in a region expires, or earlier.</summary>
    public static long EarliestOf(Region region)
    {
        byte* head = region.Head + MemberTable.HeadBytes;
        return *(uint*)(head + 24) == 0 ? FieldExpiry.Never : *(long*)head;
    }

    /// <summary>Writes an item out of what was reserved.</summary>
    public uint Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expiryMs)
    {
        Debug.Assert(expiryMs >= FieldExpiry.None, "an expiry is a time, or none");
        bool hasExpiry = expiryMs != FieldExpiry.None;
        uint item = _region.Take(HashItem.SizeOf(field.Length, value.Length, hasExpiry));
        HashItem.WritePayload(MemberItem.Write(_region.At(item), field), value, expiryMs, hasExpiry);
        if (hasExpiry) Note(expiryMs);
        return item;
    }

    /// <summary>Gives the field at a place another value.</summary>
    /// <param name="place">As the table found it.</param>
    /// <param name="field">Its name.</param>
    /// <param name="value">Its value from now on.</param>
    /// <param name="keepExpiry">Whether it goes on to expire when it did, if that has not passed.</param>
    /// <param name="nowMs">Unix milliseconds.</param>
    /// <returns>When it would have expired, or -1.</returns>
    public long Replace(uint* place, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, bool keepExpiry, long nowMs)
    {
        Debug.Assert(MemberItem.MemberOf(Members.ItemAt(place)).SequenceEqual(field), "the place is of this field");
        byte* old = Members.ItemAt(place), payload = MemberItem.PayloadOf(old);
        long oldMs = HashItem.Read(payload, out _),
            expiryMs = keepExpiry && !FieldExpiry.IsPast(oldMs, nowMs) ? oldMs : FieldExpiry.None;
        bool hasExpiry = expiryMs != FieldExpiry.None;
        int oldSize = HashItem.SizeOf(old), size = HashItem.SizeOf(field.Length, value.Length, hasExpiry);
        if (Region.SizeOf(oldSize) == Region.SizeOf(size))
        {
            HashItem.WritePayload(payload, value, expiryMs, hasExpiry);
            if (hasExpiry) Note(expiryMs);
        }
        else
        {
            uint replaced = *place;
            MemberTable.Replace(place, Write(field, value, expiryMs));
            _region.Give(replaced, oldSize);
        }

        if (oldMs != FieldExpiry.None) Forget();
        return oldMs;
    }

    /// <summary>Gives the field at a place an expiry, or takes it.</summary>
    /// <param name="expiryMs">Unix milliseconds; -1: none, which needs no memory.</param>
    public void SetExpiry(uint* place, long expiryMs)
    {
        Debug.Assert(*place != 0 && expiryMs >= FieldExpiry.None,
            "the field is there, and an expiry is a time, or none");
        byte* item = Members.ItemAt(place), payload = MemberItem.PayloadOf(item);
        long oldMs = HashItem.Read(payload, out var value);
        byte* at = HashItem.ExpiryOf(payload);
        if (at != null)
        {
            Unsafe.WriteUnaligned(at, expiryMs);
            if (expiryMs != FieldExpiry.None) Note(expiryMs);
        }
        else if (expiryMs != FieldExpiry.None)
        {
            // An item with room for an expiry is a unit or two longer: always another piece, so that nothing is written
            // over.
            uint replaced = *place;
            int oldSize = HashItem.SizeOf(item);
            MemberTable.Replace(place, Write(MemberItem.MemberOf(item), value, expiryMs));
            _region.Give(replaced, oldSize);
        }

        if (oldMs != FieldExpiry.None) Forget();
    }

    /// <summary>Removes the field at a place.</summary>
    public void Remove(uint* place, ulong hash)
    {
        Debug.Assert(*place != 0, "the field is there");
        uint item = *place;
        byte* start = _region.At(item);
        int size = HashItem.SizeOf(start);
        if (HashItem.Read(MemberItem.PayloadOf(start), out _) != FieldExpiry.None) Forget();
        Members.Remove(place, hash);
        _region.Give(item, size);
    }

    /// <summary>Removes what has expired in some buckets, going on where the last call ended.</summary>
    /// <param name="bucketsMax">At most this many buckets are looked at.</param>
    /// <param name="visit">Is shown each before it goes.</param>
    /// <param name="more">Whether the pass is not done: until it is, the earliest expiry stays as it was.</param>
    /// <returns>How many were removed.</returns>
    public long RemoveExpired<TVisit>(long nowMs, long bucketsMax, in TVisit visit, out bool more)
        where TVisit : struct, IFieldVisit, allows ref struct
    {
        Debug.Assert(bucketsMax > 0, "each call looks at a bucket");
        if (Cursor == 0) EarliestSoFar = FieldExpiry.Never;
        byte** found = stackalloc byte*[BatchMax];
        long removed = 0;
        bool ended;
        // Ends: the cursor comes round, or the buckets are used up; one is repeated only after something was taken from
        // it.
        do
        {
            var expired = new FindExpired(nowMs, found);
            ulong next = Members.Scan(Cursor, ref expired);
            for (int i = 0; i < expired.Count; i++)
            {
                var field = MemberItem.MemberOf(found[i]);
                visit.Visit(field);
                ulong hash = Members.HashOf(field);
                Remove(Members.Find(field, hash), hash);
            }

            removed += expired.Count;
            if (expired.EarliestMs < EarliestSoFar) EarliestSoFar = expired.EarliestMs;
            ended = !expired.IsFull && next == 0;
            if (expired.IsFull) continue;
            Cursor = next;
            bucketsMax--;
        }
        while (!ended && bucketsMax > 0 && Expiries != 0);

        more = !ended && Expiries != 0;
        if (more) return removed;
        Cursor = 0;
        Earliest = EarliestSoFar;
        Debug.Assert(Expiries == 0 || EarliestSoFar > nowMs, "what has expired is gone");
        return removed;
    }

    /// <summary>Walks everything and throws, with what is wrong, when it disagrees. For tests.</summary>
    public void Check()
    {
        Members.Check();
        uint expiries = 0;
        long earliest = FieldExpiry.Never;
        var walk = Members.GetWalk();
        while (walk.Next(out byte* item))
        {
            long expiryMs = HashItem.Read(MemberItem.PayloadOf(item), out _);
            if (expiryMs == FieldExpiry.None) continue;
            expiries++;
            earliest = Math.Min(earliest, expiryMs);
        }

        if (expiries != Expiries)
            throw new InvalidOperationException(
                $"A large hash is damaged: {Expiries} expiries are counted, {expiries} are there.");
        if (earliest < EarliestMs)
            throw new InvalidOperationException(
                $"A large hash is damaged: {earliest} is an expiry, and before {EarliestMs} there is to be none.");
    }

    private void Note(long expiryMs)
    {
        if (ExpiriesRef++ == 0)
        {
            Cursor = 0;
            Earliest = expiryMs;
        }

        if (expiryMs < Earliest) Earliest = expiryMs;
        Debug.Assert(Expiries <= Members.Count + 1, "no more expire than there are, with one that is to come");
        if (expiryMs < EarliestSoFar) EarliestSoFar = expiryMs;     // a pass may have been there before
    }

    private void Forget()
    {
        Debug.Assert(ExpiriesRef != 0, "it was counted");
        ExpiriesRef--;
    }

    /// <summary>Collects the items of a bucket whose time has come.</summary>
    private ref struct FindExpired(long nowMs, byte** found) : IMemberVisit
    {
        public int Count;
        public bool IsFull;
        public long EarliestMs = FieldExpiry.Never;

        public void Visit(byte* item)
        {
            long expiryMs = HashItem.Read(MemberItem.PayloadOf(item), out _);
            if (expiryMs == FieldExpiry.None) return;
            if (!FieldExpiry.IsPast(expiryMs, nowMs)) EarliestMs = Math.Min(EarliestMs, expiryMs);
            else if (Count == BatchMax) IsFull = true;
            else found[Count++] = item;
        }
    }
}
