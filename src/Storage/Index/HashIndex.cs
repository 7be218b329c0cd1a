using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

// How the protocol holds together (docs/concurrency.md has the proofs; test/Kv.Tests/Models has the model):
//  - Readers write nothing. A hit needs no validation here: an entry is one 8-byte word, and the record says whether it
//    is alive. A miss counts only if the home bucket's control word was unlatched and the same before and after.
//  - Insert, replace, remove and split change a chain under the latch of its home bucket; the unlatching store
//    (release) carries the new sequence. The latch is the innermost: nobody waits for anything while holding one, but
//    for a merge, which has the near one's and waits for the far one's.
//  - A bucket splits in place into b and b + 2^depth. The far half is published first (its control word, release), then
//    the near half is cleared and unlatched with the new depth: a reader that looked in the near half meanwhile sees
//    the control word changed and looks again.
//  - Which bucket is home: start at hash mod 2^target; while that bucket does not exist yet, its parent (the same
//    without the top bit); while its depth says that the key lives deeper, go there. While an index doubles depths only
//    grow, so this ends.
//  - Two buckets become one again under both latches (IndexHalving has the order); the far one's depth goes last, so
//    that a search which has been sent from one to the other once comes to an end at its second look.

/// <summary>The hash index of one database: from a key's hash to the address of its record.</summary>
/// <remarks>Threads: any, inside of an epoch. Cost: one cache line for the bucket, one for the record.</remarks>
internal sealed unsafe class HashIndex : IDisposable
{
    /// <summary>Stands for an address that may be in the bucket's chain; the chain's first bucket is being brought into
    /// the cache.</summary>
    public const ulong InChain = ulong.MaxValue;

    /// <summary>Average entries of a bucket at which the index doubles.</summary>
    public const int EntriesPerBucketMax = 5;

    /// <summary>The same where a doubling would leave hardly any memory: every second bucket has a chain
    /// then.</summary>
    public const int EntriesPerBucketShort = 8;

    /// <summary>Doublings that the tags of one filling last for: 20 bits, of which 8 must be left to tell keys
    /// apart.</summary>
    internal const int DoublingsPerTag = 12;

    private const int LineBytes = 64;

    /// <summary>So many keys are worth being looked up together (<see cref="PrefetchAll"/>). A power of two.</summary>
    public const int Together = 16;

    /// <summary>From this size on the new half of a doubling is of huge pages: all of it is used at once, so that none
    /// is wasted.</summary>
    internal const long HugeHalfFromBytes = SegmentedLog.SegmentBytes;

    private readonly byte* _buckets;
    private readonly SegmentedLog _log;
    private readonly long _reservedBytes;
    private readonly ulong _firstCount;
    private int _targetDepth, _completeDepth;

    public HashIndex(SegmentedLog log, MemoryBudget budget, DeferredActions deferred, KeyHash hash, long initialBytes,
        bool hasUpkeep)
    {
        _log = log;
        Budget = budget;
        Deferred = deferred;
        Hash = hash;
        long memory = Math.Max(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes, 1L << 30);
        long buckets = (long)BitOperations.RoundUpToPowerOf2(
            (ulong)Math.Max(initialBytes, 1024 * HashBucket.Bytes)) / HashBucket.Bytes;
        FirstDepth = _targetDepth = _completeDepth = BitOperations.Log2((ulong)buckets);
        _firstCount = (ulong)buckets;
        MaxDepth = Math.Max(FirstDepth, BitOperations.Log2((ulong)memory / HashBucket.Bytes));
        _reservedBytes = (1L << MaxDepth) * HashBucket.Bytes;
        _buckets = VirtualMemory.Reserve((nuint)_reservedBytes, SegmentedLog.SegmentBytes);
        if (_buckets == null)
            throw new OutOfMemoryException($"The system refused {_reservedBytes >> 20} MB of addresses for an index.");
        VirtualMemory.AvoidHugePages(_buckets, (nuint)_reservedBytes);
        long bytes = buckets * HashBucket.Bytes;
        if (bytes >= VirtualMemory.HugePagesFromBytes) VirtualMemory.PreferHugePages(_buckets, (nuint)bytes);
        Overflow = new OverflowBuckets(budget, Math.Min(1L << MaxDepth, uint.MaxValue));
        Chains = new BucketChains(Overflow, deferred);
        Growth = new IndexGrowth(this) { IsPrepared = hasUpkeep };
        Halving = new IndexHalving(this);
        budget.ChargeIndex(bytes);
    }

