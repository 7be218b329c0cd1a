using System.Diagnostics;

namespace Kv.Storage;

//  head of the region:
//   0        8       16        32         48              64       80         92           96          100           112      116            128
//  +--------+-------+---------+----------+---------------+----------+-----------+------------+-----------+-------------+--------+--------------+
//  | length | added | last id | first id | max deleted id| index 16 | groups 12 | first leaf | last leaf | spare nodes | leaves | spare counts |
//  +--------+-------+---------+----------+---------------+----------+-----------+------------+-----------+-------------+--------+--------------+
//   entries, and how many there ever were; the last id given out, the first one that is there (0-0: none), the greatest
// that was deleted;
//   index: leaves by their first ids, from the second leaf on; spare nodes: 3 lists x 4, and how many are in each
//
//  Where entries are divided into leaves is where Redis divides them into nodes: what ~ trims, and what it leaves,
// depends on it.

/// <summary>The entries of a stream, in leaves, and what is said of all of them.</summary>
/// <remarks>
/// Cost: appending touches head and last leaf; finding an id goes through the index, then by halves through a leaf;
/// trimming from the front takes leaf after leaf. Leaves are appended and removed, never inserted: a tree that is
/// filled from the left stays full.
/// </remarks>
internal readonly unsafe struct LargeStream(Region region)
{
    /// <summary>Most bytes of fields and values of an entry, and of a leaf whatever the options say.</summary>
    public const long EntryBytesMax = 1L << 30;

    private const int HistoryBytes = 64, IndexPayload = sizeof(uint), FirstSpare = 32, LeafGuessMax = 8192,
        AlikeFrom = 8;

    public Region Region => region;

    public ref long Length => ref ((long*)region.Head)[0];
    public ref long Added => ref ((long*)region.Head)[1];
    public ref StreamId LastId => ref ((StreamId*)region.Head)[1];
    public ref StreamId FirstId => ref ((StreamId*)region.Head)[2];
    public ref StreamId MaxDeletedId => ref ((StreamId*)region.Head)[3];
    public ref uint FirstLeaf => ref *(uint*)(region.Head + 92);
    public ref uint LastLeaf => ref *(uint*)(region.Head + 96);
    public ref uint Leaves => ref *(uint*)(region.Head + 112);

    public NameTable Groups => new(region, (NameTableHead*)(region.Head + 80), StreamGroup.RecordBytes);

    public IdTree Index => new(region, (IdTreeHead*)(region.Head + 64), IndexPayload);

    /// <summary>Lists of nodes that trees of the region do not use.</summary>
    public static uint* SpareNodes(Region region) => (uint*)(region.Head + 100);

    /// <summary>How many are in each.</summary>
    public static uint* SpareCounts(Region region) => (uint*)(region.Head + 116);

    public StreamLeaf LeafAt(uint name)
    {
        Debug.Assert(name != 0, "0 is no leaf");
        return new StreamLeaf(region.At(name));
    }

    /// <summary>The first entry whose id is not below <paramref name="id"/>, deleted or not.</summary>
    public StreamPlace From(StreamId id)
    {
        uint name = LeafOf(id);
        if (name == 0) return default;
        StreamLeaf leaf = LeafAt(name);
        int at = leaf.CountBelow(id);
        return at < leaf.Count ? new StreamPlace(name, at) : new StreamPlace(leaf.Next, 0);
    }

    /// <summary>The last entry whose id is not above <paramref name="id"/>, deleted or not.</summary>
    public StreamPlace UpTo(StreamId id)
    {
        uint name = LeafOf(id);
        if (name == 0) return default;
        StreamLeaf leaf = LeafAt(name);
        int at = leaf.CountBelow(id);
        if (at < leaf.Count && leaf.IdOf(at) == id) return new StreamPlace(name, at);
        return at != 0 ? new StreamPlace(name, at - 1) : Before(leaf);
    }

    /// <summary>Finds an entry that is not deleted.</summary>
    public bool TryFind(StreamId id, out StreamPlace place)
    {
        place = default;
        uint name = id > LastId ? 0 : LeafOf(id);
        if (name == 0) return false;
        StreamLeaf leaf = LeafAt(name);
        int at = leaf.CountBelow(id);
        if (at == leaf.Count || leaf.IdOf(at) != id || leaf.IsDeleted(at)) return false;
        place = new StreamPlace(name, at);
        return true;
    }

    /// <summary>The place after <paramref name="place"/>; the end after the last.</summary>
    public StreamPlace After(StreamPlace place)
    {
        Debug.Assert(!place.IsEnd, "something follows an entry only");
        StreamLeaf leaf = LeafAt(place.Leaf);
        return place.Index + 1 < leaf.Count ? new StreamPlace(place.Leaf, place.Index + 1)
            : new StreamPlace(leaf.Next, 0);
    }

    /// <summary>The place before <paramref name="place"/>; the end before the first.</summary>
    public StreamPlace Before(StreamPlace place) =>
        place.Index > 0 ? new StreamPlace(place.Leaf, place.Index - 1) : Before(LeafAt(place.Leaf));

    private StreamPlace Before(StreamLeaf leaf) =>
        leaf.Previous == 0 ? default : new StreamPlace(leaf.Previous, LeafAt(leaf.Previous).Count - 1);

    /// <summary>Works out what appending an entry takes.</summary>
    /// <param name="region">None for a stream that is not there yet.</param>
    public static AppendPlan Plan<TItems>(Region region, StreamId id, scoped in TItems items, StreamNodeLimits limits)
        where TItems : struct, IStreamItems, allows ref struct
    {
        int fields = items.Fields;
        long text = 0, fieldBytes = 0, valueBytes = 0, valueListpack = 0;
        for (int i = 0; i < fields; i++)
        {
            ReadOnlySpan<byte> field = items.Field(i), value = items.Value(i);
            text += field.Length + (long)value.Length;
            fieldBytes += LengthPrefix.SizeWith(field.Length);
            valueBytes += LengthPrefix.SizeWith(value.Length);
            valueListpack += ListpackRule.SizeOf(value);
        }

        var plan = new AppendPlan { Text = text };
        if (text > EntryBytesMax) return plan;
        var stream = new LargeStream(region);
        StreamLeaf last = default;
        if (region.IsNone || stream.LastLeaf == 0)
        {
            plan.IsNewLeaf = true;
        }
        else
        {
            last = stream.LeafAt(stream.LastLeaf);
            plan.IsNewLeaf = IsFull(last, text, limits) || last.Used + fieldBytes + valueBytes > EntryBytesMax;
        }

        StreamId first = plan.IsNewLeaf ? id : last.First;
        plan.IsSame = plan.IsNewLeaf || HasFields(last, in items);
        long fieldListpack = 0;
        if (plan.IsNewLeaf || !plan.IsSame)
            for (int i = 0; i < fields; i++) fieldListpack += ListpackRule.SizeOf(items.Field(i));

        // Flags and what it has fields beyond those of the leaf; the last number says how many elements to go back.
        long entry = 2 + ListpackRule.SizeOf(unchecked((long)(id.Ms - first.Ms)))
            + ListpackRule.SizeOf(unchecked((long)(id.Number - first.Number)))
            + valueListpack + (plan.IsSame ? ListpackRule.SizeOf(fields + 3L)
                : ListpackRule.SizeOf(fields) + fieldListpack + ListpackRule.SizeOf((2L * fields) + 4));
        long node = plan.IsNewLeaf ? ListpackRule.EmptyBytes + ListpackRule.SizeOf(fields) + fieldListpack + 2 : 0;
        plan.Listpack = (int)(entry + node);
        long content = StreamLeaf.HeadBytes(first, id, plan.IsSame, fields) + valueBytes
            + (plan.IsSame && !plan.IsNewLeaf ? 0 : fieldBytes);
        if (plan.IsNewLeaf) stream.PlanLeaf(ref plan, content, last);
        else stream.PlanRoom(ref plan, content, last);
        return plan;
    }

    /// <summary>Appends an entry whose id is above <see cref="LastId"/>. What the plan wants was reserved.</summary>
    public void Append<TItems>(in AppendPlan plan, StreamId id, scoped in TItems items)
        where TItems : struct, IStreamItems, allows ref struct
    {
        Debug.Assert(id > LastId, "ids go up");
        int fields = items.Fields;
        if (plan.IsNewLeaf)
        {
            AddLeaf(plan.Capacity, plan.Least, id);
            StreamLeaf begun = LeafAt(LastLeaf);
            byte* end = begun.Fields;
            for (int i = 0; i < fields; i++) end = LengthPrefix.WriteWith(end, items.Field(i));
            begun.FieldCount = fields;
            begun.EndAt(end);
        }
        else if (plan.Capacity != 0)
        {
            Widen(plan.Capacity, plan.Least);
        }

        StreamLeaf leaf = LeafAt(LastLeaf);
        byte* at = leaf.Append(id, plan.IsSame, fields);
        for (int i = 0; i < fields; i++)
        {
            if (!plan.IsSame) at = LengthPrefix.WriteWith(at, items.Field(i));
            at = LengthPrefix.WriteWith(at, items.Value(i));
        }

        leaf.EndAt(at);
        leaf.ListpackBase += plan.Listpack;
        LastId = id;
        Added++;
        if (++Length == 1) FirstId = id;
        Debug.Assert(Index.IsEmpty ? Leaves == 1 : Index.Count == Leaves, "the index has all leaves of several");
    }

    /// <summary>Begins the copy of another stream: all that is said of its entries, which
    /// <see cref="Append(StreamLeaf)"/> brings.</summary>
    public void BeginCopy(LargeStream other)
    {
        Debug.Assert(LastLeaf == 0 && Groups.Count == 0, "a copy begins without entries and groups");
        new Span<byte>(other.Region.Head, HistoryBytes).CopyTo(new Span<byte>(region.Head, HistoryBytes));
    }

    /// <summary>Bytes of pieces to reserve for a copy of a leaf.</summary>
    public long ReserveBytes(StreamLeaf leaf) =>
        leaf.LeastCapacity + Index.ReserveBytes(Index.IsEmpty ? 2 : 1, isBehind: true);

    /// <summary>Puts a copy of a leaf of another stream after the others, no larger than it has to be. Room was
    /// reserved.</summary>
    public void Append(StreamLeaf leaf)
    {
        Debug.Assert(LastLeaf == 0 || LeafAt(LastLeaf).First < leaf.First, "leaves come in order");
        int capacity = leaf.LeastCapacity;
        uint name = region.Take(capacity);
        leaf.CopyTo(region.At(name), capacity);
        LeafAt(name).Next = 0;
        Link(name);
    }

    /// <summary>Deletes an entry.</summary>
    public void Delete(StreamPlace place)
    {
        StreamLeaf leaf = LeafAt(place.Leaf);
        Debug.Assert(Length > 0 && !leaf.IsDeleted(place.Index), "it is there");
        leaf.Delete(place.Index);
        Length--;
        if (leaf.Live == 0) RemoveLeaf(place.Leaf);
    }

    /// <summary>Removes entries from the front.</summary>
    /// <param name="removed">How many have been removed, 0 at first; goes up.</param>
    /// <param name="leavesMost">At most this many leaves are taken out.</param>
    /// <returns>False: there is more to do.</returns>
    public bool Trim(in StreamTrim trim, ref long removed, long leavesMost)
    {
        Debug.Assert(removed >= 0 && leavesMost > 0, "each call takes a leaf");
        long before = removed;
        bool isDone = true;
        // Ends: each round takes a leaf out, or is the last.
        while (FirstLeaf != 0 && (trim.IsByAge || Length > trim.MaxLength))
        {
            isDone = leavesMost-- > 0;
            if (!isDone) break;
            uint name = FirstLeaf;
            StreamLeaf leaf = LeafAt(name);
            int live = leaf.Live;
            if (trim.Limit != 0 && removed + live > trim.Limit) break;
            bool isAll = trim.IsByAge ? leaf.IdOf(leaf.Count - 1) < trim.MinId : Length - live >= trim.MaxLength;
            if (isAll)
            {
                Length -= live;
                removed += live;
                RemoveLeaf(name);
                continue;
            }

            if (!trim.IsApproximate) removed += TrimLeaf(leaf, trim);
            break;
        }

        if (removed != before) FindFirst();
        Debug.Assert(Length >= 0 && (Length == 0 || FirstLeaf != 0), "entries are in leaves");
        return isDone;
    }

    /// <summary>Looks again which entry is the first.</summary>
    public void FindFirst()
    {
        FirstId = StreamId.Zero;
        if (Length == 0) return;
        Debug.Assert(FirstLeaf != 0, "entries are in leaves");
        var place = new StreamPlace(FirstLeaf, 0);
        // Ends: some entry is there.
        while (LeafAt(place.Leaf).IsDeleted(place.Index)) place = After(place);
        FirstId = LeafAt(place.Leaf).IdOf(place.Index);
    }

    private long TrimLeaf(StreamLeaf leaf, in StreamTrim trim)
    {
        long before = Length;
        for (int i = 0; i < leaf.Count; i++)
        {
            if (trim.IsByAge ? leaf.IdOf(i) >= trim.MinId : Length <= trim.MaxLength) break;
            if (leaf.IsDeleted(i)) continue;
            leaf.Delete(i);
            Length--;
        }

        return before - Length;
    }

    private uint LeafOf(StreamId id)
    {
        uint last = LastLeaf;
        if (last == 0 || FirstLeaf == last || LeafAt(last).First <= id) return last;
        IdTree index = Index;
        Debug.Assert(!index.IsEmpty, "several leaves have an index");
        return *(uint*)index.PayloadAt(index.UpTo(id));
    }

    private static bool IsFull(StreamLeaf leaf, long text, StreamNodeLimits limits)
    {
        long bytes = limits.Bytes, entries = limits.Entries;
        if (bytes <= 0 || bytes > EntryBytesMax) bytes = EntryBytesMax;
        return leaf.ListpackBytes + text >= bytes || (entries != 0 && leaf.Count >= entries);
    }

    private static bool HasFields<TItems>(StreamLeaf leaf, scoped in TItems items)
        where TItems : struct, IStreamItems, allows ref struct
    {
        int fields = items.Fields;
        if (leaf.FieldCount != fields) return false;
        byte* at = leaf.Fields;
        for (int i = 0; i < fields; i++)
        {
            at = LengthPrefix.Read(at, out int length);
            if (!new ReadOnlySpan<byte>(at, length).SequenceEqual(items.Field(i))) return false;
            at += length;
        }

        return true;
    }

    private void PlanLeaf(ref AppendPlan plan, long content, StreamLeaf last)
    {
        long guess = 0;
        // As large as the one before, and a little more: entries of a stream are alike.
        if (!region.IsNone && LastLeaf != 0 && last.Count >= AlikeFrom)
            guess = Math.Min(LeafGuessMax, last.Used + (last.Used / 16) + (last.Count * sizeof(ushort)));
        plan.Capacity = StreamLeaf.CapacityFor(content, 1, guess);
        plan.Least = StreamLeaf.CapacityFor(content, 1, guess - (guess / 8));

        plan.Reserve = plan.Capacity;
        if (!region.IsNone && LastLeaf != 0) plan.Reserve += Index.ReserveBytes(Index.IsEmpty ? 2 : 1, isBehind: true);
    }

    private void PlanRoom(ref AppendPlan plan, long content, StreamLeaf last)
    {
        if (last.Spare >= content + sizeof(uint)) return;
        long grown = (long)last.Capacity + Math.Clamp(last.Capacity / 4, FirstSpare, LeafGuessMax);
        plan.Capacity = StreamLeaf.CapacityFor(last.Used - StreamLeaf.HeaderBytes + content, last.Count + 1, grown);
        plan.Least = StreamLeaf.CapacityFor(last.Used - StreamLeaf.HeaderBytes + content, last.Count + 1, 0);
        bool isWhereItIs = last.CanResize(plan.Capacity) && region.IsLast(LastLeaf, last.Capacity);
        plan.Reserve = isWhereItIs && !region.TakesPages(plan.Capacity - last.Capacity)
            ? plan.Capacity - last.Capacity : plan.Capacity;
    }

    private void AddLeaf(int capacity, int least, StreamId first)
    {
        if (LastLeaf != 0) Shrink(LastLeaf);
        uint name = region.TakeAbout(ref capacity, least, StreamLeaf.MostFor(capacity));
        StreamLeaf.Begin(region.At(name), capacity, first);
        Link(name);
    }

    /// <summary>Makes a leaf the last one.</summary>
    private void Link(uint name)
    {
        Debug.Assert(name != 0 && name != LastLeaf, "a leaf is linked once");
        uint before = LastLeaf;
        LeafAt(name).Previous = before;
        LastLeaf = name;
        Leaves++;
        if (before == 0)
        {
            FirstLeaf = name;
            return;
        }

        LeafAt(before).Next = name;
        if (Index.IsEmpty) *(uint*)Index.Insert(LeafAt(before).First) = before;
        *(uint*)Index.Insert(LeafAt(name).First) = name;
    }

    /// <summary>Gives back what a leaf that gets no more entries does not use.</summary>
    private void Shrink(uint name)
    {
        StreamLeaf leaf = LeafAt(name);
        int old = leaf.Capacity, capacity = Region.SizeOf(old - leaf.Spare);
        if (capacity == old || !leaf.CanResize(capacity)) return;
        bool isLast = region.IsLast(name, old);
        leaf.Resize(capacity);
        if (isLast) region.Shorten(name, old, capacity);
        else region.Give(name + ((uint)capacity / Region.UnitBytes), old - capacity);
    }

    /// <summary>Makes the last leaf longer, where it is or elsewhere.</summary>
    private void Widen(int capacity, int least)
    {
        Debug.Assert(least <= capacity && capacity > LeafAt(LastLeaf).Capacity, "the leaf becomes longer");
        uint name = LastLeaf;
        StreamLeaf leaf = LeafAt(name);
        int old = leaf.Capacity;
        if (leaf.CanResize(capacity) && region.IsLast(name, old))
        {
            region.Lengthen(name, old, capacity);
            leaf.Resize(capacity);
            return;
        }

        uint moved = region.TakeAbout(ref capacity, least, StreamLeaf.MostFor(least));
        leaf.CopyTo(region.At(moved), capacity);
        Rename(leaf, moved);
        region.Give(name, old);
    }

    /// <summary>Has everything lead to a copy of a leaf.</summary>
    private void Rename(StreamLeaf leaf, uint renamed)
    {
        Debug.Assert(Index.IsEmpty || Index.Find(leaf.First) != null, "the index has all leaves");
        if (!Index.IsEmpty) *(uint*)Index.Find(leaf.First) = renamed;
        if (leaf.Previous != 0) LeafAt(leaf.Previous).Next = renamed;
        else FirstLeaf = renamed;
        if (leaf.Next != 0) LeafAt(leaf.Next).Previous = renamed;
        else LastLeaf = renamed;
    }

    /// <summary>Moves leaves out of pages that are to be emptied.</summary>
    /// <param name="next">The first id of the leaf that is next, or an id before it; goes up.</param>
    /// <param name="most">At most this many leaves; goes down.</param>
    /// <param name="isDone">Whether that was the last.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    public bool MoveLeaves(ref PieceMover mover, ref StreamId next, ref int most, out bool isDone)
    {
        uint name = next.IsZero ? FirstLeaf : LeafOf(next);
        isDone = false;
        // Ends: leaf after leaf.
        for (; name != 0 && most > 0; most--)
        {
            StreamLeaf leaf = LeafAt(name);
            int bytes = leaf.Capacity;
            (uint following, next) = (leaf.Next, leaf.First);
            if (!mover.TryCopy(name, bytes, out uint moved)) return false;
            if (moved != name)
            {
                Rename(leaf, moved);
                region.Give(name, bytes);
            }

            if (following != 0) next = LeafAt(following).First;
            name = following;
        }

        isDone = name == 0;
        return true;
    }

    private void RemoveLeaf(uint name)
    {
        Debug.Assert(Leaves > 0, "a leaf that goes was counted");
        StreamLeaf leaf = LeafAt(name);
        if (leaf.Previous != 0) LeafAt(leaf.Previous).Next = leaf.Next;
        else FirstLeaf = leaf.Next;
        if (leaf.Next != 0) LeafAt(leaf.Next).Previous = leaf.Previous;
        else LastLeaf = leaf.Previous;
        bool wasIndexed = Index.Remove(leaf.First);
        Debug.Assert(wasIndexed || Leaves == 1, "only a leaf that is alone may not be in the index");
        Leaves--;
        region.Give(name, leaf.Capacity);
    }
}
