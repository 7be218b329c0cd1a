using System.Buffers;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>How the scores that a member has in several sets become one.</summary>
public enum ScoreAggregate : byte
{
    /// <summary>Their sum.</summary>
    Sum,

    /// <summary>The least of them.</summary>
    Least,

    /// <summary>The greatest of them.</summary>
    Greatest,
}

/// <summary>Collects the elements of a new sorted set, in any order, apart from the store; then makes it the value of a
/// key.</summary>
/// <remarks>Whoever makes one disposes it. Cost: a member table of its own, 24 bytes an element while they are brought
/// in order (4 when they come so), a tree built at once; freed or handed over.</remarks>
internal unsafe struct SortedSetBuilder
{
    // What the longest score takes more in a run than in an item.
    private const int MoreWhenPacked = PackedScore.BytesMax - sizeof(double);

    private readonly Store _store;
    private Region _region;
    private ElementOrder<Members>? _order;
    private MemberPlace _place;
    private ScoreTreeBuilder _tree;
    private Phase _phase;
    private int _longest, _at;
    private long _bytes;

    // The items as they came, as long as they come in ascending or in descending order.
    private uint* _arrived;
    private int _room;
    private bool _isDescending;

    public SortedSetBuilder(Store store)
    {
        _store = store;
    }

    private enum Phase : byte
    {
        Collecting,
        Listing,
        Ordering,
        Building,
        Done,
    }

    /// <summary>Whether they are likely to come in order, or from the last to the first: then that is looked at, and
    /// need not be found.</summary>
    public bool MayBeInOrder { get; set; }

    /// <summary>Members so far.</summary>
    public readonly long Count => _region.IsNone ? 0 : Table.Count;

    private readonly MemberTable Table => new(_region, in _store.Hash);

    /// <summary>Adds a member, or another score of one that is there.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> member, double score, ScoreAggregate aggregate) =>
        TryAdd(member, _store.Hash.Of(member), score, aggregate, mayBeThere: true);

    /// <summary>Adds a member whose hash is known, and perhaps that it is not there.</summary>
    public bool TryAdd(scoped ReadOnlySpan<byte> member, ulong hash, double score, ScoreAggregate aggregate,
        bool mayBeThere)
    {
        Debug.Assert(_phase == Phase.Collecting, "members are added before the set is finished");
        Debug.Assert(!double.IsNaN(score) && hash == _store.Hash.Of(member),
            "a score is a number, and the hash is the member's");
        if (_region.IsNone && !TryBegin()) return false;
        MemberTable table = Table;
        uint* place = mayBeThere ? table.Find(member, hash) : null;
        if (place != null)
        {
            byte* there = table.ItemAt(place);
            ScoreItem.SetScore(there, Combine(ScoreItem.ScoreOf(there), score, aggregate));
            ForgetArrivals();
            return true;
        }

        int size = ScoreItem.SizeOf(member.Length);
        if (!TryReserve(size + Region.UnitBytes + MemberTable.ReserveBytes(_region, 1))) return false;
        uint item = _region.Take(size);
        ScoreItem.Write(_region.At(item), score, member);
        Table.Insert(item, hash);
        _longest = Math.Max(_longest, member.Length);
        _bytes += size;
        return !MayBeInOrder || TryNoteArrival(item);
    }

    /// <summary>Asks for the memory that adding members will look at.</summary>
    public readonly void Prefetch(scoped ref MemberBatch members)
    {
        if (!_region.IsNone) members.Prefetch(_region);
    }

    /// <summary>Two scores as one. A sum that is no number (inf and -inf) is 0; of what is no number itself the first
    /// is taken.</summary>
    public static double Combine(double left, double right, ScoreAggregate aggregate)
    {
        if (aggregate == ScoreAggregate.Least) return right < left ? right : left;
        if (aggregate == ScoreAggregate.Greatest) return right > left ? right : left;
        double sum = left + right;
        return double.IsNaN(sum) ? 0 : sum;
    }

