using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Moves what is left of a large collection to a region of its size, in steps: the memory of what was removed
/// goes back to the system.</summary>
/// <remarks>
/// The elements are copied; the key gets the new region in the last step, so whoever needs the key before ends it and
/// loses nothing. Threads: as in <see cref="IHeldUse"/>. Whoever makes one disposes it.
/// </remarks>
internal sealed unsafe class RegionRebuild(Store store) : IHeldUse, IDisposable
{
    private const int ElementsPerStep = 1024;
    private const long SpareMin = 64 * 1024, LeastSpare = 16 * 1024;

    private Region _target;
    private MemberPlace _place;
    private StreamCopy _stream;
    private long _index;

    /// <inheritdoc/>
    public bool HasChanged => false;

    /// <inheritdoc/>
    public string WorkName => "the rebuilding of a large collection";

    /// <inheritdoc/>
    public bool MayBeGivenUp => true;

    /// <summary>Whether the key has its new region, or needs none.</summary>
    public bool IsDone { get; private set; }

    /// <summary>Bytes that a collection has and does not need.</summary>
    public static long SpareBytes(HeldValue value) => value.Region.TouchedBytes - NeededBytes(value);

    /// <summary>Whether these bytes are enough to rebuild the region while the store is nearly full.</summary>
    public static bool MayBeWanted(HeldValue value)
    {
        long touched = value.Region.TouchedBytes;
        return touched > LeastSpare && SpareBytes(value) > Math.Max(LeastSpare, touched / 16);
    }

    /// <summary>Whether it is to be seen to.</summary>
    /// <param name="isTight">Whether the store is nearly full.</param>
    public static bool IsWanted(HeldValue value, bool isTight) =>
        isTight ? MayBeWanted(value) : SpareBytes(value) > (NeededBytes(value) / 5) + SpareMin;

    /// <summary>Whether a copy is the way: what is left is little, or what is spare is in the collection's own
    /// pieces.</summary>
    /// <param name="isTight">Whether the store is nearly full: for a moment all is there twice.</param>
    public static bool IsBest(HeldValue value, bool isTight)
    {
        long needed = NeededBytes(value), touched = value.Region.TouchedBytes,
            inPieces = value.Region.UsedBytes - needed;
        return !value.Region.CanGiveBack || needed <= touched / (isTight ? 8 : 2)
            || inPieces > Math.Max((touched - needed) / 2, needed / 8);
    }

    // A list keeps leaves that are empty, a tree nodes with a few elements each, and a stream nodes that are in no
    // tree.
    /// <summary>Bytes that a collection needs, about.</summary>
    public static long NeededBytes(HeldValue value)
    {
        Region region = value.Region;
        if (value.Kind == ValueKind.List)
            return new ListDirectory(region).LeafBytes + new ListDirectory(region).TableBytes;
        if (value.Kind == ValueKind.Stream) return StreamCopy.BytesFor(new LargeStream(region));
        if (value.Kind != ValueKind.SortedSet) return region.UsedBytes;
        var tree = new ScoreTree(region);
        return region.UsedBytes - ((tree.Leaves + tree.InnerNodes + tree.SpareNodes) * (long)ScoreNode.Bytes)
            + ScoreTree.BuildBytes(new MemberTable(region, in value.Hash).Count);
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held) => Use(held.Value(0));

    /// <summary>Does all of it, for one who holds the key.</summary>
    /// <returns>Whether the key has its new region, or needs none.</returns>
    public bool TryRun(HeldValue value)
    {
        // Ends: each step gets on.
        while (!Use(value))
        {
        }

        return IsDone;
    }

    private bool Use(HeldValue value)
    {
        if (_target.IsNone && !TryBegin(value)) return true;
        bool more = value.Kind switch
        {
            ValueKind.List => CopyElements(value),
            ValueKind.SortedSet => CopyScores(value),
            ValueKind.Stream => CopyStream(value),
            _ => CopyItems(value),
        };
        if (_target.IsNone) return true;        // no memory for more
        if (more) return false;
        AssertIsWhole(value);
        value.MoveTo(_target);
        _target = default;
        return IsDone = true;
    }

    public void Dispose()
    {
        if (!_target.IsNone) _target.Free();
        _target = default;
    }

