using System.Buffers;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements that were copied out of the store as of one instant, or that are to be put into it as one
/// step.</summary>
/// <remarks>
/// Made by the caller, filled again and again (each operation that fills it empties it first), and disposed once. Its
/// arrays come from the shared pool and stay with it, so that a buffer in use allocates nothing. Threads: one at a
/// time. Limit: 1 GB of elements; more is an <see cref="OutOfMemoryException"/> from the operation that reads them,
/// which has changed nothing.
/// </remarks>
public sealed class ElementBuffer : IElementSink, IDisposable
{
    private const int BytesMax = 1 << 30;

    private byte[] _bytes = [];
    private int[] _ends = [];

    /// <summary>How many elements there are.</summary>
    public int Count { get; private set; }

    /// <summary>One of them; valid until the buffer is next filled, emptied or disposed.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)Count, nameof(index));
            int start = index == 0 ? 0 : _ends[index - 1];
            return _bytes.AsSpan(start, _ends[index] - start);
        }
    }

    /// <summary>Bytes of all elements.</summary>
    internal long Bytes => Count == 0 ? 0 : _ends[Count - 1];

    /// <summary>Bytes of the longest.</summary>
    internal int Longest
    {
        get
        {
            int longest = 0;
            for (int i = 0; i < Count; i++) longest = Math.Max(longest, this[i].Length);
            return longest;
        }
    }

    void IElementSink.Write(ReadOnlySpan<byte> element) => Add(element);

    /// <summary>Adds an element after the others.</summary>
    public void Add(ReadOnlySpan<byte> element)
    {
        long start = Bytes, end = start + element.Length;
        if (end > BytesMax)
            throw new OutOfMemoryException($"The elements have over {BytesMax} bytes: read fewer at a time.");
        if (end > _bytes.Length) Grow(ref _bytes, (int)Math.Max(256, Math.Min(BytesMax, end * 2)));
        if (Count == _ends.Length) Grow(ref _ends, Math.Max(16, Count * 2));
        element.CopyTo(_bytes.AsSpan((int)start));
        _ends[Count++] = (int)end;
    }

    /// <summary>Forgets all.</summary>
    public void Clear() => Count = 0;

    /// <summary>Gives its arrays back to the pool; it is empty then, and may be used again.</summary>
    public void Dispose()
    {
        if (_bytes.Length != 0) ArrayPool<byte>.Shared.Return(_bytes);
        if (_ends.Length != 0) ArrayPool<int>.Shared.Return(_ends);
        _bytes = [];
        _ends = [];
        Count = 0;
    }

    /// <summary>Exchanges an array of the pool for a longer one.</summary>
    internal static void Grow<T>(ref T[] array, int length)
    {
        Debug.Assert(length > array.Length, "it becomes longer");
        T[] grown = ArrayPool<T>.Shared.Rent(length);
        array.CopyTo(grown, 0);
        if (array.Length != 0) ArrayPool<T>.Shared.Return(array);
        array = grown;
    }
}
