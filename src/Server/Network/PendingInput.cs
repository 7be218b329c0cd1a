using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;

namespace Kv.Server.Network;

/// <summary>A connection's bytes that have arrived but are not yet run: in native memory of just their size, or
/// none.</summary>
/// <remarks>
/// Cost: what has been run of a long input stays in front of the rest. The rest moves when it has become short, or
/// when there is no room after it and it is no longer than what has been run: so no more bytes are moved than are run.
/// <code>
/// _buffer         _first                          _capacity
/// +---------------+-------------------------------+-----------------+
/// | has been run  | _length bytes, from Start on  | Room            | padding for the parser
/// +---------------+-------------------------------+-----------------+
/// </code>
/// </remarks>
internal unsafe struct PendingInput
{
    /// <summary>From this length on the bytes stay in this buffer and more are received after them; shorter input goes
    /// through the worker's buffer.</summary>
    public const int LongBytes = 16 * 1024;

    /// <summary>No connection keeps more from one turn to the next, whatever client-query-buffer-limit says: lengths
    /// are ints.</summary>
    public const int BytesMax = int.MaxValue - (1024 * 1024);

    private byte* _buffer;
    private long _first, _capacity;
    private int _length;

    public readonly byte* Start => _buffer + _first;

    public readonly int Length => _length;

    public readonly long Capacity => _capacity;

    public readonly bool IsLong => _length >= LongBytes;

    /// <summary>How many more bytes fit.</summary>
    public readonly long Room => _capacity - _first - _length;

    /// <summary>Replaces the content.</summary>
    /// <param name="bytes">From elsewhere, or a part of the content.</param>
    public void Set(byte* bytes, int length)
    {
        if (length == 0)
        {
            Clear();
            return;
        }

        if (bytes >= Start && bytes <= Start + _length)
        {
            Debug.Assert(length <= Start + _length - bytes, "it is a part of the content");
            _first = bytes - _buffer;
            _length = length;
            if (IsLong) return;
            MoveToFront();
            SetCapacity(length);
            return;
        }

        // No room for more: a short content goes through the worker's buffer, and for a long one Reserve makes room.
        _first = 0;
        SetCapacity(length);
        Buffer.MemoryCopy(bytes, _buffer, length, length);
        _length = length;
    }

    /// <summary>Makes room for more bytes after the content (and for the parser's padding).</summary>
    /// <returns>Where they go.</returns>
    public byte* Reserve(int bytes)
    {
        if (Room < bytes && _first >= _length) MoveToFront();
        // Twice the content, so that the next bytes find room; more than BytesMax is never kept.
        if (Room < bytes) SetCapacity(_first + Math.Max((long)_length + bytes, Math.Min(2L * _length, BytesMax)));
        return Start + _length;
    }

    public void Commit(int bytes)
    {
        Debug.Assert(bytes >= 0 && bytes <= Room, "there was room");
        _length = checked(_length + bytes);
    }

    /// <summary>Appends bytes from elsewhere.</summary>
    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(new Span<byte>(Reserve(bytes.Length), bytes.Length));
        Commit(bytes.Length);
    }

    public void Clear()
    {
        NativeMemory.Free(_buffer);
        _buffer = null;
        _length = 0;
        _first = _capacity = 0;
    }

    private void MoveToFront()
    {
        Buffer.MemoryCopy(Start, _buffer, _length, _length);        // may overlap
        _first = 0;
    }

    /// <summary>Gives the buffer at least a size, and less than before if it is more than twice that.</summary>
    private void SetCapacity(long capacity)
    {
        if (capacity <= _capacity && _capacity <= 2 * capacity) return;
        _buffer = (byte*)NativeMemory.Realloc(_buffer, (nuint)(capacity + CommandParser.PaddingBytes));
        _capacity = capacity;
    }
}
