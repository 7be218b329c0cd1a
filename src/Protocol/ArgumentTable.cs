using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Protocol;

//  one table a worker, shared by the commands parsed ahead in one window:
//
//   Items                                                       Count        capacity
//   v                                                           v            v
//  +-----+-----+-----+-----+-----+-----+-----+-----+-----------+------------+
//  | SET | key | val | GET | key | DEL | key | key |    ...    |   unused   |    16 bytes each
//  +-----+-----+-----+-----+-----+-----+-----+-----+-----------+------------+
//   \_ command 0 __/  \ command 1 /  \_ command 2 _/

/// <summary>A growable array of arguments in native memory, filled by the parser and emptied once per window.</summary>
/// <remarks>
/// Threads: none; belongs to one worker. <see cref="Items"/> moves when the table grows: keep indexes, not pointers.
/// Invariant: grows by the arguments that have arrived, never by the number that a header announces.
/// </remarks>
public sealed unsafe class ArgumentTable : IDisposable
{
    private const int InitialCapacity = 256;

    /// <summary>Beyond 16 K arguments (256 KB), <see cref="Clear"/> gives the memory of a huge command back.</summary>
    public const int KeptCapacity = 16 * 1024;

    private const int TextChunkBytes = 4096;

    private Argument* _items;
    private int _count;
    private int _capacity;
    private TextChunk* _text;

    public ArgumentTable() => Resize(InitialCapacity);

    public int Count => _count;

    public Argument* Items => _items;

    /// <summary>The large command that is in the table, if there is one.</summary>
    public LargeCommand? Large { get; private set; }

    /// <summary>What the table holds of memory, for the account.</summary>
    public long CapacityBytes => ((long)_capacity * Argument.SizeBytes) + TextBytes();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Add(byte* pointer, int length) => Add(pointer, length, 0);

    /// <summary>Forgets all arguments (and the text of quoted inline ones), and shrinks after a huge command.</summary>
    public void Clear()
    {
        _count = 0;
        if (_capacity > KeptCapacity || _text != null || Large != null) ClearSlow();
    }

    /// <summary>Makes room for at least this many arguments in all, by doubling.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void EnsureCapacity(int capacity)
    {
        if (capacity > _capacity) Resize(Math.Max(capacity, (int)Math.Min(2L * _capacity, Array.MaxLength)));
    }

    public void Dispose()
    {
        FreeText();
        FreeItems();
        _items = null;
        _count = _capacity = 0;
    }

    /// <summary>Takes a large command over, with its reference.</summary>
    internal void Adopt(LargeCommand large)
    {
        Debug.Assert(Large == null, "a large command is the first of its input");
        if (_count == 0)
        {
            FreeItems();
            _items = large.Items;
            _capacity = large.Count;
        }
        else
        {
            // After commands of others: it is copied, and only its text stays where it is.
            EnsureCapacity(_count + large.Count);
            new ReadOnlySpan<Argument>(large.Items, large.Count)
                .CopyTo(new Span<Argument>(_items + _count, large.Count));
        }

        Large = large;
        _count += large.Count;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Add(byte* pointer, int length, int flags)
    {
        if (_count == _capacity) EnsureCapacity(_count + 1);
        _items[_count++] = new Argument { Pointer = pointer, Length = length, Flags = flags };
    }

    /// <summary>Room for <paramref name="count"/> more, which <see cref="Commit"/> adds once they have been
    /// written.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Argument* Reserve(int count)
    {
        if (_capacity - _count < count) EnsureCapacity(_count + count);
        return _items + _count;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Commit(int count)
    {
        Debug.Assert(_count + count <= _capacity, "more arguments than were reserved");
        _count += count;
    }

    internal void Truncate(int count)
    {
        Debug.Assert((uint)count <= (uint)_count, "can only become shorter");
        _count = count;
    }

    /// <summary>Memory for text that exists nowhere in the input (unquoted inline arguments); lives until
    /// Clear.</summary>
    internal byte* AllocateText(int bytes)
    {
        Debug.Assert(bytes >= 0, "a text has a length");
        if (_text == null || _text->Size - _text->Used < bytes)
        {
            int size = Math.Max(bytes, TextChunkBytes);
            var chunk = (TextChunk*)NativeMemory.Alloc((nuint)sizeof(TextChunk) + (nuint)size);
            *chunk = new TextChunk { Next = _text, Size = size };
            _text = chunk;
        }

        byte* start = (byte*)(_text + 1) + _text->Used;
        _text->Used += bytes;
        return start;
    }

    /// <summary>Gives back what the last text did not need, from <paramref name="end"/> on.</summary>
    internal void ReturnText(byte* end)
    {
        Debug.Assert(end >= (byte*)(_text + 1)
            && end - (byte*)(_text + 1) <= _text->Used, "not the end of the last text");
        _text->Used = (int)(end - (byte*)(_text + 1));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ClearSlow()
    {
        FreeText();
        if (_capacity <= KeptCapacity && Large == null) return;
        FreeItems();
        Resize(InitialCapacity);
    }

    // Not inlined: a call into the C library gives whoever holds it a frame to set up, each time it is entered.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Resize(int capacity)
    {
        Debug.Assert(capacity >= _count, "the arguments that there are fit");
        if (Large != null && _items == Large.Items)
        {
            var copy = (Argument*)NativeMemory.Alloc((nuint)capacity * Argument.SizeBytes);
            new ReadOnlySpan<Argument>(_items, _count).CopyTo(new Span<Argument>(copy, _count));
            _items = copy;      // the texts stay the command's
        }
        else
        {
            _items = (Argument*)NativeMemory.Realloc(_items, (nuint)capacity * Argument.SizeBytes);
        }

        _capacity = capacity;
    }

    private void FreeItems()
    {
        if (Large == null || _items != Large.Items) NativeMemory.Free(_items);
        Large?.Release();
        Large = null;
        _items = null;
        _capacity = 0;
    }

    private void FreeText()
    {
        for (TextChunk* chunk = _text; chunk != null;)
        {
            TextChunk* next = chunk->Next;
            NativeMemory.Free(chunk);
            chunk = next;
        }

        _text = null;
    }

    private long TextBytes()
    {
        long bytes = 0;
        for (TextChunk* chunk = _text; chunk != null; chunk = chunk->Next) bytes += sizeof(TextChunk) + chunk->Size;
        return bytes;
    }

    /// <summary>A piece of text memory; its bytes follow it. Chunks never move, so arguments can point into
    /// them.</summary>
    private struct TextChunk
    {
        public TextChunk* Next;
        public int Size;
        public int Used;
    }
}
