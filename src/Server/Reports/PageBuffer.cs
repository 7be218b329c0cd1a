using System.Buffers;
using System.Diagnostics;

namespace Kv.Server.Reports;

/// <summary>A text that grows, in arrays that are used again: a page of 100 KB every few seconds would else fill the
/// heap of large objects.</summary>
/// <remarks>Threads: one at a time.</remarks>
internal sealed class PageBuffer : IBufferWriter<byte>, IDisposable
{
    private const int FirstBytes = 64 << 10;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(FirstBytes);

    public int Length { get; private set; }

    public ReadOnlyMemory<byte> Written => _bytes.AsMemory(0, Length);

    /// <inheritdoc/>
    public void Advance(int count)
    {
        Debug.Assert(count >= 0 && count <= _bytes.Length - Length, "no more was written than there was room for");
        Length += count;
    }

    /// <inheritdoc/>
    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Debug.Assert(sizeHint >= 0, "room is counted");
        Reserve(sizeHint);
        return _bytes.AsMemory(Length);
    }

    /// <inheritdoc/>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Reserve(sizeHint);
        return _bytes.AsSpan(Length);
    }

    public void Clear() => Length = 0;

    public void Dispose()
    {
        if (_bytes.Length == 0) return;
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = [];
        Length = 0;
    }

    private void Reserve(int bytes)
    {
        Debug.Assert(_bytes.Length > 0, "what is disposed is not written to");
        if (_bytes.Length - Length >= Math.Max(bytes, 1)) return;
        byte[] larger = ArrayPool<byte>.Shared.Rent(Math.Max(2 * _bytes.Length, Length + bytes));
        Written.Span.CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
    }
}