    /// <summary>Ends the collecting: brings the elements in order.</summary>
    /// <returns>False when there is no memory.</returns>
    public bool TryFinish()
    {
        bool isDone;
        // Ends: each step gets on.
        while (TryFinish(int.MaxValue, out isDone) && !isDone)
        {
        }

        return isDone;
    }

    /// <summary>Ends the collecting, a piece at a time: brings some of the elements in order.</summary>
    /// <param name="elements">About how many elements.</param>
    /// <param name="isDone">All are in order.</param>
    /// <returns>False when there is no memory.</returns>
    public bool TryFinish(int elements, out bool isDone)
    {
        Debug.Assert(elements > 0, "each call takes an element");
        isDone = Count == 0;
        switch (_phase)
        {
            case Phase.Collecting:
                if (isDone) return true;
                if (!(_arrived != null ? TryBeginTree() : TryBeginOrder())) return false;
                break;
            case Phase.Listing:
                ListItems(elements);
                break;
            case Phase.Ordering:
                if (!_order!.Step()) break;
                _tree = new ScoreTreeBuilder(new ScoreTree(_region));
                _phase = Phase.Building;
                break;
            case Phase.Building:
                Build(elements);
                break;
        }

        isDone = _phase == Phase.Done;
        return true;
    }

    // After the last one, or before the first: else they are not in order.
    private bool TryNoteArrival(uint item)
    {
        int at = (int)Count - 1;
        Debug.Assert(_phase == Phase.Collecting && at <= _room, "every arrival was noted");
        if (at == _room && !TryGrowArrivals()) return false;
        if (at > 0)
        {
            byte* before = _region.At(_arrived[at - 1]), last = _region.At(item);
            double score = ScoreItem.ScoreOf(before), next = ScoreItem.ScoreOf(last);
            bool isAhead = next != score ? next < score : MemberItem.MemberOf(last)
                .SequenceCompareTo(MemberItem.MemberOf(before)) < 0;
            if (at == 1) _isDescending = isAhead;
            if (isAhead != _isDescending)
            {
                ForgetArrivals();
                return true;
            }
        }

        _arrived[at] = item;
        return true;
    }

    private bool TryGrowArrivals()
    {
        int room = Math.Max(256, 2 * _room);
        if (room <= _room || _store.Budget.RefusesAllocation()) return false;
        _arrived = (uint*)NativeMemory.Realloc(_arrived, (nuint)room * sizeof(uint));
        _store.Charge((room - _room) * (long)sizeof(uint));
        _room = room;
        return true;
    }

    private void ForgetArrivals()
    {
        MayBeInOrder = false;
        if (_arrived == null) return;
        NativeMemory.Free(_arrived);
        _store.Charge(-_room * (long)sizeof(uint));
        _arrived = null;
        _room = 0;
    }

    private bool TryBeginTree()
    {
        Debug.Assert(Count <= _room, "every arrival was noted");
        if (!TryReserve(ScoreTree.BuildBytes(Count))) return false;
        _tree = new ScoreTreeBuilder(new ScoreTree(_region));
        _phase = Phase.Building;
        return true;
    }

    private bool TryBeginOrder()
    {
        long count = Count;
        if (count > Array.MaxLength || !TryReserve(ScoreTree.BuildBytes(count)) || _store.Budget.RefusesAllocation())
            return false;
        _order = new ElementOrder<Members>(_store);
        _order.Begin(new Members(_region), (int)count, isDescending: false, 0, (int)count);
        _phase = Phase.Listing;
        return true;
    }

    private void ListItems(int elements)
    {
        var walk = Table.GetWalk(_place);
        int end = (int)Math.Min(Count, (long)_at + elements);
        for (; _at < end && walk.Next(out byte* item); _at++)
        {
            _order!.SetItem(_at, (uint)((item - _region.Start) / Region.UnitBytes));
            _order.SetScore(_at, ScoreItem.ScoreOf(item));
        }

        _place = walk.Place;
        if (_at != Count) return;
        _order!.Start(0, _at, byScore: true);
        _at = 0;
        _phase = Phase.Ordering;
    }

