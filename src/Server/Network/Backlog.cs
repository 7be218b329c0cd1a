using System.Runtime.InteropServices;
using Kv.Storage;

namespace Kv.Server.Network;

//  | chunk: bytes | block of 1 MB | chunk: bytes |        front is sent first; a block is sent from where it is
//      ^ Sent

/// <summary>Replies that a client has not taken yet, in order: chunks of native memory and references to blocks.</summary>
/// <remarks>Threads: the session's own. Exists only while something waits.</remarks>
internal sealed unsafe class Backlog
{
    private const int ChunkBytes = 64 * 1024;

    private readonly Queue<Piece> _pieces = new();
    private Piece _last;
    private bool _hasLast;
    private int _sent;

    /// <summary>Bytes that wait.</summary>
    public long Length { get; private set; }

    /// <summary>Memory of the chunks; blocks are the store's.</summary>
    public long MemoryBytes { get; private set; }

    public bool IsEmpty => Length == 0;

    public void Append(byte* bytes, int count)
    {
        Length += count;
        if (_hasLast && _last.Block.IsNone)
        {
            int fits = Math.Min(count, _last.Capacity - _last.Length);
            Buffer.MemoryCopy(bytes, _last.Start + _last.Length, fits, fits);
            _last.Length += fits;
            bytes += fits;
            count -= fits;
        }

        if (count == 0) return;
        Push();
        int capacity = Math.Max(count, ChunkBytes);
        _last = new Piece { Start = (byte*)NativeMemory.Alloc((nuint)capacity), Length = count, Capacity = capacity };
        _hasLast = true;
        MemoryBytes += capacity;
        Buffer.MemoryCopy(bytes, _last.Start, count, count);
    }

    /// <summary>Appends a part of a block's content; takes the caller's reference.</summary>
    public void Append(Block block, int first, int length)
    {
        Push();
        _last = new Piece { Start = block.Content + first, Length = length, Block = block };
        _hasLast = true;
        Length += length;
    }

    /// <summary>The bytes to be sent next.</summary>
    /// <param name="isLast">Whether nothing else waits behind them.</param>
    public byte* Front(out int count, out bool isLast)
    {
        var piece = _pieces.Count > 0 ? _pieces.Peek() : _last;
        isLast = _pieces.Count == 0;
        count = piece.Length - _sent;
        return piece.Start + _sent;
    }

    /// <summary>So many bytes of the front have been sent.</summary>
    public void Advance(int count, StoreSession store)
    {
        Length -= count;
        _sent += count;
        var piece = _pieces.Count > 0 ? _pieces.Peek() : _last;
        if (_sent < piece.Length) return;
        _sent = 0;
        if (_pieces.Count > 0) _pieces.Dequeue();
        else _hasLast = false;
        Free(piece, store);
    }

    public void Clear(StoreSession store)
    {
        Push();
        while (_pieces.TryDequeue(out var piece)) Free(piece, store);
        Length = 0;
        _sent = 0;
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
            store.Release(piece.Block);
            return;
        }

        NativeMemory.Free(piece.Start);
        MemoryBytes -= piece.Capacity;
    }

    private struct Piece
    {
        public byte* Start;
        public int Length;
        public int Capacity;
        public Block Block;
    }
}