    public OverflowBuckets Overflow { get; }
    public BucketChains Chains { get; }
    public IndexGrowth Growth { get; }
    public IndexHalving Halving { get; }
    public DeferredActions Deferred { get; }
    public KeyHash Hash { get; }
    public MemoryBudget Budget { get; }

    /// <summary>Hash bits that the buckets use which the index began with: it never has fewer.</summary>
    public int FirstDepth { get; }

    public int MaxDepth { get; }

    /// <summary>Of who begins or ends a doubling or a halving.</summary>
    public Lock Resizing { get; } = new();

    /// <summary>Hash bits that all buckets are to use: the index has, or is about to have, 2 to this many.</summary>
    public int TargetDepth => Volatile.Read(ref _targetDepth);

    /// <summary>Hash bits that all buckets used when last that was so: fewer than the target while a doubling is on its
    /// way, more while a halving is.</summary>
    public int CompleteDepth => Volatile.Read(ref _completeDepth);

    /// <summary>Hash bits that some buckets may use, and none more: who visits all buckets counts to 2 to this
    /// many.</summary>
    public int DeepestDepth => Math.Max(TargetDepth, CompleteDepth);

    /// <summary>Whether a doubling or a halving is on its way.</summary>
    public bool IsResizing => CompleteDepth != TargetDepth;

    public long BucketCount => 1L << TargetDepth;

