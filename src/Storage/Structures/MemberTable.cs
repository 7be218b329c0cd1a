using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

//  head of the region:  | count 4 | buckets 4 | segments 28 x 4 | longest chain 4 | rest: the type's
//
//  bucket, 64 bytes:    | tags 12 x 1 | next 4 | items 12 x 4 |       a tag of 0: an empty place
//
//  Linear hashing: with N the largest power of two that is not above the number of buckets, a member's bucket is its
// hash
//  modulo 2N if there is such a bucket, else modulo N. One more bucket: the members of bucket (buckets - N) are dealt
// out to
//  it and the new one. So the table grows and shrinks a bucket at a time, and no change waits for the rest.
//  Segment 0 has buckets 0 and 1, segment k those from 1 << k to (2 << k) - 1: none ever moves.

/// <summary>Finds the members of a large collection by their bytes.</summary>
/// <remarks>
/// A member is a piece of the region (<see cref="MemberItem"/>); the table holds its name and 8 bits of its hash.
/// Cost: a find touches a bucket and the item, two cache lines; 7 bytes of table a member at the usual load.
/// </remarks>
internal readonly unsafe ref struct MemberTable
{
    /// <summary>Bytes of the head that are the table's; the rest is the type's.</summary>
    public const int HeadBytes = 128;

    private const int Places = 12, BucketBytes = 64, FirstBuckets = 2, NextOffset = 12, ItemsOffset = 16;
    private const int LastDoubling = 24;        // a segment is a piece, and a piece is below 2 GB
    private const uint LoadMax = 9, LoadMin = 3;

    private readonly Region _region;
    private readonly ref readonly KeyHash _hash;

    public MemberTable(Region region, ref readonly KeyHash hash)
    {
        _region = region;
        _hash = ref hash;
    }

    /// <summary>Members of the collection.</summary>
    public uint Count => CountRef;

    private ref uint CountRef => ref ((uint*)_region.Head)[0];
    private ref uint Buckets => ref ((uint*)_region.Head)[1];
    private uint* Segments => (uint*)_region.Head + 2;
    private ref uint LongestChain => ref ((uint*)_region.Head)[30];

    /// <summary>The hash of a member, for the calls below.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong HashOf(ReadOnlySpan<byte> member) => _hash.Of(member);

    /// <summary>Begins a table in a new region that has room for <see cref="ReserveBytes"/> of none.</summary>
    public void Begin()
    {
        Debug.Assert(Buckets == 0, "it begins once");
        Segments[0] = _region.TakeAligned(FirstBuckets * BucketBytes);
        new Span<byte>(_region.At(Segments[0]), FirstBuckets * BucketBytes).Clear();
        Buckets = FirstBuckets;
        LongestChain = 1;
    }

    /// <summary>Bytes of a region to reserve for this many inserts, the items themselves aside.</summary>
    public static long ReserveBytes(Region region, long inserts)
    {
        Debug.Assert(inserts >= 0, "inserts are counted");
        uint buckets = region.IsNone ? 0 : ((uint*)region.Head)[1];
        long count = region.IsNone ? 0 : *(uint*)region.Head;
        const long bucket = BucketBytes + 56;
        // An overflow bucket for one insert, or for one in six of many: at the load allowed fewer than one in 60 need
        // one.
        long bytes = bucket + (inserts * bucket / 6);
        // Nothing will be split, not even if a bucket goes before: of some members the room for it would be most of
        // what the collection takes.
        if (buckets != 0 && count + inserts <= Math.Max(FirstBuckets, buckets - 1L) * LoadMax) return bytes;
        long target = Math.Max(buckets, (count + inserts) / LoadMax) + 2;
        // A segment whenever the number passes a power of two.
        for (long size = Math.Max(FirstBuckets, (long)BitOperations.RoundUpToPowerOf2(buckets));
            size < target; size *= 2)
            bytes += (size * BucketBytes) + bucket;
        return buckets == 0 ? bytes + (FirstBuckets * BucketBytes) + bucket : bytes + (4 * bucket);
    }

    /// <summary>Finds a member.</summary>
    /// <returns>Its place in the table, for <see cref="ItemAt"/>, <see cref="Replace"/> and <see cref="Remove"/>; null:
    /// it is not there.</returns>
    public uint* Find(ReadOnlySpan<byte> member, ulong hash)
    {
        byte* bucket = Bucket(BucketOf(hash));
        Vector128<byte> tag = Vector128.Create(TagOf(hash));
        // Ends: a chain has an end.
        while (true)
        {
            uint matches = Vector128.Equals(Vector128.Load(bucket), tag)
                .ExtractMostSignificantBits() & ((1 << Places) - 1);
            for (; matches != 0; matches &= matches - 1)
            {
                uint* place = Items(bucket) + BitOperations.TrailingZeroCount(matches);
                if (MemberItem.MemberOf(_region.At(*place)).SequenceEqual(member)) return place;
            }

            uint next = NextOf(bucket);
            if (next == 0) return null;
            bucket = _region.At(next);
        }
    }

    /// <summary>The item at a place.</summary>
    public byte* ItemAt(uint* place) => _region.At(*place);

    /// <summary>Puts another item of its member into a place.</summary>
    public static void Replace(uint* place, uint item)
    {
        Debug.Assert(*place != 0 && item != 0, "the member is there");
        *place = item;
    }

    /// <summary>Adds an item whose member is not there, out of what was reserved.</summary>
    public void Insert(uint item, ulong hash)
    {
        Debug.Assert(Find(MemberItem.MemberOf(_region.At(item)), hash) == null, "its member is not there");
        Append(Bucket(BucketOf(hash)), item, TagOf(hash));
        CountRef++;
        if (CountRef > (long)Buckets * LoadMax) Split();
    }

    /// <summary>Takes a place out of the table; the item is still the caller's to give back.</summary>
    /// <param name="place">As <see cref="Find"/> returned it, with no change in between.</param>
    /// <param name="hash">Of its member.</param>
    public void Remove(uint* place, ulong hash)
    {
        byte* bucket = (byte*)((nuint)place & ~(nuint)(BucketBytes - 1));
        ref byte tag = ref bucket[(int)(((byte*)place - bucket - ItemsOffset) / sizeof(uint))];
        Debug.Assert(tag == TagOf(hash) && Count != 0, "it is the place of a member of that hash");
        tag = 0;
        *place = 0;
        uint home = BucketOf(hash);
        if (NextOf(Bucket(home)) != 0) Close(Bucket(home));
        CountRef--;
        if (CountRef < (long)Buckets * LoadMin && Buckets > FirstBuckets) Merge();
    }

    /// <summary>One member, each as likely as another. There must be one.</summary>
    public byte* Random(ref Dice dice)
    {
        Debug.Assert(Count != 0, "there is one");
        // Ends: every place is as likely, and at least one in about 4 has a member (one in 12 of the smallest tables).
        while (true)
        {
            byte* bucket = Draw(ref dice, out int place), item = ItemIn(bucket, place);
            if (item != null) return item;
        }
    }

    /// <summary>One place, each as likely as another, whether it has a member or not, for <see cref="ItemIn"/> a little
    /// later: its bucket is asked for.</summary>
    public byte* Draw(ref Dice dice, out int place)
    {
        byte* bucket = Bucket((uint)dice.Below(Buckets));
        if (Sse.IsSupported) Sse.Prefetch0(bucket);
        place = (int)dice.Below(Places * LongestChain);
        return bucket;
    }

    /// <summary>The item at a place of a bucket, or of those chained to it; null: it is empty.</summary>
    public byte* ItemIn(byte* bucket, int place)
    {
        for (; place >= Places && bucket != null; place -= Places)
            bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket));
        return bucket != null && bucket[place] != 0 ? _region.At(Items(bucket)[place]) : null;
    }

    /// <summary>The name of an item.</summary>
    public uint NameOf(byte* item) => (uint)((item - _region.Start) / Region.UnitBytes);

    /// <summary>Visits the members of one bucket, or of the two that it was split into.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned.</param>
    /// <returns>The next cursor; 0: done. A member that is there from the first call to the last is visited at least
    /// once.</returns>
    /// <remarks>Reverse-binary, as the store's SCAN: the order of buckets is that of their numbers read backwards, so
    /// that what a bucket is split into, or merged from, is visited next to it.</remarks>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct
    {
        uint half = BitOperations.RoundUpToPowerOf2(Buckets + 1) / 2;
        uint bucket = (uint)cursor & (half - 1);
        VisitChain(Bucket(bucket), ref visit);
        if (bucket + half < Buckets) VisitChain(Bucket(bucket + half), ref visit);
        return Reverse(Reverse(cursor | ~(ulong)(half - 1)) + 1);
    }

    /// <summary>All members, one after another, in no order that means anything. No change in between.</summary>
    /// <param name="looksAhead">Whether all items are wanted, and asked for in time.</param>
    public Walk GetWalk(MemberPlace from = default, bool looksAhead = true) => new(this, from, looksAhead);

    /// <summary>Moves items, and buckets that are chained, out of pages that are to be emptied.</summary>
    /// <param name="number">The bucket that is next; goes up.</param>
    /// <param name="most">At most this many buckets.</param>
    /// <param name="kind">Of the collection: what is in an item.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    /// <remarks>Buckets that are split or merged between two calls may be missed, with what is in them: it moves in
    /// another round.</remarks>
    public bool MoveItems(ref PieceMover mover, ref ulong number, int most, ValueKind kind)
    {
        Debug.Assert(kind is ValueKind.Hash or ValueKind.Set or ValueKind.SortedSet, "only these have a table");
        // Where items are long, which page one ends in is seen at the item only.
        bool areLong = Count != 0 && _region.UsedBytes / Count > RegionPages.PageBytes / 2;
        for (; number < Buckets && most > 0; number++, most--)
        {
            byte* bucket = Bucket((uint)number);
            // Ends: a chain has an end.
            while (true)
            {
                for (int place = 0; place < Places; place++)
                {
                    uint* at = Items(bucket) + place;
                    if (bucket[place] == 0 || (!areLong && !mover.MayWant(*at))) continue;
                    if (!TryMoveItem(ref mover, at, kind)) return false;
                }

                ref uint next = ref NextRef(bucket);
                if (next == 0) break;
                if (!mover.TryMove(ref next, BucketBytes, aligned: true)) return false;
                bucket = _region.At(next);
            }
        }

        return true;
    }

    private bool TryMoveItem(ref PieceMover mover, uint* place, ValueKind kind)
    {
        uint item = *place;
        byte* at = _region.At(item);
        int size = kind switch
        {
            ValueKind.Hash => HashItem.SizeOf(at),
            ValueKind.SortedSet => ScoreItem.SizeOf(MemberItem.MemberOf(at).Length),
            _ => MemberItem.SizeOf(MemberItem.MemberOf(at).Length, 0),
        };
        if (!mover.TryCopy(item, size, out uint moved)) return false;
        if (moved == item) return true;
        if (kind == ValueKind.SortedSet) new ScoreTree(_region).Rename(ScoreItem.ScoreOf(at), item, moved);
        *place = moved;
        _region.Give(item, size);
        return true;
    }

    /// <summary>Whether a walk has passed all buckets.</summary>
    public bool HasPassedAll(ulong number) => number >= Buckets;

    /// <summary>Looks ahead: asks for the head of a region that may have a table.</summary>
    /// <remarks>This, <see cref="PrefetchBucket"/> and <see cref="PrefetchItem"/> read what a writer may be changing,
    /// or a region that is no more: memory that is there until the epoch ends. Every offset is checked, so that the
    /// worst is a prefetch for nothing.</remarks>
    public static void PrefetchHead(byte* region)
    {
        if (!Sse.IsSupported) return;
        Sse.Prefetch0(region);
        Sse.Prefetch0(region + Region.HeadOffset);
        Sse.Prefetch0(region + Region.HeadOffset + BucketBytes);
    }

    /// <summary>Asks for the bucket of a hash.</summary>
    /// <returns>Where it is; null when that cannot be.</returns>
    public static byte* PrefetchBucket(byte* region, ulong hash)
    {
        uint* head = (uint*)(region + Region.HeadOffset);
        uint buckets = Volatile.Read(ref head[1]);
        if (buckets == 0 || !Sse.IsSupported) return null;
        uint number = BucketOf(hash, buckets);
        int log = BitOperations.Log2(number | 1);
        long offset = ((long)head[2 + log] * Region.UnitBytes)
            + ((long)(number < FirstBuckets ? number : number - (1u << log)) * BucketBytes);
        if (offset > *(long*)region - BucketBytes) return null;
        Sse.Prefetch0(region + offset);
        return region + offset;
    }

    /// <summary>Asks for the item that a bucket may have for a hash.</summary>
    public static void PrefetchItem(byte* region, byte* bucket, ulong hash)
    {
        uint matches = Vector128.Equals(Vector128.Load(bucket), Vector128.Create(TagOf(hash)))
            .ExtractMostSignificantBits() & ((1 << Places) - 1);
        if (matches != 0)
            Sse.Prefetch0(region + ((long)Items(bucket)[BitOperations.TrailingZeroCount(matches)] * Region.UnitBytes));
    }

    /// <summary>Walks the whole table and throws when anything disagrees. For tests.</summary>
    public void Check()
    {
        long members = 0;
        for (uint number = 0; number < Buckets; number++)
        {
            uint chain = 0;
            for (byte* bucket = Bucket(number); bucket != null;
                bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket)))
            {
                Require(++chain <= LongestChain, $"the chain of bucket {number} is longer than known");
                for (int place = 0; place < Places; place++)
                {
                    if (bucket[place] == 0) continue;
                    members++;
                    ulong hash = _hash.Of(MemberItem.MemberOf(_region.At(Items(bucket)[place])));
                    Require(BucketOf(hash) == number, $"a member of bucket {number} is not at home");
                    Require(TagOf(hash) == bucket[place], $"a tag of bucket {number} is wrong");
                }
            }
        }

        Require(members == Count, $"{Count} members are counted, {members} are there");
    }

    private uint BucketOf(ulong hash) => BucketOf(hash, Buckets);

    private static uint BucketOf(ulong hash, uint buckets)
    {
        // 2N - 1: all ones up to the highest bit of the number of buckets.
        uint mask = uint.MaxValue >> BitOperations.LeadingZeroCount(buckets);
        uint bucket = (uint)hash & mask;
        return bucket < buckets ? bucket : bucket & (mask >> 1);
    }

    private static byte TagOf(ulong hash)
    {
        byte tag = (byte)(hash >> 56);
        return tag == 0 ? (byte)1 : tag;
    }

    private byte* Bucket(uint number)
    {
        Debug.Assert(number < Buckets, "there is such a bucket");
        if (number < FirstBuckets) return _region.At(Segments[0]) + (number * BucketBytes);
        int log = BitOperations.Log2(number);
        return _region.At(Segments[log]) + ((long)(number - (1u << log)) * BucketBytes);
    }

    private static ref uint NextRef(byte* bucket) => ref *(uint*)(bucket + NextOffset);
    private static uint NextOf(byte* bucket) => *(uint*)(bucket + NextOffset);
    private static uint* Items(byte* bucket) => (uint*)(bucket + ItemsOffset);

    private void Append(byte* bucket, uint item, byte tag)
    {
        Debug.Assert(item != 0 && tag != 0, "a place with a tag has an item");
        // Ends: at the first empty place, of a new bucket at the latest.
        for (uint chain = 2; ; chain++)
        {
            uint empty = Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero)
                .ExtractMostSignificantBits() & ((1 << Places) - 1);
            if (empty != 0)
            {
                int place = BitOperations.TrailingZeroCount(empty);
                bucket[place] = tag;
                Items(bucket)[place] = item;
                return;
            }

            if (NextOf(bucket) == 0)
            {
                uint added = _region.TakeAligned(BucketBytes);
                new Span<byte>(_region.At(added), BucketBytes).Clear();
                NextRef(bucket) = added;
                if (chain > LongestChain) LongestChain = chain;
            }

            bucket = _region.At(NextOf(bucket));
        }
    }

    /// <summary>One bucket more: some of the members of another go there.</summary>
    private void Split()
    {
        uint to = Buckets;
        int log = BitOperations.Log2(to);
        uint half = 1u << log;
        if (to == half)
        {
            if (log > LastDoubling) return;     // 300 million members: from here on chains grow
            Segments[log] = _region.TakeAligned((int)half * BucketBytes);
        }

        byte* source = Bucket(to - half);
        Buckets = to + 1;
        byte* target = Bucket(to);
        new Span<byte>(target, BucketBytes).Clear();
        for (byte* bucket = source; bucket != null; bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket)))
            Prefetch(bucket);
        for (byte* bucket = source; bucket != null; bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket)))
        {
            for (int place = 0; place < Places; place++)
            {
                if (bucket[place] == 0) continue;
                uint item = Items(bucket)[place];
                if ((_hash.Of(MemberItem.MemberOf(_region.At(item))) & half) == 0) continue;
                Append(target, item, bucket[place]);
                bucket[place] = 0;
            }
        }

        if (NextOf(source) != 0) Close(source);
    }

    /// <summary>One bucket less: its members go back to the one that they came from. Not now, when that is too
    /// full.</summary>
    private void Merge()
    {
        Debug.Assert(Buckets > FirstBuckets, "the first buckets stay");
        uint from = Buckets - 1;
        int log = BitOperations.Log2(from);
        byte* source = Bucket(from), target = Bucket(from - (1u << log));
        if (MembersOf(source) > Places - MembersOf(target) || NextOf(target) != 0) return;
        for (byte* bucket = source; bucket != null; bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket)))
        {
            for (int place = 0; place < Places; place++)
            {
                if (bucket[place] == 0) continue;
                Append(target, Items(bucket)[place], bucket[place]);
                bucket[place] = 0;
            }
        }

        if (NextOf(source) != 0) Close(source);
        Buckets = from;
        if (from != 1u << log) return;
        _region.Give(Segments[log], (int)from * BucketBytes);
        Segments[log] = 0;
    }

    /// <summary>Closes the gaps of a chain and gives back the buckets that it does not need any more.</summary>
    private void Close(byte* head)
    {
        byte* to = head;
        int toPlace = 0;
        for (byte* from = head; from != null; from = NextOf(from) == 0 ? null : _region.At(NextOf(from)))
        {
            for (int place = 0; place < Places; place++)
            {
                if (from[place] == 0) continue;
                if (toPlace == Places)
                {
                    to = _region.At(NextOf(to));
                    toPlace = 0;
                }

                (byte tag, uint item) = (from[place], Items(from)[place]);
                from[place] = 0;
                to[toPlace] = tag;
                Items(to)[toPlace++] = item;
            }
        }

        uint next = NextOf(to);
        NextRef(to) = 0;
        while (next != 0)
        {
            uint after = NextOf(_region.At(next));
            _region.Give(next, BucketBytes);
            next = after;
        }
    }

    private static int MembersOf(byte* bucket)
    {
        uint empty = Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero)
            .ExtractMostSignificantBits() & ((1 << Places) - 1);
        return NextOf(bucket) != 0 ? int.MaxValue / 2 : Places - BitOperations.PopCount(empty);
    }

    private void VisitChain<TVisit>(byte* bucket, ref TVisit visit)
        where TVisit : struct, IMemberVisit, allows ref struct
    {
        Prefetch(bucket);
        for (; bucket != null; bucket = NextOf(bucket) == 0 ? null : _region.At(NextOf(bucket)))
        {
            for (int place = 0; place < Places; place++)
                if (bucket[place] != 0) visit.Visit(_region.At(Items(bucket)[place]));
        }
    }

    private void Prefetch(byte* bucket)
    {
        if (!Sse.IsSupported) return;
        for (int place = 0; place < Places; place++)
            if (bucket[place] != 0) Sse.Prefetch0(_region.At(Items(bucket)[place]));
    }

    private static ulong Reverse(ulong value)
    {
        value = ((value >> 1) & 0x5555555555555555) | ((value & 0x5555555555555555) << 1);
        value = ((value >> 2) & 0x3333333333333333) | ((value & 0x3333333333333333) << 2);
        value = ((value >> 4) & 0x0F0F0F0F0F0F0F0F) | ((value & 0x0F0F0F0F0F0F0F0F) << 4);
        return System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(value);
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A member table is damaged: {what}.");
    }

    /// <summary>A walk over all members.</summary>
    public ref struct Walk
    {
        private readonly MemberTable _table;
        private readonly bool _looksAhead;
        private uint _number;
        private uint _taken;        // places of the bucket that are to be visited: a bit each
        private byte* _bucket;

        internal Walk(MemberTable table, MemberPlace from, bool looksAhead)
        {
            _table = table;
            _looksAhead = looksAhead;
            _number = from.Number;
            _bucket = from.Bucket == null ? table.Bucket(0) : from.Bucket;
            if (looksAhead) table.Prefetch(_bucket);
            PrefetchNext();
            _taken = TakenIn(_bucket) & (uint.MaxValue << from.Place);
        }

        /// <summary>Where it is, to go on from there while nothing has changed.</summary>
        public readonly MemberPlace Place =>
            new(_bucket, _number, Math.Min(BitOperations.TrailingZeroCount(_taken), Places));

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        public bool Next(out byte* item)
        {
            // Ends: at a member, or after the last bucket.
            while (_taken == 0)
            {
                uint next = NextOf(_bucket);
                if (next != 0) _bucket = _table._region.At(next);
                else if (_number + 1 >= _table.Buckets)
                {
                    item = null;
                    return false;
                }
                else
                {
                    _bucket = _table.Bucket(++_number);
                    PrefetchNext();
                }

                _taken = TakenIn(_bucket);
            }

            item = _table._region.At(Items(_bucket)[BitOperations.TrailingZeroCount(_taken)]);
            _taken &= _taken - 1;
            return true;
        }

        // A bucket ahead: what is asked for when it is needed comes too late.
        private readonly void PrefetchNext()
        {
            if (_looksAhead && _number + 1 < _table.Buckets) _table.Prefetch(_table.Bucket(_number + 1));
        }

        // All tags at once: a branch for each place would be mispredicted at every other one.
        private static uint TakenIn(byte* bucket) =>
            ~Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero).ExtractMostSignificantBits()
            & ((1 << Places) - 1);
    }
}
