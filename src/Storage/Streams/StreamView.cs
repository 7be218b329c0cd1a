using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads a stream: of a held key, or inside of a <see cref="IValueRead"/>, as it is read under the
/// lock.</summary>
/// <remarks>Everything that it gives is valid until the stream is changed.</remarks>
internal readonly unsafe ref struct StreamView
{
    private readonly LargeStream _stream;

    public StreamView(scoped in ValueView value)
    {
        Debug.Assert(value.Kind == ValueKind.Stream, "the value is a stream");
        _stream = new LargeStream(value.Region);
    }

    /// <summary>Entries that are there.</summary>
    public long Length => _stream.Length;

    /// <summary>Entries that there ever were.</summary>
    public long Added => _stream.Added;

    /// <summary>The last id that was given out, or set.</summary>
    public StreamId LastId => _stream.LastId;

    /// <summary>The id of the first entry; 0-0: there is none.</summary>
    public StreamId FirstId => _stream.FirstId;

    /// <summary>The greatest id that was deleted, but for trimming.</summary>
    public StreamId MaxDeletedId => _stream.MaxDeletedId;

    /// <summary>Pieces that the entries are in.</summary>
    public long Leaves => _stream.Leaves;

    /// <summary>Nodes that find a leaf, as Redis' radix tree would have them at least: one for each leaf and one
    /// above.</summary>
    public long IndexNodes => _stream.Leaves + 1;

    public int GroupCount => _stream.Groups.Count;

    /// <summary>A group by its place in the order of names.</summary>
    public StreamGroup GroupAt(int index) => new(_stream.Region, _stream.Groups[index]);

    /// <summary>A group by name; see <see cref="StreamGroup.Exists"/>.</summary>
    public StreamGroup FindGroup(ReadOnlySpan<byte> name) => new(_stream.Region, _stream.Groups.Find(name));

    /// <summary>The entries from one id to another, both included.</summary>
    /// <param name="isBackward">From the last to the first.</param>
    public Walk Between(StreamId first, StreamId last, bool isBackward = false) =>
        new(_stream, first, last, isBackward);

    /// <summary>Counts the entries from one id to another, both included, leaf by leaf.</summary>
    /// <param name="at">Where the count goes on; it begins with <see cref="From"/>.</param>
    /// <param name="most">About how many to count in this call.</param>
    /// <param name="count">Goes up.</param>
    /// <returns>True when all have been counted.</returns>
    public bool Count(ref StreamPlace at, StreamId last, long most, ref long count)
    {
        Debug.Assert(most > 0 && count >= 0, "each call looks at a leaf");
        // A leaf that is passed over costs as much as some entries, however few it has.
        const int leafWork = 16;
        // Ends: each round goes on by a leaf.
        for (; !at.IsEnd && most > 0; most -= leafWork)
        {
            StreamLeaf leaf = _stream.LeafAt(at.Leaf);
            bool isWhole = leaf.IdOf(leaf.Count - 1) <= last;
            if (isWhole && at.Index == 0)
            {
                count += leaf.Live;
            }
            else
            {
                int end = isWhole ? leaf.Count : leaf.CountBelow(last);
                if (!isWhole && leaf.IdOf(end) == last) end++;
                for (int i = at.Index; i < end; i++)
                    if (!leaf.IsDeleted(i)) count++;
            }

            at = isWhole ? new StreamPlace(leaf.Next, 0) : default;
        }

        return at.IsEnd;
    }

    /// <summary>The place of the first entry whose id is not below one.</summary>
    public StreamPlace From(StreamId id) => _stream.From(id);

    /// <summary>Counts the entries from one id to another, both included, but stops soon after <paramref
    /// name="most"/>.</summary>
    public long CountSome(StreamId first, StreamId last, long most)
    {
        long count = 0;
        if (first > last) return 0;
        StreamPlace at = From(first);
        // Ends: each round goes on by a leaf.
        while (count < most && !Count(ref at, last, 1, ref count))
        {
        }

        return count;
    }

    /// <summary>Whether there are more than <paramref name="than"/> entries from one id to another.</summary>
    public bool HasMore(StreamId first, StreamId last, long than) =>
        Length > than && CountSome(first, last, than + 1) > than;

    /// <summary>Finds an entry.</summary>
    public bool TryGet(StreamId id, out StreamEntry entry)
    {
        bool found = _stream.TryFind(id, out StreamPlace place);
        entry = found ? _stream.LeafAt(place.Leaf)[place.Index] : default;
        return found;
    }

    /// <summary>Finds the last entry, whose id may be well below <see cref="LastId"/>.</summary>
    public bool TryGetLast(out StreamId id)
    {
        var walk = Between(StreamId.Zero, StreamId.Max, isBackward: true);
        bool found = walk.Next(out StreamEntry entry);
        id = found ? entry.Id : default;
        return found;
    }

    /// <summary>Whether there is an entry after an id.</summary>
    public bool HasAfter(StreamId id)
    {
        if (Length == 0 || LastId <= id) return false;
        return TryGetLast(out StreamId last) && last > id;
    }

    /// <summary>Whether entries may have been deleted from an id on.</summary>
    public bool HasGapFrom(StreamId id) =>
        Length != 0 && !MaxDeletedId.IsZero && FirstId <= MaxDeletedId && id <= MaxDeletedId;

    /// <summary>How many entries of all that there ever were are up to an id; <see cref="StreamGroup.NotKnown"/> where
    /// deleted ones make it impossible to say.</summary>
    public long CountUpTo(StreamId id)
    {
        if (Added == 0) return 0;
        if (Length == 0 && id <= LastId) return Added;
        if (id == LastId) return Added;
        if (id > LastId) return StreamGroup.NotKnown;
        if (!MaxDeletedId.IsZero && MaxDeletedId >= FirstId) return StreamGroup.NotKnown;
        return id < FirstId ? Added - Length : id == FirstId ? Added - Length + 1 : StreamGroup.NotKnown;
    }

    /// <summary>How many entries a group has still to read.</summary>
    /// <returns>False when it cannot be known.</returns>
    public bool TryGetLag(StreamGroup group, out long lag)
    {
        long read = Added == 0 ? 0
            : group.EntriesRead != StreamGroup.NotKnown && !HasGapFrom(group.LastId)
            ? group.EntriesRead : CountUpTo(group.LastId);
        lag = Added - read;
        return read != StreamGroup.NotKnown;
    }

    /// <summary>A walk along entries.</summary>
    public ref struct Walk
    {
        private readonly LargeStream _stream;
        private readonly StreamId _end;
        private readonly bool _isBackward;
        private StreamPlace _place;

        internal Walk(LargeStream stream, StreamId first, StreamId last, bool isBackward)
        {
            _stream = stream;
            _isBackward = isBackward;
            _end = isBackward ? first : last;
            _place = isBackward ? stream.UpTo(last) : stream.From(first);
        }

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        public bool Next(out StreamEntry entry)
        {
            // Ends: each round goes on by an entry; only deleted ones are passed over.
            while (!_place.IsEnd)
            {
                StreamLeaf leaf = _stream.LeafAt(_place.Leaf);
                int at = _place.Index;
                _place = _isBackward ? _stream.Before(_place) : _stream.After(_place);
                if (leaf.IsDeleted(at)) continue;
                entry = leaf[at];
                if (_isBackward ? entry.Id >= _end : entry.Id <= _end) return true;
                _place = default;
            }

            entry = default;
            return false;
        }
    }
}
