using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   keys    | 8 bytes each |     of the part that is being sorted: numbers that order as the elements do
//   items   | 4 bytes each |     which element that is
//
//   a key of a score: its bits, so turned that they order as it does; of a text: 7 of its bytes, then how many are left
// (8: more)

/// <summary>The texts of elements that are brought in order, by the numbers that the elements have.</summary>
internal interface IOrderedTexts
{
    ReadOnlySpan<byte> this[uint item] { get; }

    /// <summary>Asks for the memory of a text that will be wanted soon.</summary>
    void Prefetch(uint item);
}

/// <summary>The order of elements by scores, then bytes; or by bytes. Found in steps of some 200 us, whatever is
/// sorted.</summary>
/// <remarks>
/// A part is sorted by its keys; elements with equal keys are then another part, whose keys are the next bytes. A large
/// part is sorted digit by digit from the lowest on, a pass over it at a time, which can stop anywhere; a small one at
/// once. Elements that are the same stand in the order of their numbers. Where only some places are wanted, what cannot
/// be there is left out before. Use: <see cref="Begin"/>; for each place <see cref="SetItem"/>, perhaps <see
/// cref="SetScore"/>; <see cref="Start"/>; <see cref="Step"/> until it is true.
/// </remarks>
internal sealed unsafe class ElementOrder<TTexts>(Store store) : IDisposable
    where TTexts : struct, IOrderedTexts
{
    private const int AtOnceMax = 2048, InsertionMax = 12, WorkPerStep = 8 * 1024;
    private const int Digits = 8, DigitValues = 256, NarrowFactor = 4;
    private const int BytesPerKey = 7, ByScore = -1, Ahead = 16;
    private const byte HasMore = 8;

    private readonly Stack<Part> _parts = new();
    private int[] _counts = [];
    private TTexts _texts;
    private ulong _turn;
    private byte* _memory;
    private ulong* _keys, _otherKeys;
    private uint* _items, _otherItems;
    private long _bytes;
    private int _count, _base, _from, _to;
    private Part _part;
    private Phase _phase;
    private int _at, _digit, _kept, _low, _high, _groupFirst;
    private bool _isSwapped;

    private enum Phase : byte
    {
        None,
        Fill,
        Narrow,
        Keep,
        Scatter,
        CopyBack,
        Groups,
    }

    /// <summary>Begins.</summary>
    /// <param name="texts">What is compared; after the scores, where there are any.</param>
    /// <param name="isDescending">From the greatest to the least.</param>
    /// <param name="from">The first place that is wanted.</param>
    /// <param name="to">The place after the last one that is wanted.</param>
    public void Begin(TTexts texts, int count, bool isDescending, int from, int to)
    {
        Debug.Assert(_memory == null, "what was ordered before is disposed");
        Debug.Assert(count >= 0 && from >= 0 && from <= to && to <= count, "the places wanted are there");
        _texts = texts;
        _turn = isDescending ? ulong.MaxValue : 0;
        _count = count;
        _from = from;
        _to = to;
        _base = 0;
        _phase = Phase.None;
        _parts.Clear();
        _bytes = BytesFor(count);
        _memory = (byte*)NativeMemory.Alloc((nuint)Math.Max(1, _bytes));
        store.Charge(_bytes);
        _keys = (ulong*)_memory;
        _otherKeys = _keys + count;
        _items = (uint*)(_otherKeys + count);
        _otherItems = _items + count;
    }

    /// <summary>Bytes that it takes for <paramref name="count"/> elements.</summary>
    public static long BytesFor(int count) => count * 2L * (sizeof(ulong) + sizeof(uint));

    /// <summary>Puts an element at a place, before they are ordered.</summary>
    public void SetItem(int place, uint item) => _items[place] = item;

    /// <summary>What the element at a place is sorted by first.</summary>
    public void SetScore(int place, double score)
    {
        ulong bits = BitConverter.DoubleToUInt64Bits(score + 0.0);       // 0 and -0 are one
        _keys[place] = _turn ^ ((bits >> 63) != 0 ? ~bits : bits | (1UL << 63));
    }

    /// <summary>Starts to order the elements of some places; the others stay where they are.</summary>
    /// <param name="end">The place after the last one.</param>
    /// <param name="byScore">Scores come first: all have been set.</param>
    public void Start(int first, int end, bool byScore)
    {
        Debug.Assert(first >= 0 && end <= _count, "there are such places");
        if (end - first > 1) _parts.Push(new Part(first, end, byScore ? ByScore : 0));
    }

    /// <summary>The element at a place that was wanted.</summary>
    public uint this[int place] => _items[place - _base];

    /// <summary>Does a piece.</summary>
    /// <returns>True when the order is found.</returns>
    public bool Step()
    {
        Debug.Assert(_memory != null, "ordering has begun");
        int work = WorkPerStep;
        // Ends: each round does a part, or a piece of one.
        while (work > 0)
        {
            if (_phase == Phase.None)
            {
                if (!_parts.TryPop(out _part)) return true;
                if (_part.Count <= AtOnceMax) work -= SortAtOnce(_part);
                else BeginPart();
            }
            else
            {
                work -= Continue(work);
            }
        }

        return false;
    }

    public void Dispose()
    {
        store.Charge(-_bytes);
        NativeMemory.Free(_memory);
        _memory = null;
        _bytes = 0;
    }

    private void BeginPart()
    {
        if (_counts.Length == 0) _counts = new int[Digits * DigitValues];
        Array.Clear(_counts);
        _at = _part.First;
        _phase = Phase.Fill;
        _isSwapped = false;
    }

    private int Continue(int work)
    {
        int end = Math.Min(_part.End, _at + work), begin = _at;
        switch (_phase)
        {
            case Phase.Fill:
                for (; _at < end; _at++)
                {
                    if (_part.Depth != ByScore) SetKey(_at, _part);
                    Count(_keys[_at]);
                }

                if (_at == _part.End) EndFill();
                break;
            case Phase.Narrow:
                Narrow();
                break;
            case Phase.Keep:
                Keep(end);
                if (_at == _part.End) EndKeep();
                break;
            case Phase.Scatter:
                Scatter(end);
                if (_at == _part.End) NextDigit();
                break;
            case Phase.CopyBack:
                int count = end - _at;
                new ReadOnlySpan<ulong>(_otherKeys + _at, count).CopyTo(new Span<ulong>(_keys + _at, count));
                new ReadOnlySpan<uint>(_otherItems + _at, count).CopyTo(new Span<uint>(_items + _at, count));
                _at = end;
                if (_at == _part.End) BeginGroups();
                break;
            case Phase.Groups:
                FindGroups(end);
                break;
        }

        return Math.Max(DigitValues, _at - begin);
    }

    private void EndFill()
    {
        bool isFirst = _part.First == 0 && _parts.Count == 0 && _base == 0;
        // Only of all there are: what is left out of a part would leave a gap.
        if (isFirst && _part.Depth <= 0 && (long)(_to - _from) * NarrowFactor < _part.Count && _part.End > _from
            && _part.Count == _count)
        {
            _digit = Digits - 1;
            _phase = Phase.Narrow;
        }
        else
        {
            _digit = -1;
            _at = _part.End;
            NextDigit();
        }
    }

    /// <summary>Finds between which values of a digit the places are that are wanted; all that is left agrees in the
    /// digits above.</summary>
    private void Narrow()
    {
        int* below = stackalloc int[2];
        int sum = 0, from = _from - _base, to = Math.Max(_from + 1, _to) - _base;
        _low = -1;
        int kept = 0;
        for (int value = 0; value < DigitValues; value++)
        {
            int count = _counts[(_digit * DigitValues) + value];
            if (count != 0 && sum + count > from && sum < to)
            {
                if (_low < 0)
                {
                    _low = value;
                    below[0] = sum;
                }

                _high = value;
                kept += count;
            }

            sum += count;
        }

        if (kept == _part.Count)
        {
            // Nothing to leave out here: the next digit may differ, unless this one does.
            if (_low == _high && _digit > 0) _digit--;
            else EndNarrow();
            return;
        }

        _base += below[0];
        _kept = 0;
        _at = 0;
        Array.Clear(_counts);
        _phase = Phase.Keep;
    }

    private void Keep(int end)
    {
        int shift = 8 * _digit;
        for (; _at < end; _at++)
        {
            ulong key = _keys[_at];
            int value = (byte)(key >> shift);
            if (value < _low || value > _high) continue;
            _keys[_kept] = key;
            _items[_kept++] = _items[_at];
            Count(key);
        }
    }

    private void EndKeep()
    {
        _part = new Part(0, _kept, _part.Depth);
        if (_low == _high && _digit > 0 && _kept > AtOnceMax)
        {
            _digit--;
            _phase = Phase.Narrow;
        }
        else
        {
            EndNarrow();
        }
    }

    private void EndNarrow()
    {
        _digit = -1;
        _at = _part.End;
        NextDigit();
    }

    /// <summary>Begins with the next digit in which the keys differ; after the last one, with the groups of equal
    /// keys.</summary>
    private void NextDigit()
    {
        if (_phase == Phase.Scatter)
        {
            Swap();
            _isSwapped = !_isSwapped;
        }

        for (_digit++; _digit < Digits; _digit++)
        {
            Span<int> counts = _counts.AsSpan(_digit * DigitValues, DigitValues);
            if (counts[(byte)(_keys[_part.First] >> (8 * _digit))] == _part.Count) continue;
            int sum = _part.First;
            foreach (ref int count in counts)
            {
                int own = count;
                count = sum;        // where the next one of this value goes
                sum += own;
            }

            _at = _part.First;
            _phase = Phase.Scatter;
            return;
        }

        _at = _part.First;
        if (!_isSwapped)
        {
            BeginGroups();
            return;
        }

        // The others' parts are where they were: this one goes there, too.
        Swap();
        _phase = Phase.CopyBack;
    }

    private void Swap()
    {
        ulong* keys = _keys;
        uint* items = _items;
        _keys = _otherKeys;
        _items = _otherItems;
        _otherKeys = keys;
        _otherItems = items;
    }

    private void Scatter(int end)
    {
        int shift = 8 * _digit;
        fixed (int* counts = &_counts[_digit * DigitValues])
        {
            for (; _at < end; _at++)
            {
                ulong key = _keys[_at];
                int to = counts[(byte)(key >> shift)]++;
                _otherKeys[to] = key;
                _otherItems[to] = _items[_at];
            }
        }
    }

    private void BeginGroups()
    {
        _at = _groupFirst = _part.First;
        _phase = Phase.Groups;
    }

    private void FindGroups(int end)
    {
        for (; _at < end; _at++)
        {
            if (_keys[_at] == _keys[_groupFirst]) continue;
            EndGroup(_groupFirst, _at);
            _groupFirst = _at;
        }

        if (_at != _part.End) return;
        EndGroup(_groupFirst, _at);
        _phase = Phase.None;
    }

    /// <summary>Makes elements of equal keys a part of its own, unless the elements are equal altogether.</summary>
    private void EndGroup(int first, int end)
    {
        if (end - first < 2 || first + _base >= _to || end + _base <= _from) return;
        if (_part.Depth != ByScore && (byte)(_keys[first] ^ _turn) != HasMore) return;
        int depth = _part.Depth == ByScore ? 0 : _part.Depth + BytesPerKey;
        if (end - first <= InsertionMax) Insert(new Span<uint>(_items + first, end - first), depth);
        else _parts.Push(new Part(first, end, depth));
    }

    private int SortAtOnce(Part part)
    {
        int count = part.Count;
        var items = new Span<uint>(_items + part.First, count);
        if (count <= InsertionMax && part.Depth >= 0)
        {
            Insert(items, part.Depth);
            return count * 4;
        }

        var keys = new Span<ulong>(_keys + part.First, count);
        if (part.Depth != ByScore)
            for (int i = part.First; i < part.End; i++) SetKey(i, part);
        keys.Sort(items);
        for (int first = 0, end; first < count; first = end)
        {
            for (end = first + 1; end < count && keys[end] == keys[first];) end++;
            if (end - first == 1) continue;
            items[first..end].Sort();       // by their numbers
            EndGroup(part.First + first, part.First + end);
        }

        return count * 8;
    }

    private void Insert(Span<uint> items, int depth)
    {
        for (int i = 1; i < items.Length; i++)
        {
            uint moving = items[i];
            var text = _texts[moving][depth..];
            int at = i;
            for (; at > 0; at--)
            {
                int order = _texts[items[at - 1]][depth..].SequenceCompareTo(text);
                if (_turn == 0 ? order <= 0 : order >= 0) break;
                items[at] = items[at - 1];
            }

            items[at] = moving;
        }
    }

    private void Count(ulong key)
    {
        for (int digit = 0; digit < Digits; digit++, key >>= 8) _counts[(digit * DigitValues) + (byte)key]++;
    }

    private void SetKey(int place, Part part)
    {
        if (place + Ahead < part.End) _texts.Prefetch(_items[place + Ahead]);
        _keys[place] = KeyOf(_items[place], part.Depth);
    }

    private ulong KeyOf(uint item, int depth)
    {
        var text = _texts[item][depth..];
        if (text.Length > BytesPerKey)
            return _turn ^ ((BinaryPrimitives.ReadUInt64BigEndian(text) & ~0xFFUL) | HasMore);
        ulong key = (uint)text.Length;
        for (int i = 0; i < text.Length; i++) key |= (ulong)text[i] << (56 - (8 * i));
        return _turn ^ key;
    }

    private readonly record struct Part(int First, int End, int Depth)
    {
        public int Count => End - First;
    }
}
