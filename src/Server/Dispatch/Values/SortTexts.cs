using System.Runtime.InteropServices;
using Kv.Storage;

namespace Kv.Server.Dispatch;

//   bytes   | text 0 | text 1 | text 2 |                  one behind the other
//   ends    | 63 bits: where it ends; highest: none | ... 8 bytes each

/// <summary>Many texts of SORT: elements, or what they are sorted by. In native memory, charged to the store.</summary>
/// <remarks>A text that there is none of is empty, and known to be none.</remarks>
internal sealed unsafe class SortTexts(Store store) : IDisposable
{
    private const long None = long.MinValue;

    private byte* _bytes;
    private long* _ends;
    private long _capacity, _places, _used;

    public int Count { get; private set; }

    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            long start = index == 0 ? 0 : _ends[index - 1] & ~None;
            return new ReadOnlySpan<byte>(_bytes + start, (int)((_ends[index] & ~None) - start));
        }
    }

    public bool IsNone(int index) => (_ends[index] & None) != 0;

    public void Add(ReadOnlySpan<byte> text)
    {
        if (_used + text.Length > _capacity) Grow(ref _bytes, ref _capacity, _used + text.Length);
        text.CopyTo(new Span<byte>(_bytes + _used, text.Length));
        _used += text.Length;
        EndText(0);
    }

    public void AddNone() => EndText(None);

    /// <summary>Takes the last one back.</summary>
    public void RemoveLast()
    {
        Count--;
        _used = Count == 0 ? 0 : _ends[Count - 1] & ~None;
    }

    public void Dispose()
    {
        store.Charge(-(_capacity + _places));
        NativeMemory.Free(_bytes);
        NativeMemory.Free(_ends);
        _bytes = null;
        _ends = null;
        _capacity = _places = _used = 0;
        Count = 0;
    }

    private void EndText(long flag)
    {
        if ((Count + 1L) * sizeof(long) > _places)
        {
            byte* ends = (byte*)_ends;
            Grow(ref ends, ref _places, (Count + 1L) * sizeof(long));
            _ends = (long*)ends;
        }

        _ends[Count++] = _used | flag;
    }

    private void Grow(ref byte* memory, ref long capacity, long needed)
    {
        long wanted = Math.Max(needed, Math.Max(1024, 2 * capacity));
        memory = (byte*)NativeMemory.Realloc(memory, (nuint)wanted);
        store.Charge(wanted - capacity);
        capacity = wanted;
    }
}
