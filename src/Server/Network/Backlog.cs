using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Storage;

namespace Kv.Server.Network;

//  | chunk: bytes | block of 1 MB | chunk: bytes |        front is sent first; a block is sent from where it is
//      ^ Sent

/// <summary>Replies that a client has not taken yet, in order: chunks of native memory and references to
/// blocks.</summary>
/// <remarks>Threads: the session's own. Exists only while something waits.</remarks>
internal sealed unsafe class Backlog
{
    // The first chunk is small, and each after a block, as it often has only the header of the next block; one after a
    // chunk that is full holds as much as all before it together, up to ChunkBytes.
    private const int FirstChunkBytes = 1024, ChunkBytes = 64 * 1024;

    // Longer chunks are extents: the heap cannot return memory that lies below something still in use.
    private const int HeapBytesMax = 16 * 1024;

    private readonly Queue<Piece> _pieces = new();
    private Piece _last;
    private bool _hasLast;
    private int _sent;

    /// <summary>Bytes that wait.</summary>
    public long Length { get; private set; }

    /// <summary>Memory of the chunks; blocks are the store's.</summary>
    public long MemoryBytes { get; private set; }

    /// <summary>Bytes of the blocks, whether sent or not.</summary>
    public long BlockBytes { get; private set; }

    /// <summary>Chunks and blocks. From any thread: some recent number.</summary>
    public int Pieces => _pieces.Count + (_hasLast ? 1 : 0);

    public bool IsEmpty => Length == 0;

    public void Append(byte* bytes, int count)
    {
        Debug.Assert(count >= 0, "what waits is not taken back");
        Length += count;
        if (_hasLast && _last.Block.IsNone)
        {
            int fits = (int)Math.Min(count, _last.Capacity - _last.Length);
            Buffer.MemoryCopy(bytes, _last.Start + _last.Length, fits, fits);
            _last.Length += fits;
            bytes += fits;
            count -= fits;
        }

        if (count == 0) return;
        bool isFull = _hasLast && _last.Block.IsNone;
        long capacity = Math.Max(count, isFull ? Math.Min(ChunkBytes, FirstChunkBytes + MemoryBytes) : FirstChunkBytes);
        Push();
        byte* start = capacity <= HeapBytesMax
            ? (byte*)NativeMemory.Alloc((nuint)capacity) : Extents.Shared.TryTake(ref capacity, isZeroed: false);
        if (start == null) throw new OutOfMemoryException("no memory for a reply that waits");
        _last = new Piece { Start = start, Length = count, Capacity = capacity };
        _hasLast = true;
        MemoryBytes += capacity;
        Buffer.MemoryCopy(bytes, _last.Start, count, count);
    }

    /// <summary>Appends a part of a block's content; takes the caller's reference.</summary>
    public void Append(Block block, int first, int length)
    {
        Debug.Assert(!block.IsNone && first >= 0 && length >= 0 && first + (long)length <= block.Capacity,
            "the part is within the block");
        Push();
        _last = new Piece { Start = block.Content + first, Length = length, Block = block };
        _hasLast = true;
        BlockBytes += length;
        Length += length;
    }

    /// <summary>The bytes to be sent next.</summary>
    /// <param name="isLast">Whether nothing else waits after them.</param>
    public byte* Front(out int count, out bool isLast)
    {
        Debug.Assert(!IsEmpty, "something waits");
        var piece = _pieces.Count > 0 ? _pieces.Peek() : _last;
        isLast = _pieces.Count == 0;
        count = piece.Length - _sent;
        return piece.Start + _sent;
    }

    /// <summary>Lists what is to be sent next, in one call.</summary>
    /// <returns>The number of parts.</returns>
    public int Gather(IoVector* parts, int partsMax, int bytesMax)
    {
        int count = 0, skip = _sent;
        foreach (var piece in _pieces)
            if (!TryAdd(piece, parts, partsMax, ref count, ref bytesMax, ref skip)) return count;
        if (_hasLast) TryAdd(_last, parts, partsMax, ref count, ref bytesMax, ref skip);
        return count;
    }

    /// <summary>Removes bytes that have been sent.</summary>
    public void Advance(int count, StoreSession store)
    {
        Debug.Assert(count >= 0 && count <= Length, "no more is sent than waits");
        Length -= count;
        _sent += count;
        // Ends: each round takes a piece, and there is one as long as bytes of it have been sent.
        while (_pieces.Count > 0 || _hasLast)
        {
            var piece = _pieces.Count > 0 ? _pieces.Peek() : _last;
            if (_sent < piece.Length) return;
            _sent -= piece.Length;
            if (_pieces.Count > 0) _pieces.Dequeue();
            else _hasLast = false;
            Free(piece, store);
        }
    }

    public void Clear(StoreSession store)
    {
        Push();
        while (_pieces.TryDequeue(out var piece)) Free(piece, store);
        Debug.Assert(MemoryBytes == 0 && BlockBytes == 0, "what is counted is what was in the pieces");
        Length = 0;
        _sent = 0;
    }

    private static bool TryAdd(in Piece piece, IoVector* parts, int partsMax, ref int count, ref int bytesMax,
        ref int skip)
    {
        if (count == partsMax || bytesMax == 0) return false;
        Debug.Assert(skip <= piece.Length && bytesMax > 0, "a piece that was sent whole is no longer here");
        int bytes = Math.Min(piece.Length - skip, bytesMax);
        parts[count++] = new IoVector { Start = piece.Start + skip, Bytes = (nuint)bytes };
        bytesMax -= bytes;
        skip = 0;
        return true;
    }

    private void Push()
    {
        if (_hasLast) _pieces.Enqueue(_last);
        _hasLast = false;
    }

    private void Free(Piece piece, StoreSession store)
    {
        if (!piece.Block.IsNone)
        {
            BlockBytes -= piece.Length;
            store.Release(piece.Block);
            return;
        }

        if (piece.Capacity <= HeapBytesMax) NativeMemory.Free(piece.Start);
        else Extents.Shared.Give(piece.Start, piece.Capacity, piece.Capacity);
        MemoryBytes -= piece.Capacity;
    }

    private struct Piece
    {
        public byte* Start;
        public int Length;
        public long Capacity;
        public Block Block;
    }
}