    /// <summary>Where the tags of a bucket of this depth begin in the hash.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int TagStart(int depth)
    {
        int doublings = depth - FirstDepth;
        return doublings <= DoublingsPerTag ? FirstDepth : TagStartSlow(doublings);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private int TagStartSlow(int doublings) => FirstDepth + (doublings - 1) / DoublingsPerTag * DoublingsPerTag;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Tag(ulong hash, int depth) => (hash >> TagStart(depth)) & ((1UL << HashBucket.TagBits) - 1);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong* Bucket(ulong number) => (ulong*)(_buckets + number * HashBucket.Bytes);

    /// <summary>Depth of a bucket, or 0 when it has not been split off its parent yet.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int DepthOf(ulong number, ulong control)
    {
        int depth = HashBucket.DepthOf(control);
        return depth != 0 ? depth : number < _firstCount ? FirstDepth : 0;
    }

    /// <summary>The bucket where a hash lives now, with its control word as it was read before anything else of
    /// it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong* Home(ulong hash, out ulong control, out int depth)
    {
        ulong number = hash & ((1UL << Volatile.Read(ref _targetDepth)) - 1);
        ulong* bucket = Bucket(number);
        control = HashBucket.ReadControl(bucket);
        depth = DepthOf(number, control);
        if (depth != 0 && (hash & ((1UL << depth) - 1)) == number) return bucket;
        return HomeSlow(hash, number, out control, out depth);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong* HomeSlow(ulong hash, ulong number, out ulong control, out int depth)
    {
        // Ends: to the parent at most once a level, then only deeper, and depths are bounded.
        while (true)
        {
            ulong* bucket = Bucket(number);
            control = HashBucket.ReadControl(bucket);
            depth = DepthOf(number, control);
            if (depth == 0)
            {
                number &= ~(1UL << BitOperations.Log2(number));
                continue;
            }

            ulong home = hash & ((1UL << depth) - 1);
            if (home == number) return bucket;
            number = home;
        }
    }

    /// <summary>Finds the record of a key: alive, locked, or dead in this very moment (then look again).</summary>
    /// <returns>Null when the key has no entry; that was so at one instant of the call.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Find(ReadOnlySpan<byte> key, ulong hash)
    {
        ulong* bucket = Home(hash, out ulong control, out int depth);
        ulong tag = Tag(hash, depth);
        uint matches = HashBucket.Match(bucket, tag);
        while (matches != 0)
        {
            ulong entry = Volatile.Read(ref bucket[HashBucket.TakeLowest(ref matches)]);
            if (entry == 0) continue;
            byte* record = _log.Pointer(HashBucket.AddressOf(entry));
            if (Record.KeyEquals(record, Record.ReadWord(record), key)) return record;
        }

        if (HashBucket.OverflowOf(control) == 0 && !HashBucket.IsLatched(control))
        {
            Volatile.ReadBarrier();     // the entries before the control word again
            if (HashBucket.ReadControl(bucket) == control) return null;
        }

        return FindSlow(key, hash, out _, out _);
    }

    /// <summary>Does what <see cref="Find"/> does, over chains and while the bucket changes.</summary>
    /// <param name="home">For a miss: the bucket and its control word, which prove it while they stay the same.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public byte* FindSlow(ReadOnlySpan<byte> key, ulong hash, out ulong* home, out ulong control)
    {
        // Ends: a round is repeated only when a latch was held or the chain changed meanwhile; holders never wait.
        var wait = new SpinWait();
        while (true)
        {
            home = Home(hash, out control, out int depth);
            ulong tag = Tag(hash, depth);
            ulong* bucket = home;
            ulong link = control;
            while (true)
            {
                uint matches = HashBucket.Match(bucket, tag);
                while (matches != 0)
                {
                    ulong entry = Volatile.Read(ref bucket[HashBucket.TakeLowest(ref matches)]);
                    if (entry == 0) continue;
                    byte* record = _log.Pointer(HashBucket.AddressOf(entry));
                    if (Record.KeyEquals(record, Record.ReadWord(record), key)) return record;
                }

                uint next = HashBucket.OverflowOf(link);
                if (next == 0) break;
                bucket = Overflow[next];
                link = HashBucket.ReadControl(bucket);
            }

            Volatile.ReadBarrier();
            if (!HashBucket.IsLatched(control) && HashBucket.ReadControl(home) == control) return null;
            wait.SpinOnce(sleep1Threshold: -1);
        }
    }

    /// <summary>Brings the bucket of a hash into the cache.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Prefetch(ulong hash)
    {
        if (!Sse.IsSupported) return;
        int depth = Volatile.Read(ref _targetDepth);
        Sse.Prefetch0(Bucket(hash & ((1UL << depth) - 1)));
        // The one before, while it may not have been split yet.
        if (_completeDepth != depth) Sse.Prefetch0(Bucket(hash & ((1UL << (depth - 1)) - 1)));
    }

    /// <summary>Brings the buckets of some hashes into the cache, and then the records: each comes from memory while
    /// others do.</summary>
    /// <param name="hashes">At most <see cref="Together"/>.</param>
    public void PrefetchAll(ReadOnlySpan<ulong> hashes)
    {
        Debug.Assert(hashes.Length <= Together, "more would push each other out");
        foreach (ulong hash in hashes) Prefetch(hash);
        foreach (ulong hash in hashes) Probe(hash);
    }

    /// <summary>Brings the records of a bucket into the cache, but for those of its chain; the bucket should be
    /// there.</summary>
    public void PrefetchRecords(ulong number)
    {
        ulong* bucket = Bucket(number & ((1UL << Volatile.Read(ref _targetDepth)) - 1));
        for (int i = 0; i < HashBucket.Entries; i++) PrefetchRecord(Volatile.Read(ref bucket[i]));
    }

    /// <summary>Brings the record of an entry into the cache: a short one whole.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void PrefetchRecord(ulong entry)
    {
        if (!Sse.IsSupported || entry == 0) return;
        byte* record = _log.Pointer(HashBucket.AddressOf(entry));
        Sse.Prefetch0(record);
        Sse.Prefetch0(record + LineBytes - 1);
    }

    /// <summary>The first record whose tag fits, brought into the cache: a hint.</summary>
    /// <returns>Its address; 0: none; or <see cref="InChain"/>.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Probe(ulong hash)
    {
        // Not by Home: what its slow half takes by reference would live in memory on every path.
        ulong number = hash & ((1UL << Volatile.Read(ref _targetDepth)) - 1);
        ulong* bucket = Bucket(number);
        ulong control = HashBucket.ReadControl(bucket);
        int depth = DepthOf(number, control);
        if (depth == 0 || (hash & ((1UL << depth) - 1)) != number) return ProbeSlow(hash);
        return ProbeBucket(bucket, control, hash, depth);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong ProbeSlow(ulong hash)
    {
        ulong* bucket = Home(hash, out ulong control, out int depth);
        return ProbeBucket(bucket, control, hash, depth);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ulong ProbeBucket(ulong* bucket, ulong control, ulong hash, int depth)
    {
        uint matches = HashBucket.Match(bucket, Tag(hash, depth));
        if (matches == 0) return HashBucket.OverflowOf(control) == 0 ? 0 : PrefetchChain(control);
        ulong address = HashBucket.AddressOf(Volatile.Read(ref bucket[BitOperations.TrailingZeroCount(matches)]));
        if (Sse.IsSupported) Sse.Prefetch0(_log.Pointer(address));
        return address;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong PrefetchChain(ulong control)
    {
        if (Sse.IsSupported) Sse.Prefetch0(Overflow[HashBucket.OverflowOf(control)]);
        return InChain;
    }

    /// <summary>Probes the chain of a bucket in which <see cref="Probe"/> found nothing.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public ulong ProbeChain(ulong hash)
    {
        Home(hash, out ulong link, out int depth);
        ulong tag = Tag(hash, depth);
        // Ends: with the chain. A bucket taken off it meanwhile is not used again before an epoch has passed.
        for (uint next = HashBucket.OverflowOf(link); next != 0; next = HashBucket.OverflowOf(link))
        {
            ulong* bucket = Overflow[next];
            link = HashBucket.ReadControl(bucket);
            uint matches = HashBucket.Match(bucket, tag);
            if (matches == 0) continue;
            ulong address = HashBucket.AddressOf(Volatile.Read(ref bucket[BitOperations.TrailingZeroCount(matches)]));
            if (Sse.IsSupported) Sse.Prefetch0(_log.Pointer(address));
            return address;
        }

        return 0;
    }

    /// <summary>Publishes a record, unless the key has an entry already.</summary>
    /// <param name="address">Of the record; complete, and whoever finds it may use it at once.</param>
    /// <param name="watches">Is told of the change, if there is one, before anybody can see it.</param>
    /// <param name="slot">Of the session that inserts.</param>
    /// <param name="existing">Null, or the record that was there; then nothing was changed.</param>
    /// <returns>False when an overflow bucket was needed and there is no memory.</returns>
    public bool TryInsert(ReadOnlySpan<byte> key, ulong hash, ulong address, out byte* existing,
        WatchTable? watches = null, int databaseId = 0, int slot = 0)
    {
        Debug.Assert(address is not 0 and not InChain, "the record has an address");
        Debug.Assert(!RecordWord.IsDead(Record.ReadWord(_log.Pointer(address))), "a record is published alive");
        ulong* home = LatchHome(hash, out ulong control, out int depth);
        ulong tag = Tag(hash, depth);
        ulong* free = null;
        ulong* last = home;
        ulong* bucket = home;
        ulong link = control;
        existing = null;
        while (true)
        {
            uint matches = HashBucket.Match(bucket, tag);
            while (matches != 0)
            {
                ulong entry = bucket[HashBucket.TakeLowest(ref matches)];
                if (entry == 0) continue;
                byte* record = _log.Pointer(HashBucket.AddressOf(entry));
                if (!Record.KeyEquals(record, Record.ReadWord(record), key)) continue;
                existing = record;
                Unlatch(home, control);
                return true;
            }

            uint unused = ~HashBucket.Used(bucket) & ((1u << HashBucket.Entries) - 1);
            if (free == null && unused != 0) free = bucket + BitOperations.TrailingZeroCount(unused);
            last = bucket;
            uint next = HashBucket.OverflowOf(link);
            if (next == 0) break;
            bucket = Overflow[next];
            link = bucket[HashBucket.ControlIndex];
        }

        if (free == null)
        {
            uint number = Overflow.TryTake();
            if (number == 0)
            {
                Unlatch(home, control);
                return false;
            }

            free = Overflow[number];
            if (last == home) control |= number;
            else Volatile.Write(ref last[HashBucket.ControlIndex], last[HashBucket.ControlIndex] | number);
        }

        if (watches != null && watches.IsAny) watches.Note(slot, databaseId, hash, key);
        // release: the record's content before its entry
        Volatile.Write(ref *free, HashBucket.Entry(tag, address));
        Unlatch(home, control + HashBucket.SequenceOne);
        return true;
    }

    /// <summary>Puts a record in the place of another with the same key, whose lock the caller holds.</summary>
    public void Replace(ulong hash, ulong oldAddress, ulong newAddress)
    {
        Debug.Assert(oldAddress != newAddress && newAddress != 0, "another record takes the place");
        Debug.Assert(Record.IsLocked(_log.Pointer(oldAddress)), "whoever replaces a record holds it");
        // The sequence stays: whenever it is probed, the chain has an entry for the key, so no miss can be wrong.
        ulong* home = LatchHome(hash, out ulong control, out _);
        ulong* slot = SlotOf(home, control, oldAddress);
        Volatile.Write(ref *slot, HashBucket.Entry(HashBucket.TagOf(*slot), newAddress));   // release: content first
        Unlatch(home, control);
    }

    /// <summary>Removes the entry of a record whose lock the caller holds.</summary>
    public void Remove(ulong hash, ulong address)
    {
        Debug.Assert(Record.IsLocked(_log.Pointer(address)), "whoever removes an entry holds its record");
        ulong* home = LatchHome(hash, out ulong control, out _);
        Volatile.Write(ref *SlotOf(home, control, address), 0);
        uint unlinked = 0;
        if (HashBucket.OverflowOf(control) != 0) control = ShortenLatched(home, control, out unlinked);
        Unlatch(home, control + HashBucket.SequenceOne);
        // After the unlatching: what is deferred must have been unlinked before.
        if (unlinked != 0) Overflow.Retire(unlinked, Deferred);
    }

    /// <summary>Takes the last bucket off a chain when those before it have room for its entries and one
    /// more.</summary>
    /// <param name="unlinked">The bucket, to be retired after the unlatching; 0: none.</param>
    /// <returns>The control word of the home.</returns>
    private ulong ShortenLatched(ulong* home, ulong control, out uint unlinked)
    {
        Debug.Assert(HashBucket.IsLatched(HashBucket.ReadControl(home)), "the home bucket is latched");
        Debug.Assert(HashBucket.OverflowOf(control) != 0, "there is a chain to shorten");
        ulong* last = home, before = home;
        int room = 0;
        uint number = 0;
        unlinked = 0;
        for (uint next = HashBucket.OverflowOf(control); next != 0;
            next = HashBucket.OverflowOf(last[HashBucket.ControlIndex]))
        {
            room += HashBucket.Entries - CountEntries(last);
            before = last;
            number = next;
            last = Overflow[next];
        }

        int moving = CountEntries(last);
        if (moving != 0 && moving >= room) return control;      // an insert would soon need the bucket again

        // A reader in the last bucket finds its entries there: it stays as it is for an epoch. A reader who has passed
        // an entry's new place and does not come to the last bucket any more has read the control word before: its miss
        // does not count.
        ulong* to = home;
        ulong link = control;
        for (int from = 0, lane = 0; from < HashBucket.Entries; from++)
        {
            if (last[from] == 0) continue;
            // Ends: there is room.
            while (to[lane] != 0)
            {
                if (++lane < HashBucket.Entries) continue;
                lane = 0;
                to = Overflow[HashBucket.OverflowOf(link)];
                link = to[HashBucket.ControlIndex];
            }

            Volatile.Write(ref to[lane], last[from]);       // release: the record was complete before its first entry
        }

        unlinked = number;
        if (before == home) return control & ~(ulong)uint.MaxValue;
        Volatile.Write(ref before[HashBucket.ControlIndex], 0);      // release: the entries before the chain is shorter
        return control;
    }

    private static int CountEntries(ulong* bucket)
    {
        int count = 0;
        for (int i = 0; i < HashBucket.Entries; i++)
            if (bucket[i] != 0) count++;
        return count;
    }

    private ulong* SlotOf(ulong* home, ulong control, ulong address)
    {
        Debug.Assert(HashBucket.IsLatched(HashBucket.ReadControl(home)), "the home bucket is latched");
        ulong* bucket = home;
        ulong link = control;
        while (true)
        {
            for (int i = 0; i < HashBucket.Entries; i++)
                if (HashBucket.AddressOf(bucket[i]) == address) return bucket + i;
            uint next = HashBucket.OverflowOf(link);
            Invariant.Check(next != 0, "the entry of a live record is in its home bucket");
            bucket = Overflow[next];
            link = bucket[HashBucket.ControlIndex];
        }
    }

    /// <summary>Makes the caller the only one to change the chain where a hash lives; while the index grows, splits a
    /// full bucket first.</summary>
    /// <remarks>
    /// A bucket with room waits for the sweep: one that is split for each key that arrives costs most when a doubling
    /// begins, just where the sweep costs the same all the time.
    /// </remarks>
    /// <param name="control">The control word without the latch, to be given back by <see cref="Unlatch"/>.</param>
    public ulong* LatchHome(ulong hash, out ulong control, out int depth)
    {
        // Ends: a round is repeated when another session held the latch (for under a microsecond; it waits for
        // nothing), or when the bucket was split meanwhile (at most once a doubling).
        var wait = new SpinWait();
        while (true)
        {
            ulong* home = Home(hash, out control, out depth);
            if (HashBucket.IsLatched(control) || !TryLatch(home, control))
            {
                wait.SpinOnce(sleep1Threshold: -1);
                continue;
            }

            // The control word did not change since Home read it, so this is still the home.
            if (depth >= TargetDepth || HashBucket.HasRoom(home)
                || !Growth.TrySplit(home, hash & ((1UL << depth) - 1), control, depth)) return home;
        }
    }

    public static bool TryLatch(ulong* bucket, ulong control)
    {
        Debug.Assert(!HashBucket.IsLatched(control), "only a free bucket is latched");
        return Interlocked.CompareExchange(ref bucket[HashBucket.ControlIndex], control | HashBucket.LatchBit,
            control) == control;
    }

    /// <summary>Release: the changes of the chain before the new control word.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Unlatch(ulong* bucket, ulong control)
    {
        Debug.Assert(HashBucket.IsLatched(Volatile.Read(ref bucket[HashBucket.ControlIndex])), "it is latched");
        Debug.Assert(!HashBucket.IsLatched(control), "the latch is given back");
        Volatile.Write(ref bucket[HashBucket.ControlIndex], control);
    }

    /// <summary>Takes a part of the memory that the next doubling needs from the system.</summary>
    /// <returns>False when the system has none: whoever touches that part finds that out, too.</returns>
    public bool Populate(int depth, long from, long bytes)
    {
        Debug.Assert(depth < MaxDepth && from >= 0 && from + bytes <= (1L << depth) * HashBucket.Bytes,
            "the part is of the next half");
        byte* half = _buckets + (1L << depth) * HashBucket.Bytes;
        if (from == 0) VirtualMemory.PreferHugePages(half, (nuint)((1L << depth) * HashBucket.Bytes));
        return VirtualMemory.Populate(half + from, (nuint)bytes);
    }

    /// <summary>Doubles the number of buckets that the index is to have; only <see cref="IndexGrowth"/> decides
    /// when.</summary>
    public void RaiseTarget(int depth)
    {
        Debug.Assert(depth == _targetDepth + 1, "it grows by doubling");
        long half = (1L << (depth - 1)) * HashBucket.Bytes;
        if (half >= HugeHalfFromBytes) VirtualMemory.PreferHugePages(_buckets + half, (nuint)half);
        Budget.ChargeIndex(half);
        Volatile.Write(ref _targetDepth, depth);
    }

    /// <summary>Halves the number of buckets that the index is to have; only <see cref="IndexHalving"/> decides
    /// when.</summary>
    /// <returns>False when it is being doubled or halved.</returns>
    public bool TryLowerTarget()
    {
        lock (Resizing)
        {
            if (IsResizing) return false;
            Debug.Assert(_targetDepth > FirstDepth, "it does not become smaller than it was at first");
            // full fence: before a look at any bucket
            Interlocked.Exchange(ref _targetDepth, _targetDepth - 1);
        }

        Budget.ChargeIndex(-(1L << TargetDepth) * HashBucket.Bytes);
        return true;
    }

    /// <summary>Gives the far half back, which nobody reads any more.</summary>
    public void EndHalving()
    {
        Debug.Assert(CompleteDepth == TargetDepth + 1, "all buckets of this halving are merged");
        lock (Resizing)
        {
            Growth.ForgetPrepared();
            GiveBackAbove(_targetDepth);
            Volatile.Write(ref _completeDepth, _targetDepth);
        }
    }

    /// <summary>Gives the memory of as many buckets as there are, behind them, back to the system. The caller has the
    /// lock, and no bucket is there.</summary>
    public void GiveBackAbove(int depth)
    {
        Debug.Assert(Resizing.IsHeldByCurrentThread, "no doubling begins meanwhile");
        long half = (1L << depth) * HashBucket.Bytes;
        // What the system refuses to take is as good: a bucket is made whole before it is found by its control word,
        // which is 0 either way.
        VirtualMemory.GiveBack(_buckets + half, (nuint)half);
    }

    /// <summary>The hash of an entry's key.</summary>
    public ulong HashOf(ulong entry)
    {
        byte* record = _log.Pointer(HashBucket.AddressOf(entry));
        return Hash.Of(Record.KeyOf(record, Record.ReadWord(record)));
    }

    /// <summary>Notes that all buckets have been split. Called by who split the last of them, or waited for those who
    /// did; release.</summary>
    public void EndDoubling(int depth)
    {
        Debug.Assert(depth == TargetDepth, "all buckets of this doubling are split");
        Volatile.Write(ref _completeDepth, depth);
    }

    public SegmentedLog Log => _log;

    public void Dispose()
    {
        Budget.ChargeIndex(-(1L << TargetDepth) * HashBucket.Bytes);
        Overflow.Dispose();
        VirtualMemory.Release(_buckets, (nuint)_reservedBytes);
    }
}
