using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Protocol;

//   Start                     Start + Length                    Start + capacity
//   v                         v                                 v
//  +-------------------------+---------------------------------+---------------+
//  | replies, ready to send  | free                            | slack, 32     |
//  +-------------------------+---------------------------------+---------------+
//   slack: a writer may store whole words past what it reserved, and so past the capacity

/// <summary>Bytes on their way to clients, in native memory that grows by doubling and is given back after a
/// peak.</summary>
/// <remarks>
/// Threads: none; belongs to one worker or session. <see cref="Start"/> moves when the buffer grows.
/// Memory of 64 KB to 4 MB comes from the owner's source, where there is one: a heap that grew for a storm of replies
/// keeps what was freed below something that was not. Shorter buffers are cheap on the heap, and longer ones it maps,
/// and grows without copying.
/// </remarks>
public sealed unsafe class OutputBuffer : IDisposable
{
    /// <summary>Bytes that may be stored past what was reserved.</summary>
    public const int SlackBytes = 32;

    /// <summary>The most that any buffer holds.</summary>
    public const int BytesMax = int.MaxValue - SlackBytes;

    /// <summary>A buffer that grew beyond this gives its memory back when cleared: rare enough to cost nothing, as
    /// filling it took a millisecond.</summary>
    public const int DefaultKeptBytes = 4 * 1024 * 1024;

    private const int DefaultInitialBytes = 16 * 1024;
    private const long SourceBytesMin = 64 * 1024, SourceBytesMax = 4 * 1024 * 1024;

    private readonly int _initialBytes;
    private readonly int _keptBytes;
    private readonly IBufferMemory? _source;
    private byte* _start;
    private int _length;
    private int _capacity;

    /// <param name="initialBytes">The first allocation, made by the first write.</param>
    /// <param name="keptBytes">What <see cref="Clear"/> keeps for the next replies.</param>
    /// <param name="source">Where memory of medium size comes from; the heap without.</param>
    public OutputBuffer(int initialBytes = DefaultInitialBytes, int keptBytes = DefaultKeptBytes,
        IBufferMemory? source = null)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(initialBytes);
        _initialBytes = initialBytes;
        _keptBytes = Math.Max(keptBytes, initialBytes);
        _source = source;
    }

    /// <summary>The most that it may hold from <see cref="LimitFrom"/> on (max-reply-bytes); one more byte is a
    /// <see cref="ReplyTooLargeException"/>.</summary>
    public int LimitBytes { get; set; } = BytesMax;

    /// <summary>Where the reply begins that <see cref="LimitBytes"/> bounds: after those of other commands, and after
    /// messages.</summary>
    public int LimitFrom { get; set; }

    public byte* Start => _start;

    public int Length => _length;

    public ReadOnlySpan<byte> Span => new(_start, _length);

    /// <summary>What the buffer holds of memory, for the account.</summary>
    public long CapacityBytes => _start == null ? 0 : (long)_capacity + SlackBytes;

    /// <summary>Makes room for this many more bytes (and the slack).</summary>
    /// <returns>Where they go. <see cref="Commit"/> adds them once they are written.</returns>
    /// <exception cref="ReplyTooLargeException">Nothing has changed.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Reserve(int bytes)
    {
        // a sum of the caller's that has overflowed, too
        if ((uint)(_capacity - _length) < (uint)bytes) Grow(bytes);
        return _start + _length;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Commit(int bytes)
    {
        Debug.Assert(bytes >= 0 && _length + bytes <= _capacity, "more bytes than were reserved");
        _length += bytes;
    }

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(new Span<byte>(Reserve(bytes.Length), bytes.Length));
        Commit(bytes.Length);
    }

    /// <summary>Drops what was written after the buffer had this length.</summary>
    public void Truncate(int length)
    {
        Debug.Assert((uint)length <= (uint)_length, "can only become shorter");
        _length = length;
    }

    /// <summary>Takes sent bytes off the front.</summary>
    public void RemoveFront(int bytes)
    {
        Debug.Assert((uint)bytes <= (uint)_length, "more than there is");
        Buffer.MemoryCopy(_start + bytes, _start, _length - bytes, _length - bytes);
        _length -= bytes;
        LimitFrom = Math.Max(0, LimitFrom - bytes);
    }

    public void Clear()
    {
        _length = LimitFrom = 0;
        if (_capacity > _keptBytes) Free();
    }

    public void Dispose()
    {
        _length = LimitFrom = 0;
        Free();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Grow(int more)
    {
        long needed = (long)_length + more;
        long most = Math.Min((long)LimitFrom + LimitBytes, BytesMax);
        if (more < 0 || needed > most) throw new ReplyTooLargeException(needed - LimitFrom);
        long capacity = Math.Max(Math.Max(needed, _initialBytes), Math.Min(2L * _capacity, most));
        long bytes = capacity + SlackBytes;
        if (IsOfSource(CapacityBytes) || IsOfSource(bytes)) Move(bytes);
        else
        {
            _start = (byte*)NativeMemory.Realloc(_start, (nuint)bytes);
            _capacity = (int)capacity;
        }
    }

    // From the source, to it, or both. What there is stays until the rest has succeeded.
    private void Move(long bytes)
    {
        byte* start = IsOfSource(bytes) ? _source!.Take(bytes) : (byte*)NativeMemory.Alloc((nuint)bytes);
        if (start == null) throw new OutOfMemoryException("no memory for a reply");
        Buffer.MemoryCopy(_start, start, bytes, _length);
        Free();
        _start = start;
        _capacity = (int)(bytes - SlackBytes);
    }

    private bool IsOfSource(long bytes) =>
        _source != null && bytes is > SourceBytesMin + SlackBytes and <= SourceBytesMax;

    private void Free()
    {
        if (IsOfSource(CapacityBytes)) _source!.Give(_start, CapacityBytes);
        else NativeMemory.Free(_start);
        _start = null;
        _capacity = 0;
    }
}
