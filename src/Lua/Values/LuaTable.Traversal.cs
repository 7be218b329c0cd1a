namespace Kv.Lua;

/// <content>The order of a traversal: the places of the array part, then those of the nodes. Between two of them no key
/// changes its place.</content>
public sealed partial class LuaTable
{
    /// <summary>Values and nodes that there may be.</summary>
    internal int Places => _size + _used;

    internal int ArraySize => _size;

    internal int NodeCount => _used;

    /// <summary>The key and value after a key, in the order of a traversal.</summary>
    /// <param name="key">Nil to begin. The key that comes next; nil at the end.</param>
    /// <returns>False when the key is not there.</returns>
    internal bool TryNext(ref LuaValue key, out LuaValue value)
    {
        if (!TryPlaceAfter(key, out int from))
        {
            value = LuaValue.Nil;
            return false;
        }

        if (from < _array.Length && !_array[from].IsNil)
        {
            value = _array[from];
            key = from + 1;
            return true;
        }

        int place = from;
        if (TryVisit(ref place, out key, out value) && key.Reference is not null)
        {
            // Of a reference the number is void: it says where the key was found, for the next call.
            key.Number = place - 1 - _size;
        }

        // What was passed because it is nil takes time, too.
        if (place - from > FreePlaces) _account.Spend(place - from);
        return true;
    }

    /// <summary>The next key and value from a place on, in the order of a traversal.</summary>
    /// <param name="place">0 to begin; where to go on.</param>
    /// <returns>False at the end.</returns>
    public bool TryVisit(ref int place, out LuaValue key, out LuaValue value) =>
        TryVisit(ref place, int.MaxValue, out key, out value);

    /// <summary>The next key and value from a place on, and before another.</summary>
    /// <param name="place">0 to begin; where to go on: <paramref name="end"/>, or <see cref="Places"/> at the
    /// end.</param>
    /// <param name="end">So many places are passed at most: those without a value take time, too.</param>
    /// <returns>False: there is none.</returns>
    internal bool TryVisit(ref int place, int end, out LuaValue key, out LuaValue value)
    {
        if (place == 0) BeginVisit();
        int size = Math.Min(end, _size);
        for (; place < size; place++)
        {
            var values = ChunkOf(place);
            if (values is null) place |= ChunkValues - 1;       // to its end
            if (values is null || values[place & (ChunkValues - 1)].IsNil) continue;
            value = values[place & (ChunkValues - 1)];
            key = ++place;
            return true;
        }

        if (size == _size) place = Math.Max(place, _size);     // a chunk that is not there may be cut short
        int nodes = Math.Min(end - _size, _used);
        for (; place - _size < nodes; place++)
        {
            ref Node node = ref NodeAt(place - _size);
            if (node.Value.IsNil) continue;
            (key, value) = (node.Key, node.Value);
            place++;
            return true;
        }

        key = value = LuaValue.Nil;
        return false;
    }

    /// <summary>Visits keys and values that are references, for a walk over all memory: of some places.</summary>
    /// <param name="most">How many places at most.</param>
    /// <returns>The place to go on from; <see cref="Places"/>: that was all.</returns>
    internal int Visit(MemoryWalk walk, int place, int most)
    {
        if (place == 0 && Metatable != null) walk.Visit(Metatable);
        int end = Math.Min(Places, place + most);
        while (place < Math.Min(end, _size))
        {
            // To the chunk's end, or where the values or the places asked for end.
            int next = Math.Min(Math.Min(end, _size), (place | (ChunkValues - 1)) + 1);
            if (ChunkOf(place) is { } values)
            {
                int first = place & (ChunkValues - 1);
                foreach (ref LuaValue value in values.AsSpan(first, next - place)) walk.Visit(value);
            }

            place = next;
        }

        for (; place < end; place++)
        {
            ref Node node = ref NodeAt(place - _size);
            if (node.Value.IsNil) continue;
            walk.Visit(node.Key);
            walk.Visit(node.Value);
        }

        return place;
    }

    // Before a traversal begins: until it ends, no key may change its place.
    private void BeginVisit()
    {
        if (_isCrowded) Rehash(LuaValue.Nil);
    }

    /// <summary>Counts the keys at some places.</summary>
    /// <returns>How many of them are in the hash part.</returns>
    internal int CountKeys(int from, int to, ref IndexCensus census)
    {
        int live = 0;
        for (int place = from; place < Math.Min(to, _size); place++)
        {
            var values = ChunkOf(place);
            if (values is null) place |= ChunkValues - 1;
            else if (!values[place & (ChunkValues - 1)].IsNil) census.Add(place + 1);
        }

        for (int i = Math.Max(from, _size) - _size; i < to - _size; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Value.IsNil) continue;
            live++;
            census.Add(node.Key);
        }

        return live;
    }

    private bool TryPlaceAfter(in LuaValue key, out int place)
    {
        place = 0;
        if (key.IsNil)
        {
            BeginVisit();
            return true;
        }

        if (IsOfArray(key))
        {
            place = (int)key.Number;
            return true;
        }

        uint known = (uint)(int)key.Number;
        if (key.Reference is not null && known < (uint)_used
            && ReferenceEquals(NodeAt((int)known).Key.Reference, key.Reference))
        {
            place = _size + (int)known + 1;
            return true;
        }

        int i = NodeOf(key);
        place = _size + i + 1;
        return i >= 0;
    }
}
