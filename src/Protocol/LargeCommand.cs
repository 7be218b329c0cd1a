using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Protocol;

//   Items   | Argument 0 | Argument 1 | ... | not touched yet            16 bytes each; of them all once there are many
//                 |            |
//   text    | bytes of 0 | bytes of 1 | ... | 64 bytes' room | -> | the next piece ... |      never moves, never grows

/// <summary>The arguments of a command too large for one turn's input, copied out of it as they arrive into memory of
/// their own.</summary>
/// <remarks>
/// So nothing is copied whole when the last of them is there: neither the input, which holds only what came last, nor
/// the arguments, which whoever keeps the command shares. A page that is touched for the first time may cost 20 us, so
/// that 16 MB in one turn would be 80 ms for everybody.
/// Threads: one at a time, but for the references.
/// </remarks>
public sealed unsafe class LargeCommand
{
    /// <summary>Bounds of a piece of text, which is as large as all before it. From 128 KB on the C library takes a
    /// piece from the system, and gives it back when it is freed. (Of 300 MB in pieces of 64 KB all stayed in its heap,
    /// for the sake of something small after them.)</summary>
    private const int TextBytesMin = 64 * 1024, TextBytesMax = 1024 * 1024;

    /// <summary>With more arguments than this there is one more growth, to all that were announced, of which only what
    /// is written is ever touched: so at most 1 MB is copied.</summary>
    private const int DoublingMax = 64 * 1024, AtOnceMax = 1024 * 1024;

    private readonly int _expected;
    private int _capacity;
    private TextPiece* _text;
    private long _textBytes, _usedBytes;
    private int _references = 1;

    /// <param name="expected">Arguments that were announced. Memory is taken for those that have come.</param>
    public LargeCommand(int expected) => _expected = expected;

    public Argument* Items { get; private set; }

    public int Count { get; private set; }

    /// <summary>Memory that has been touched.</summary>
    public long Bytes => ((long)Count * Argument.SizeBytes) + _usedBytes;

    /// <summary>Copies an argument that lies elsewhere.</summary>
    public void Add(ReadOnlySpan<byte> text)
    {
        byte* copy = Take(text.Length);
        text.CopyTo(new Span<byte>(copy, text.Length));
        Add(new Argument { Pointer = copy, Length = text.Length });
    }

    /// <summary>Adds an argument that stays where it is.</summary>
    public void Add(Argument argument)
    {
        Debug.Assert((argument.Flags & Argument.Relative) == 0, "arguments that stay have addresses");
        if (Count == _capacity) Grow();
        Items[Count++] = argument;
    }

    // Interlocked: a client may leave, and its long command with it, on another thread.
    public void AddReference() => Interlocked.Increment(ref _references);

    /// <summary>The last one frees it.</summary>
    public void Release()
    {
        int left = Interlocked.Decrement(ref _references);
        Debug.Assert(left >= 0, "released once too often");
        if (left != 0) return;
        NativeMemory.Free(Items);
        Items = null;
        for (TextPiece* piece = _text; piece != null;)
        {
            TextPiece* next = piece->Next;
            NativeMemory.Free(piece);
            piece = next;
        }

        _text = null;
    }

    private void Grow()
    {
        int capacity = Math.Max(256, checked(2 * _capacity));
        if (_capacity >= DoublingMax) capacity = Math.Max(capacity, Math.Min(_expected, AtOnceMax));
        Items = (Argument*)NativeMemory.Realloc(Items, (nuint)capacity * Argument.SizeBytes);
        _capacity = capacity;
    }

    private byte* Take(int bytes)
    {
        Debug.Assert(bytes >= 0, "a text has a length");
        if (_text == null || _text->Size - _text->Used < bytes)
        {
            int size = Math.Max(bytes, (int)Math.Clamp(_textBytes, TextBytesMin, TextBytesMax));
            var piece = (TextPiece*)NativeMemory.Alloc(
                (nuint)(sizeof(TextPiece) + (long)size + CommandParser.PaddingBytes));
            *piece = new TextPiece { Next = _text, Size = size };
            _text = piece;
            _textBytes += size;
        }

        byte* start = (byte*)(_text + 1) + _text->Used;
        _text->Used += bytes;
        _usedBytes += bytes;
        return start;
    }

    /// <summary>A piece of text; its bytes follow it, and room for what is read beyond the last one.</summary>
    private struct TextPiece
    {
        public TextPiece* Next;
        public int Size;
        public int Used;
    }
}
