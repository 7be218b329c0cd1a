using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;
using Kv.Storage;

namespace Kv.Server.Families;

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

    /// <summary>Asks for what says where a text is.</summary>
    public void Prefetch(int index)
    {
        if (Sse.IsSupported) Sse.Prefetch0(_ends + index);
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
        Debug.Assert(Count > 0, "there is one");
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

    /// <summary>Begins an order of the texts alone: what has none comes first, as it came, or last where the greatest
    /// comes first.</summary>
    public void BeginOrder(ElementOrder<SortText> order, bool isDescending, int from, int to)
    {
        order.Begin(new SortText(this), Count, isDescending, from, to);
        int none = 0;
        for (int i = 0; i < Count; i++) none += IsNone(i) ? 1 : 0;
        int first = isDescending ? 0 : none, end = first, noneAt = isDescending ? Count - none : 0;
        for (int i = 0; i < Count; i++)
            order.SetItem(none != 0 && IsNone(i) ? noneAt++ : end++, (uint)i);
        Debug.Assert(end - first == Count - none, "each text has its place");
        order.Start(first, end, byScore: false);
    }

    /// <summary>Begins an order by scores, of which each is to be set, then the texts.</summary>
    public void BeginScoreOrder(ElementOrder<SortText> order, bool isDescending, int from, int to)
    {
        order.Begin(new SortText(this), Count, isDescending, from, to);
        for (int i = 0; i < Count; i++) order.SetItem(i, (uint)i);
        order.Start(0, Count, byScore: true);
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
        Debug.Assert(needed > capacity, "there is no room");
        long wanted = Math.Max(needed, Math.Max(1024, 2 * capacity));
        memory = (byte*)NativeMemory.Realloc(memory, (nuint)wanted);
        store.Charge(wanted - capacity);
        capacity = wanted;
    }
}

/// <summary>A <see cref="SortTexts"/> as an <see cref="ElementOrder{TTexts}"/> compares it.</summary>
internal readonly struct SortText(SortTexts texts) : IOrderedTexts
{
    public ReadOnlySpan<byte> this[uint item] => texts[(int)item];

    public void Prefetch(uint item) => texts.Prefetch((int)item);
}
