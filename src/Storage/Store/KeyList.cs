using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Keys of a command over several keys, with their database. A session's scratch, used again and
/// again.</summary>
/// <remarks>The keys' memory must stay put until the list is cleared; arguments of a command do.</remarks>
public sealed unsafe class KeyList : IKeySink
{
    private readonly KeyHash _hash;
    private const int ChunkBytes = 4096;

    private Entry[] _items = new Entry[16];

    // Copies of keys, pinned; those of the list are in chunks up to this one, which is used so far.
    private byte[][] _chunks = [];
    private int _chunk, _chunkUsed;

    internal KeyList(KeyHash hash) => _hash = hash;

    /// <summary>Keys in the list, doubles included.</summary>
    public int Count { get; private set; }

    /// <summary>Forgets all keys.</summary>
    public void Clear() => Count = _chunk = _chunkUsed = 0;

    /// <summary>Adds a key.</summary>
    /// <param name="key">Its first byte; stays put.</param>
    /// <param name="length">Its bytes.</param>
    /// <param name="database">The number of its database.</param>
    /// <param name="expectedBytes">Bytes of the value that will be written, where known: a new key is then written in
    /// place.</param>
    public void Add(byte* key, int length, int database, int expectedBytes = 8)
    {
        Debug.Assert(length >= 0 && database >= 0 && expectedBytes >= 0, "a key and its value have lengths");
        if (Count == _items.Length) Array.Resize(ref _items, Count * 2);
        _items[Count++] = new Entry
        {
            Start = key, Length = length, Database = database, ExpectedBytes = expectedBytes,
                Hash = _hash.Of(key, length),
        };
    }

    void IKeySink.Add(byte* key, int length, int database) => Add(key, length, database);

    /// <summary>Adds a key whose bytes are pinned.</summary>
    internal void Add(byte[] pinned, int database)
    {
        // Of an empty one there is nothing to read.
        fixed (byte* start = &MemoryMarshal.GetArrayDataReference(pinned)) Add(start, pinned.Length, database);
    }

    /// <summary>Adds a copy of a key: its own bytes may go.</summary>
    /// <inheritdoc cref="Add(byte*, int, int, int)"/>
    public void Add(ReadOnlySpan<byte> key, int database, int expectedBytes = 8)
    {
        // Ends: in a chunk that has room, at the latest in a new one.
        while (_chunk < _chunks.Length && _chunks[_chunk].Length - _chunkUsed < key.Length)
        {
            _chunk++;
            _chunkUsed = 0;
        }

        if (_chunk == _chunks.Length)
        {
            Array.Resize(ref _chunks, _chunk + 1);
            _chunks[_chunk] = GC.AllocateUninitializedArray<byte>(Math.Max(ChunkBytes, key.Length), pinned: true);
        }

        key.CopyTo(_chunks[_chunk].AsSpan(_chunkUsed));
        // Pinned: the address stays right after the statement.
        fixed (byte* start = &MemoryMarshal.GetArrayDataReference(_chunks[_chunk])) Add(start + _chunkUsed, key.Length,
            database, expectedBytes);
        _chunkUsed += key.Length;
    }

    internal ref Entry this[int index]
    {
        get
        {
            Debug.Assert((uint)index < (uint)Count, "there is such a key");
            return ref _items[index];
        }
    }

    /// <summary>Makes the keys of another list this one's. Their bytes may be gone by then: only what is held is
    /// known.</summary>
    internal void TakeOver(KeyList other)
    {
        (_items, other._items) = (other._items, _items);
        (Count, other.Count) = (other.Count, 0);
    }

    /// <summary>Makes it a list of one key, the first that is held, with nothing known of it but that.</summary>
    internal void SetToHeld()
    {
        _items[0] = default;
        Count = 1;
    }

    internal Span<Entry> Items => _items.AsSpan(0, Count);

    /// <summary>One key of the list.</summary>
    [StructLayout(LayoutKind.Auto)]
    internal struct Entry
    {
        public byte* Start;
        public ulong Hash;
        public int Length, Database, ExpectedBytes;

        /// <summary>Which database has that number now; set when the keys are locked.</summary>
        public int DatabaseId;

        /// <summary>Which held record it is.</summary>
        public int Held;

        /// <summary>What an optimistic read saw: the record and its word, or the home bucket and its control
        /// word.</summary>
        public byte* Seen;
        public ulong SeenWord;
        public bool SeenRecord;

        /// <summary>Whether the last reading did not find it.</summary>
        public bool IsMissed;

        public readonly ReadOnlySpan<byte> Bytes => new(Start, Length);
    }

    /// <summary>The order in which keys are locked: hash, database, bytes; the same for everybody, so nobody waits in a
    /// circle.</summary>
    /// <remarks>The database's own id, not its number: SWAPDB may give two holders different ideas of the
    /// numbers.</remarks>
    internal static int Compare(in Entry left, in Entry right)
    {
        int order = left.Hash.CompareTo(right.Hash);
        if (order == 0) order = left.DatabaseId.CompareTo(right.DatabaseId);
        return order != 0 ? order : left.Bytes.SequenceCompareTo(right.Bytes);
    }
}
