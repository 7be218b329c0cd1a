using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Changes the sorted set of a held key.</summary>
/// <remarks>Change, then <see cref="Settle"/>, once for the whole command.</remarks>
internal readonly unsafe ref struct SortedSetValue(HeldValue value)
{
    private readonly HeldValue _value = value;

    /// <summary>For reading, until the next change.</summary>
    public SortedSetView View => new(_value.View, in _value.Hash);

    /// <summary>Members of the set, 0 of a key without a value.</summary>
    public long Count => _value.Exists ? View.Count : 0;

    private bool IsPacked => _value.Kind == ValueKind.PackedSortedSet;

    private PackedScores Packed => new(_value.Run);

    private MemberTable Table => new(_value.Region, in _value.Hash);

    private ScoreTree Tree => new(_value.Region);

    /// <summary>Adds a member, or gives it another score, as the rule says.</summary>
    /// <param name="score">A number; what the member's score is then.</param>
    /// <param name="room">Of the whole command: reserved at the first change, if there is one.</param>
    public ScoreOutcome Set(ReadOnlySpan<byte> member, ref double score, ScoreRule rule, ref ScoreRoom room)
    {
        if (_value.Exists && !IsPacked) return SetInTree(member, ref score, rule, ref room);
        byte* at = null;
        double old = 0;
        if (_value.Exists) at = Packed.Find(member, out old);
        ScoreOutcome outcome = rule.Decide(at != null, old, ref score);
        if (outcome is not (ScoreOutcome.Added or ScoreOutcome.Changed)) return outcome;
        if (!room.IsReserved)
        {
            if (room.Members == 1)
                room.PackedBytes = PackedScores.SizeOf(member.Length, score)
                    - (at == null ? 0 : PackedScores.SizeOf(member.Length, old));
            if (!TryReserve(ref room)) return ScoreOutcome.OutOfMemory;
            if (!IsPacked)
            {
                Put(member, score);
                return outcome;
            }

            if (at != null) at = Packed.Find(member, out _);
        }

        if (at == null) Packed.Insert(score, member);
        else Packed.Move(at, score, member);
        return outcome;
    }

    private ScoreOutcome SetInTree(ReadOnlySpan<byte> member, ref double score, ScoreRule rule, ref ScoreRoom room)
    {
        MemberTable table = Table;
        ulong hash = table.HashOf(member);
        uint* place = table.Find(member, hash);
        double old = place == null ? 0 : ScoreItem.ScoreOf(table.ItemAt(place));
        ScoreOutcome outcome = rule.Decide(place != null, old, ref score);
        if (outcome is not (ScoreOutcome.Added or ScoreOutcome.Changed)) return outcome;
        uint item = place == null ? 0 : *place;
        if (!room.IsReserved && !TryReserve(ref room)) return ScoreOutcome.OutOfMemory;
        if (item == 0) Add(member, score, hash);
        else Move(item, old, score, member);
        return outcome;
    }

    /// <summary>Removes a member. Needs no memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(ReadOnlySpan<byte> member)
    {
        if (!_value.Exists) return false;       // the last one may just have gone
        if (IsPacked)
        {
            byte* at = Packed.Find(member, out _);
            if (at == null) return false;
            _value.BeginChange();
            Packed.Remove(at);
            return true;
        }

        MemberTable table = Table;
        ulong hash = table.HashOf(member);
        uint* place = table.Find(member, hash);
        if (place == null) return false;
        _value.BeginChange();
        uint item = *place;
        double score = ScoreItem.ScoreOf(table.ItemAt(place));
        new ScoreTreeChange(Tree).Remove(score, member);
        table.Remove(place, hash);
        _value.Region.Give(item, ScoreItem.SizeOf(member.Length));
        Debug.Assert(Tree.Count == Table.Count, "the tree has what the table has");
        return true;
    }

    /// <summary>Removes the elements at some places. Needs no memory.</summary>
    /// <param name="rank">Of the first of them.</param>
    /// <param name="count">So many there are.</param>
    public void RemoveAt(long rank, long count)
    {
        Debug.Assert(rank >= 0 && count >= 0 && rank + count <= Count, "there are such elements");
        if (count == 0) return;
        _value.BeginChange();
        if (count == Count)
        {
            _value.Delete();
            return;
        }

        if (IsPacked)
        {
            Packed.Remove(Packed.At(rank), (int)count);
            return;
        }

        ScoreTree tree = Tree;
        Span<uint> items = stackalloc uint[ScoreNode.LeafMax];
        // Ends: each round removes elements of one leaf.
        while (count > 0)
        {
            var path = default(ScorePath);
            tree.FindPath(rank, ref path);
            ScoreNode leaf = tree.NodeAt(path.Node(0));
            int at = path.Place(0), removed = (int)Math.Min(leaf.Count - at, count);
            // The tree first: what is above the leaf compares no member that is gone.
            new Span<uint>(leaf.Items + at, removed).CopyTo(items);
            new ScoreTreeChange(tree).Remove(ref path, removed);
            foreach (uint item in items[..removed]) Forget(item);
            count -= removed;
            Debug.Assert(Tree.Count == Table.Count, "the tree has what the table has");
        }
    }

    /// <summary>Ends a change: an empty set is deleted, one that is too long for a run gets a tree (if there is memory;
    /// else next time).</summary>
    public void Settle()
    {
        if (!_value.Exists) return;
        long count = Count;
        if (count == 0) _value.Delete();
        else if (IsPacked && count > _value.Limits.SortedSetEntries) TryUnpack(default);
        else _value.TidyRegion();
    }

    /// <summary>Makes room for all that a command may add: all that can fail.</summary>
    private bool TryReserve(ref ScoreRoom room)
    {
        Debug.Assert(!room.IsReserved && room.Members > 0, "a command reserves once, for members");
        room.IsReserved = true;
        if (!_value.Exists || IsPacked)
        {
            PackedLimits limits = _value.Limits;
            long packed = (_value.Exists ? _value.Run.Used : 0) + room.PackedBytes;
            // Far more members than are packed: not one by one into a run first.
            if (room.Longest <= limits.SortedSetBytes && packed <= PackedRun.BytesMax
                && Count + room.Members <= PackedLimits.Twice(limits.SortedSetEntries))
                return _value.TryReserveRun(ValueKind.PackedSortedSet, (int)packed);
            if (!TryUnpack(room)) return false;
        }

        Region region = _value.Region;
        if (_value.TryReserve(room.Bytes + MemberTable.ReserveBytes(region, room.Members)
            + ScoreTree.ReserveBytes(region, room.Members))) return true;
        if (Count == 0) _value.Delete();        // a new set that got a tree, and then no room for its members, is none
        return false;
    }

    private void Put(ReadOnlySpan<byte> member, double score)
    {
        MemberTable table = Table;
        ulong hash = table.HashOf(member);
        uint* place = table.Find(member, hash);
        if (place == null) Add(member, score, hash);
        else Move(*place, ScoreItem.ScoreOf(table.ItemAt(place)), score, member);
    }

    private void Add(ReadOnlySpan<byte> member, double score, ulong hash)
    {
        Region region = _value.Region;
        uint item = region.Take(ScoreItem.SizeOf(member.Length));
        ScoreItem.Write(region.At(item), score, member);
        Table.Insert(item, hash);
        new ScoreTreeChange(Tree).Insert(score, item, member);
        Debug.Assert(Tree.Count == Table.Count, "the tree has what the table has");
    }

    private void Move(uint item, double old, double score, ReadOnlySpan<byte> member)
    {
        Debug.Assert(old == ScoreItem.ScoreOf(_value.Region.At(item)), "the item still has the old score");
        new ScoreTreeChange(Tree).Move(old, score, item, member);
        ScoreItem.SetScore(_value.Region.At(item), score);
    }

    private void Forget(uint item)
    {
        Debug.Assert(item != 0, "there is an item");
        MemberTable table = Table;
        Region region = _value.Region;
        var member = MemberItem.MemberOf(region.At(item));
        ulong hash = table.HashOf(member);
        table.Remove(table.Find(member, hash), hash);
        region.Give(item, ScoreItem.SizeOf(member.Length));
    }

    /// <summary>Makes a packed set, or none, one with a table and a tree, with room for more.</summary>
    private bool TryUnpack(ScoreRoom more)
    {
        Debug.Assert(!_value.Exists || IsPacked, "a run, or nothing, becomes a tree");
        long count = Count;
        long items = 0;
        if (count != 0)
        {
            // Ends: each round goes on by an element.
            for (var walk = View.From(0); walk.Next(out var member, out _);)
                items += Region.SizeOf(ScoreItem.SizeOf(member.Length));
        }

        long bytes = items + MemberTable.ReserveBytes(default, count) + ScoreTree.ReserveBytes(default, count);
        Region region = Region.Create(_value.Budget, bytes + more.Bytes + (8L * more.Members));
        if (region.IsNone) return false;
        var table = new MemberTable(region, in _value.Hash);
        var tree = new ScoreTree(region);
        table.Begin();
        tree.Begin();
        var builder = new ScoreTreeBuilder(tree);
        if (count != 0)
        {
            var walk = View.From(0);
            while (walk.Next(out var member, out double score))
            {
                uint item = region.Take(ScoreItem.SizeOf(member.Length));
                ScoreItem.Write(region.At(item), score, member);
                table.Insert(item, table.HashOf(member));
                builder.Append(score, item);
            }
        }

        builder.Finish();
        Debug.Assert(tree.Count == table.Count && table.Count == count, "the tree has what the table has");
        return _value.TryBecome(ValueKind.SortedSet, region);
    }
}
