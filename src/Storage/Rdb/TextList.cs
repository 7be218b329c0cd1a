using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>A few texts, copied one after the other into native memory.</summary>
internal unsafe struct TextList : IDisposable
{
    private byte* _bytes;
    private int* _ends;
    private int _capacity, _places;

    public int Count { get; private set; }

    public readonly ReadOnlySpan<byte> this[int index]
    {
        get
        {
            Debug.Assert((uint)index < (uint)Count, "there is such a text");
            int start = index == 0 ? 0 : _ends[index - 1];
            return new ReadOnlySpan<byte>(_bytes + start, _ends[index] - start);
        }
    }

    public void Clear() => Count = 0;

    /// <returns>False when it would be more than 1 GB.</returns>
    public bool TryAdd(scoped ReadOnlySpan<byte> text)
    {
        int used = Count == 0 ? 0 : _ends[Count - 1];
        if ((long)used + text.Length > 1 << 30) return false;
        if (Count == _places)
        {
            _places = Math.Max(16, 2 * _places);
            _ends = (int*)NativeMemory.Realloc(_ends, (nuint)_places * sizeof(int));
        }

        if (used + text.Length > _capacity)
        {
            _capacity = Math.Max(used + text.Length, Math.Max(256, (int)Math.Min(1 << 30, 2L * _capacity)));
            _bytes = (byte*)NativeMemory.Realloc(_bytes, (nuint)_capacity);
        }

        text.CopyTo(new Span<byte>(_bytes + used, text.Length));
        _ends[Count++] = used + text.Length;
        return true;
    }

    public void Dispose()
    {
        NativeMemory.Free(_bytes);
        NativeMemory.Free(_ends);
        this = default;
    }
}
