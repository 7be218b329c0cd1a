using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>Very many keys, brought into the order in which everybody locks, a piece at a time.</summary>
/// <remarks>
/// By buckets of the hash: counted, scattered, then each bucket sorted. A key that was added twice is there twice, side
/// by side, and the last of such is <see cref="IsLast"/>. Threads: one at a time. The keys' bytes must stay where they
/// are.
/// </remarks>
internal sealed unsafe class KeyOrder : IKeySink, IDisposable
{
    /// <summary>So many keys are hashed or counted in one step at most: some 200 us.</summary>
    public const int KeysPerStep = 8 * 1024;

    private const int BucketKeys = 256, SortedPerStep = KeysPerStep / 4, ScatteredPerStep = KeysPerStep / 4;

    private readonly KeyHash _hash;
    private readonly int _capacity;
    private readonly bool _keepsPlaces;
    private Entry* _items, _unsorted;
    private int* _places, _bucketEnds;
    private int _buckets, _shift, _next;
    private Phase _phase;

    /// <param name="hash">Of the store.</param>
    /// <param name="most">So many keys will be added at most. Their memory is paid for page by page, and given back
    /// so.</param>
    /// <param name="keepsPlaces">Whether <see cref="PlaceOf"/> is asked.</param>
    /// <exception cref="OutOfMemoryException">The system refuses.</exception>
    public KeyOrder(KeyHash hash, int most, bool keepsPlaces)
    {
        _hash = hash;
        _capacity = most;
        _keepsPlaces = keepsPlaces;
        _unsorted = (Entry*)Reserve((nuint)most * (nuint)sizeof(Entry));
    }

    private enum Phase
    {
        Add,
        Count,
        Scatter,
        Sort,
    }

    /// <summary>Keys that were added, doubles included.</summary>
    public int Count { get; private set; }

    /// <summary>Bytes of the lists, about.</summary>
    public long Bytes => BytesOf(Count, _keepsPlaces);

    /// <summary>A key, in the order when all steps are done.</summary>
    public ref Entry this[int place]
    {
        get
        {
            Debug.Assert((uint)place < (uint)Count && _phase == Phase.Sort, "there is such a key, in its order");
            return ref _items[place];
        }
    }

    /// <summary>The number of the database of the so-manieth that was added, before they are brought into
    /// order.</summary>
    public int DatabaseOf(int index)
    {
        Debug.Assert((uint)index < (uint)Count && _phase <= Phase.Scatter, "it was added, and is not in its order yet");
        return _unsorted[index].Database;
    }

    /// <inheritdoc cref="Bytes"/>
    public static long BytesOf(long count, bool keepsPlaces) =>
        count * (sizeof(Entry) + (keepsPlaces ? sizeof(int) : 0));

    /// <inheritdoc/>
    public void Add(byte* key, int length, int database)
    {
        Invariant.Check(Count < _capacity, "more keys than were announced");
        _unsorted[Count] = new Entry { Key = key, Length = length, Hash = _hash.Of(key, length), Index = Count,
            Database = database };
        Count++;
    }

    /// <summary>After the last key: does a piece of bringing them into order.</summary>
    /// <param name="table">The databases that they will be locked in; null where they are of one.</param>
    /// <returns>True when all is done.</returns>
    public bool Step(Database?[]? table = null)
    {
        switch (_phase)
        {
            case Phase.Add: Begin(); return Count == 0;
            case Phase.Count: CountSome(); return false;
            case Phase.Scatter: ScatterSome(table); return false;
            default: return SortSome();
        }
    }

    /// <summary>Whether the key at a place stands for all that are equal to it.</summary>
    public bool IsLast(int place) => place + 1 == Count || !Entry.SameKey(_items[place], _items[place + 1]);

    /// <summary>The place that stands for the key that was added as the so-manieth.</summary>
    public int PlaceOf(int index)
    {
        Debug.Assert(_keepsPlaces && (uint)index < (uint)Count && _phase == Phase.Sort, "the place is kept, and known");
        return _places[index];
    }

