using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;

namespace Kv.Server.Network;

/// <summary>A connection's bytes that have arrived but are not yet run: in native memory of just the size, none when
/// empty.</summary>
internal unsafe struct PendingInput
{
    /// <summary>From here on the bytes stay in this buffer and more are received behind them; shorter ones go through
    /// the worker's.</summary>
    public const int LongBytes = 16 * 1024;

    /// <summary>No connection keeps more, whatever client-query-buffer-limit says: lengths are ints.</summary>
    public const int BytesMax = int.MaxValue - (1024 * 1024);

    private byte* _start;
    private int _length;
    private int _capacity;

    public readonly byte* Start => _start;

    public readonly int Length => _length;

    public readonly int Capacity => _capacity;

    public readonly bool IsLong => _length >= LongBytes;

    /// <summary>Replaces the content.</summary>
    public void Set(byte* bytes, int length)
    {
        if (length == 0)
        {
            Clear();
            return;
        }

        if (bytes == _start)
        {
            _length = length;
            return;
        }

        if (bytes > _start && bytes < _start + _capacity)
        {
            Buffer.MemoryCopy(bytes, _start, length, length);       // the rest of what is here already; may overlap
            _length = length;
            if (!IsLong) EnsureCapacity(length);
            return;
        }

        // A long command goes on growing; a short one is passed through the worker's buffer, and needs no room.
        EnsureCapacity(length);
        Buffer.MemoryCopy(bytes, _start, length, length);
        _length = length;
    }

    /// <summary>Room for more behind the content (and the parser's padding).</summary>
    public byte* Reserve(int bytes)
    {
        if (_capacity - _length < bytes)
            EnsureCapacity((int)Math.Min(Math.Max((long)_length + bytes, 2L * _length),
                Array.MaxLength - CommandParser.PaddingBytes));
        return _start + _length;
    }

    /// <summary>How many more bytes fit.</summary>
    public readonly int Room => _capacity - _length;

    public void Commit(int bytes)
    {
        Debug.Assert(bytes >= 0 && bytes <= Room, "there was room");
        _length += bytes;
    }

    /// <summary>Appends bytes from elsewhere.</summary>
    /// <returns>False when that would be more than <see cref="BytesMax"/>.</returns>
    public bool TryAppend(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > BytesMax - _length) return false;
        bytes.CopyTo(new Span<byte>(Reserve(bytes.Length), bytes.Length));
        _length += bytes.Length;
        return true;
    }

    public void Clear()
    {
        NativeMemory.Free(_start);
        _start = null;
        _length = _capacity = 0;
    }

    private void EnsureCapacity(int capacity)
    {
        if (capacity <= _capacity && _capacity <= 2 * capacity) return;
        _start = (byte*)NativeMemory.Realloc(_start, (nuint)capacity + CommandParser.PaddingBytes);
        _capacity = capacity;
    }

}
