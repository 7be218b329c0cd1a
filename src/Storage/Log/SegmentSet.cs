using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The segments of one database, and whether they are still of use to anybody.</summary>
/// <remarks>Threads: any; the list is locked, a segment is added or removed once in 2 MB of writes.</remarks>
internal sealed class SegmentSet(int databaseId)
{
    private readonly List<int> _segments = new(capacity: 64);       // grows on a session's thread, and seldom so
    private readonly Lock _lock = new();
    private int _dropped;

    /// <summary>The number that the segments' infos carry.</summary>
    public int DatabaseId { get; } = databaseId;

    /// <summary>True once a flush has taken the database away: what is written now is read by nobody.</summary>
    public bool IsDropped => Volatile.Read(ref _dropped) != 0;

    public long Bytes
    {
        get
        {
            lock (_lock) return (long)_segments.Count * SegmentedLog.SegmentBytes;
        }
    }

    public void MarkDropped() => Volatile.Write(ref _dropped, 1);

    public void Add(int segment)
    {
        lock (_lock) _segments.Add(segment);
    }

    public void Remove(int segment)
    {
        lock (_lock)
        {
            bool wasThere = _segments.Remove(segment);
            Debug.Assert(wasThere, "the segment is one of the database");
        }
    }

    /// <summary>The segments as of now, into a list that the caller reuses.</summary>
    public void CopyTo(List<int> into)
    {
        Debug.Assert(into != _segments, "the caller's list is its own");
        into.Clear();
        lock (_lock) into.AddRange(_segments);
    }
}