    /// <summary>The first place whose key has no smaller hash.</summary>
    public int FirstFrom(ulong hash)
    {
        int low = 0, high = Count;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (this[middle].Hash < hash) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    /// <summary>Brings what the next keys lead to into the cache: in their order they are strewn over all
    /// memory.</summary>
    /// <param name="index">Of the database of most of them.</param>
    /// <param name="first">The place of the first of <see cref="HashIndex.Together"/>.</param>
    public void Prefetch(HashIndex index, int first)
    {
        Span<ulong> hashes = stackalloc ulong[Math.Min(HashIndex.Together, Count - first)];
        for (int i = 0; i < hashes.Length; i++)
        {
            ref Entry item = ref this[first + i];
            hashes[i] = item.Hash;
            if (Sse.IsSupported) Sse.Prefetch0(item.Key);
        }

        index.PrefetchAll(hashes);
    }

    /// <summary>Gives the memory of keys back that nobody will look at any more, nor at those before them.</summary>
    /// <param name="first">From here.</param>
    /// <param name="end">To here.</param>
    public void Forget(int first, int end)
    {
        Debug.Assert(first >= 0 && first <= end && end <= Count, "they are keys of the list");
        UsedPages.GiveBack((byte*)(_items + first), (byte*)(_items + end));
    }

    public void Dispose()
    {
        Release(_unsorted, (nuint)_capacity * (nuint)sizeof(Entry));
        Release(_items, (nuint)Count * (nuint)sizeof(Entry));
        Release(_places, (nuint)Count * sizeof(int));
        NativeMemory.Free(_bucketEnds);
        _items = _unsorted = null;
        _places = _bucketEnds = null;
    }

    private static void* Reserve(nuint bytes)
    {
        byte* start = VirtualMemory.Reserve(Math.Max(1, bytes));
        return start != null ? start : throw new OutOfMemoryException();
    }

    private static void Release(void* start, nuint bytes)
    {
        if (start != null) VirtualMemory.Release((byte*)start, Math.Max(1, bytes));
    }

    private void Begin()
    {
        Debug.Assert(_items == null && _unsorted != null, "keys are brought into order once");
        _buckets = 2;
        while (_buckets * (long)BucketKeys < Count) _buckets *= 2;
        _shift = 64 - System.Numerics.BitOperations.Log2((uint)_buckets);
        _items = (Entry*)Reserve((nuint)Count * (nuint)sizeof(Entry));
        if (_keepsPlaces) _places = (int*)Reserve((nuint)Count * sizeof(int));
        _bucketEnds = (int*)NativeMemory.AllocZeroed((nuint)_buckets + 1, sizeof(int));
        GoOn(Phase.Count);
    }

    private void CountSome()
    {
        for (var step = new KeyStep(_next, Count, KeysPerStep); step.Takes(_next); _next++)
            _bucketEnds[(_unsorted[_next].Hash >> _shift) + 1]++;
        if (_next < Count) return;
        // Counts become starts; scattering moves each to its end.
        for (int i = 1; i <= _buckets; i++) _bucketEnds[i] += _bucketEnds[i - 1];
        GoOn(Phase.Scatter);
    }

    private void ScatterSome(Database?[]? table)
    {
        int first = _next;
        for (var step = new KeyStep(_next, Count, ScatteredPerStep); step.Takes(_next); _next++)
        {
            ref Entry item = ref _unsorted[_next];
            if (table != null) item.DatabaseId = table[item.Database]!.Id;
            _items[_bucketEnds[item.Hash >> _shift]++] = item;
        }

        UsedPages.GiveBack((byte*)(_unsorted + first), (byte*)(_unsorted + _next));
        if (_next != Count) return;
        Debug.Assert(_bucketEnds[_buckets - 1] == Count, "the buckets have all keys");
        GoOn(Phase.Sort);
    }

    private bool SortSome()
    {
        int done = 0, last = 1;
        for (var clock = new StepClock(); _next < _buckets && done < SortedPerStep && clock.HasTime(last); _next++)
        {
            int start = _next == 0 ? 0 : _bucketEnds[_next - 1];
            var bucket = new Span<Entry>(_items + start, _bucketEnds[_next] - start);
            // One key many times is one long bucket, and in order already.
            if (!IsSorted(bucket)) bucket.Sort(static (left, right) => Entry.Compare(left, right));
            for (int i = bucket.Length - 1, place = i; i >= 0 && _keepsPlaces; i--)
            {
                if (i + 1 < bucket.Length && !Entry.SameKey(bucket[i], bucket[i + 1])) place = i;
                _places[bucket[i].Index] = start + place;
            }

            last = bucket.Length + 1;
            done += last;
        }

        return _next == _buckets;
    }

    private static bool IsSorted(ReadOnlySpan<Entry> items)
    {
        for (int i = 1; i < items.Length; i++)
            if (Entry.Compare(items[i - 1], items[i]) > 0) return false;
        return true;
    }

    private void GoOn(Phase phase)
    {
        _phase = phase;
        _next = 0;
    }

    /// <summary>One key.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Entry
    {
        public byte* Key;
        public ulong Hash;

        /// <summary>Its bytes; and the so-manieth that was added.</summary>
        public int Length, Index;

        /// <summary>The number of its database, and which one has that number.</summary>
        public int Database, DatabaseId;

        public readonly ReadOnlySpan<byte> Bytes => new(Key, Length);

        /// <summary>The order of <see cref="KeyList.Compare"/>; equal keys as they came.</summary>
        public static int Compare(in Entry left, in Entry right)
        {
            int order = left.Hash.CompareTo(right.Hash);
            if (order == 0) order = left.DatabaseId.CompareTo(right.DatabaseId);
            if (order == 0) order = left.Bytes.SequenceCompareTo(right.Bytes);
            return order != 0 ? order : left.Index.CompareTo(right.Index);
        }

        public static bool SameKey(in Entry left, in Entry right) =>
            left.Hash == right.Hash && left.DatabaseId == right.DatabaseId && left.Bytes.SequenceEqual(right.Bytes);
    }
}