    private bool TryBegin(HeldValue value)
    {
        IsDone = !MayBeWanted(value);
        if (IsDone) return false;
        Region from = value.Region;
        _target = Region.Create(store.Budget, NeededBytes(value));
        if (_target.IsNone || value.Kind is ValueKind.List or ValueKind.Stream) return !_target.IsNone;
        new MemberTable(_target, in store.Hash).Begin();
        if (value.Kind == ValueKind.SortedSet) new ScoreTree(_target).Begin();
        else new Span<byte>(from.Head + MemberTable.HeadBytes, FieldTable.KeptHeadBytes)
            .CopyTo(new Span<byte>(_target.Head + MemberTable.HeadBytes, FieldTable.KeptHeadBytes));
        return true;
    }

    private bool CopyItems(HeldValue value)
    {
        bool isHash = value.Kind == ValueKind.Hash;
        var walk = new MemberTable(value.Region, in store.Hash).GetWalk(_place);
        for (int i = 0; i < ElementsPerStep; i++)
        {
            if (!walk.Next(out byte* item)) return false;
            int size = isHash ? HashItem.SizeOf(item) : LengthPrefix.SizeWith(MemberItem.MemberOf(item).Length);
            if (!TryReserve(size + Region.UnitBytes + MemberTable.ReserveBytes(_target, 1))) return false;
            Insert(item, size);
        }

        _place = walk.Place;
        return true;
    }

    private bool CopyScores(HeldValue value)
    {
        long count = new MemberTable(value.Region, in store.Hash).Count,
            end = Math.Min(count, _index + ElementsPerStep);
        ScoreCursor cursor = new ScoreTree(value.Region).At(_index);
        // Ends: at the end of the step, which is no further than that of the set.
        while (true)
        {
            int size = ScoreItem.SizeOf(MemberItem.MemberOf(cursor.Item).Length);
            if (!TryReserve(size + Region.UnitBytes + MemberTable.ReserveBytes(_target, 1) + ScoreTree.BuildBytes(1)))
                return false;
            uint item = Insert(cursor.Item, size);
            new ScoreTreeBuilder(new ScoreTree(_target)).Append(cursor.Score, item);
            if (++_index == end) break;
            cursor.MoveNext();
        }

        if (_index != count) return true;
        if (TryReserve(ScoreTree.BuildBytes(count))) new ScoreTreeBuilder(new ScoreTree(_target)).Finish();
        return false;
    }

    private bool CopyElements(HeldValue value)
    {
        var list = new LargeList(value.Region);
        int leaf = list.Find(_index, out int offset);
        for (int i = 0; i < ElementsPerStep; i++)
        {
            ListLeaf from = list.Leaf(leaf);
            var element = from[offset];
            if (!TryReserve(LargeList.PushBytes(_target, left: false, new ListPush(element.Length)))) return false;
            new LargeList(_target).Push(left: false, element);
            if (++_index == list.Count) return false;
            if (++offset < (from.IsAlone ? 1 : from.Count)) continue;
            leaf++;
            offset = 0;
        }

        return true;
    }

    private bool CopyStream(HeldValue value)
    {
        if (!_stream.TryCopy(new LargeStream(value.Region), ref _target, store.Budget, ElementsPerStep)) Dispose();
        return !_stream.IsDone;
    }

    private uint Insert(byte* item, int size)
    {
        uint copy = _target.Take(size);
        Unsafe.CopyBlockUnaligned(_target.At(copy), item, (uint)size);
        var table = new MemberTable(_target, in store.Hash);
        table.Insert(copy, table.HashOf(MemberItem.MemberOf(item)));
        return copy;
    }

    [Conditional("DEBUG")]
    private void AssertIsWhole(HeldValue value)
    {
        long copied = ElementsOf(value.Kind, _target), had = ElementsOf(value.Kind, value.Region);
        Debug.Assert(copied == had, "a copy that takes the place has all elements");
    }

    private long ElementsOf(ValueKind kind, Region region) => kind switch
    {
        ValueKind.List => new LargeList(region).Count,
        ValueKind.Stream => new LargeStream(region).Length,
        ValueKind.SortedSet => new ScoreTree(region).Count,
        _ => new MemberTable(region, in store.Hash).Count,
    };

    private bool TryReserve(long bytes)
    {
        if (Region.TryReserve(ref _target, store.Budget, bytes)) return true;
        Dispose();
        return false;
    }
}
