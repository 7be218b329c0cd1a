using System.Diagnostics;

namespace Kv.Server.Persistence.Aof;

/// <summary>What was written and may not be on the disk yet: if it cannot get there, it is written once more, to
/// another file.</summary>
/// <param name="charge">Is told of memory that it takes, and of what it lets go of.</param>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class AofTail(Action<long> charge)
{
    private const int PieceBytes = 256 * 1024;

    /// <summary>Pieces that stay when all is on the disk. Under load those of the last second are used again: fresh
    /// ones would cost more than the copies.</summary>
    private const int PiecesKept = 16;

    private readonly Queue<byte[]> _pieces = new();
    private readonly Stack<byte[]> _free = new();
    private byte[]? _last;
    private int _begin, _end;

    public long Bytes { get; private set; }

    public void Append(ReadOnlySpan<byte> bytes)
    {
        Bytes += bytes.Length;
        while (bytes.Length > 0)
        {
            if (_last == null || _end == _last.Length)
            {
                if (!_free.TryPop(out _last))
                {
                    _last = GC.AllocateUninitializedArray<byte>(PieceBytes);
                    charge(PieceBytes);
                }

                _pieces.Enqueue(_last);
                _end = 0;
            }

            int count = Math.Min(bytes.Length, _last.Length - _end);
            bytes[..count].CopyTo(_last.AsSpan(_end));
            _end += count;
            bytes = bytes[count..];
        }
    }

    /// <summary>Forgets the first bytes.</summary>
    public void Drop(long bytes)
    {
        Debug.Assert(bytes >= 0 && bytes <= Bytes, "only what is there can go");
        Bytes -= bytes;
        while (bytes > 0)
        {
            byte[] first = _pieces.Peek();
            int there = (first == _last ? _end : first.Length) - _begin;
            int count = (int)Math.Min(bytes, there);
            _begin += count;
            bytes -= count;
            if (count == there) DropPiece();
        }

        if (Bytes != 0) return;
        if (_pieces.Count > 0) DropPiece();
        FreeBut(PiecesKept);
    }

    /// <summary>Forgets all, and lets go of its memory.</summary>
    public void Clear()
    {
        Drop(Bytes);
        FreeBut(0);
    }

    private void FreeBut(int count)
    {
        // Ends: with those that are to go.
        for (; _free.Count > count; _free.Pop()) charge(-PieceBytes);
    }

    /// <summary>Shows all bytes, in pieces.</summary>
    public void Visit(Action<ReadOnlyMemory<byte>> visit)
    {
        int begin = _begin;
        foreach (byte[] piece in _pieces)
        {
            visit(piece.AsMemory(begin, (piece == _last ? _end : piece.Length) - begin));
            begin = 0;
        }
    }

    private void DropPiece()
    {
        byte[] first = _pieces.Dequeue();
        if (first == _last) (_last, _end) = (null, 0);
        _begin = 0;
        _free.Push(first);
    }
}