    private void Build(int elements)
    {
        const int ahead = 16;       // what is next in order is anywhere in memory
        int count = (int)Count, end = (int)Math.Min(count, (long)_at + elements);
        for (; _at < end; _at++)
        {
            if (_at + ahead < count) new Members(_region).Prefetch(ItemAt(_at + ahead));
            uint item = ItemAt(_at);
            _tree.Append(ScoreItem.ScoreOf(_region.At(item)), item);
        }

        if (_at != count || !_tree.Finish(elements)) return;
        EndOrder();
        _phase = Phase.Done;
    }

    private readonly uint ItemAt(int rank) =>
        _arrived == null ? _order![rank] : _arrived[_isDescending ? (int)Count - 1 - rank : rank];

    private void EndOrder()
    {
        ForgetArrivals();
        _order?.Dispose();
        _order = null;
    }

    /// <summary>The element of a rank of the finished set, to go on from there.</summary>
    public readonly ScoreCursor At(long rank)
    {
        Debug.Assert(_phase == Phase.Done, "elements have ranks when the set is finished");
        return new ScoreTree(_region).At(rank);
    }

    /// <summary>Makes the finished set the value of a key, whatever was there; without members the key is
    /// deleted.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs = NewValue.NoExpiry)
    {
        Debug.Assert(Count == 0 || _phase == Phase.Done, "only a finished set becomes a value");
        long count = Count;
        PackedLimits limits = target.Limits;
        if (count == 0)
        {
            if (target.Exists) target.Delete();
            return StoreStatus.Ok;
        }

        if (count <= limits.SortedSetEntries && _longest <= limits.SortedSetBytes
            && _bytes + (count * MoreWhenPacked) <= PackedRun.BytesMax) return StoreRun(target, (int)count, expiryMs);
        var status = target.TryReplace(ValueKind.SortedSet, _region, expiryMs);
        if (status == StoreStatus.Ok) _region = default;        // the record's now
        return status;
    }

    /// <summary>Frees what was not handed over.</summary>
    public void Dispose()
    {
        EndOrder();
        if (!_region.IsNone) _region.Free();
        _region = default;
    }

    private bool TryReserve(long bytes) => Region.TryReserve(ref _region, _store.Budget, bytes);

    private bool TryBegin()
    {
        Debug.Assert(_region.IsNone && _phase == Phase.Collecting, "a set begins once");
        _region = Region.Create(_store.Budget,
            MemberTable.ReserveBytes(default, 1) + ScoreTree.ReserveBytes(default, 0));
        if (_region.IsNone) return false;
        Table.Begin();
        new ScoreTree(_region).Begin();
        return true;
    }

    private readonly StoreStatus StoreRun(HeldValue target, int count, long expiryMs)
    {
        byte[] content = ArrayPool<byte>.Shared.Rent(PackedRun.HeaderBytes + (int)_bytes + (count * MoreWhenPacked));
        StoreStatus status;
        fixed (byte* start = content)
        {
            byte* at = start + PackedRun.HeaderBytes;
            ScoreCursor cursor = At(0);
            do at = PackedScores.Write(at, cursor.Score, MemberItem.MemberOf(cursor.Item));
            while (cursor.MoveNext());
            int used = (int)(at - start);
            Debug.Assert(used <= content.Length, "what was written was within the bounds");
            new PackedRun(start, used).SetSize(used - PackedRun.HeaderBytes, count);
            status = target.TryReplace(ValueKind.PackedSortedSet, content.AsSpan(0, used), expiryMs);
        }

        ArrayPool<byte>.Shared.Return(content);
        return status;
    }

    /// <summary>The members of a region, by the names of their items.</summary>
    private readonly struct Members(Region region) : IOrderedTexts
    {
        public ReadOnlySpan<byte> this[uint item] => MemberItem.MemberOf(region.At(item));

        public void Prefetch(uint item)
        {
            if (Sse.IsSupported) Sse.Prefetch0(region.At(item));
        }
    }
}
