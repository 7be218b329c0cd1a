using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   a length     00 nnnnnn                             up to 63
//                01 nnnnnn  nnnnnnnn                   up to 16,383
//                10 000000  4 bytes                    big endian
//                10 000001  8 bytes                    big endian
//   a string     length, the bytes
//                11 000000  1 byte                     an integer, little endian
//                11 000001  2 bytes
//                11 000010  4 bytes
//                11 000011  length  length  the bytes  LZF: how many bytes follow, how many there were

/// <summary>Where a value is written as RDB files and DUMP have it.</summary>
/// <remarks>
/// What is short stays in a buffer of its own, what is long goes to a block, which is sent without a copy. A failure is
/// remembered: what is written after it is lost. Threads: one at a time.
/// </remarks>
internal sealed unsafe class RdbOutput(Store store) : IDisposable
{
    /// <summary>Most bytes of what is kept in the buffer.</summary>
    public const int BufferBytes = 32 * 1024;

    /// <summary>Shorter strings are not compressed; nor are they, if that saves less.</summary>
    private const int CompressedMin = 21, SavedMin = 4, CompressedHeaderMax = 1 + 5 + 5;

    /// <summary>Longer strings are not compressed: it would take longer than a worker may be kept.</summary>
    private const int CompressedMax = 16 << 20;

    private const int ChargeStep = 1 << 20, PassedBytes = 5;

    /// <summary>Longer strings may be written in pieces.</summary>
    private const int PieceBytes = 256 * 1024;

    /// <summary>A unit of work is a thing that is written, or this many bytes copied, or compressed.</summary>
    private const int BytesPerWork = 256, CompressedPerWork = 32;

    private readonly Lzf _lzf = new();
    private byte* _buffer, _start, _at, _end;
    private Block _block;
    private long _expected;

    // A long string that is being written.
    private byte* _text;
    private int _textLength, _textAt;
    private bool _isCompressing;
    private LzfRun _run;

    /// <summary>Ok; OutOfMemory or TooLarge: what was written is not whole.</summary>
    public StoreStatus Status { get; private set; }

    /// <summary>Whether strings are compressed.</summary>
    public bool Compresses { get; private set; }

    /// <summary>What was written; until more is, or it begins again.</summary>
    public ReadOnlySpan<byte> Written => new(_start, (int)(_at - _start));

    /// <summary>Bytes of <see cref="Written"/>.</summary>
    public long Length => _at - _start;

    /// <summary>How much may be done until the next pause, as elements; or as bytes that cost as much.</summary>
    public long Work { get; set; } = long.MaxValue;

    /// <summary>Work that a string is: a thing that is written, and its bytes.</summary>
    public static long WorkOf(int bytes) => 1 + (bytes / BytesPerWork);

    /// <summary>Begins anew.</summary>
    /// <param name="expectedBytes">What will probably be enough.</param>
    public void Begin(bool compresses, long expectedBytes)
    {
        if (_buffer == null)
        {
            _buffer = (byte*)NativeMemory.Alloc(BufferBytes);
            store.Budget.ChargeExternal(BufferBytes + Lzf.TableBytes);
        }

        Forget();
        Compresses = compresses;
        _expected = expectedBytes;
    }

    /// <summary>Whether it is in a block, being too much for the buffer.</summary>
    public bool IsInBlock => !_block.IsNone;

    /// <summary>The block with all that was written: the caller's.</summary>
    /// <param name="first">Where in it that begins; it goes to the block's end.</param>
    public Block TakeBlock(out int first)
    {
        Debug.Assert(IsBetweenStrings, "no string is half written");
        Block block = _block;
        _block = default;
        first = block.IsNone ? 0 : (int)(_start - block.Content);
        if (!block.IsNone) block.SetLength(first + Length);
        Forget();
        return block;
    }

    /// <summary>Whether no long string has been begun and not ended.</summary>
    public bool IsBetweenStrings => _text == null;

    /// <summary>What was written has been taken elsewhere; between two strings, and where no length is to be inserted
    /// before it.</summary>
    public void Drain()
    {
        Debug.Assert(IsBetweenStrings && Status == StoreStatus.Ok, "what was written is whole");
        long work = Work;
        Forget();
        Work = work;
    }

    /// <summary>Gives up what was written.</summary>
    public void Forget()
    {
        if (!_block.IsNone) store.Release(_block);
        _block = default;
        _start = _at = _buffer;
        _end = _buffer + BufferBytes;
        Status = StoreStatus.Ok;
        _text = null;
        Work = long.MaxValue;
    }

    /// <summary>Makes room for bytes that the caller writes, and then commits.</summary>
    public bool TryReserve(long bytes, out byte* at)
    {
        Debug.Assert(bytes >= 0 && _buffer != null, "writing has begun");
        bool hasRoom = bytes <= _end - _at || TryGrow(bytes);
        at = _at;
        return hasRoom;
    }

    /// <summary>Says how many bytes were written where there was room.</summary>
    public void Commit(int bytes)
    {
        Debug.Assert(bytes >= 0 && bytes <= _end - _at, "no more is written than was reserved");
        long before = _at - _start;
        _at += bytes;
        if (!_block.IsNone && before / ChargeStep != (before + bytes) / ChargeStep) _block.ChargeTo(Length);
    }

    public void Write(scoped ReadOnlySpan<byte> bytes)
    {
        if (!TryReserve(bytes.Length, out byte* at)) return;
        bytes.CopyTo(new Span<byte>(at, bytes.Length));
        Commit(bytes.Length);
    }

    public void WriteByte(byte value)
    {
        if (!TryReserve(1, out byte* at)) return;
        *at = value;
        Commit(1);
    }

    /// <summary>Eight bytes, little endian.</summary>
    public void WriteInt64(long value)
    {
        if (!TryReserve(sizeof(long), out byte* at)) return;
        BinaryPrimitives.WriteInt64LittleEndian(new Span<byte>(at, sizeof(long)), value);
        Commit(sizeof(long));
    }

    public void WriteLength(ulong length)
    {
        if (TryReserve(9, out byte* at)) Commit(PutLength(at, length));
    }

    /// <summary>Passes over as many bytes as the greatest number of things takes, up to 2^32.</summary>
    /// <returns>The place.</returns>
    public long PassLength()
    {
        long place = Length;
        if (TryReserve(PassedBytes, out _)) Commit(PassedBytes);
        return place;
    }

    /// <summary>Writes a number of things at a place that was passed over, once it is known; what is ahead, which
    /// should be little, moves.</summary>
    /// <param name="place">From <see cref="PassLength"/>.</param>
    public void InsertLength(long place, ulong length)
    {
        Debug.Assert(Status != StoreStatus.Ok || place + PassedBytes <= Length, "the place of the length was passed");
        if (Status != StoreStatus.Ok) return;
        byte* header = stackalloc byte[9];
        int bytes = PutLength(header, length), moved = PassedBytes - bytes;
        Buffer.MemoryCopy(_start, _start + moved, place, place);
        _start += moved;
        Buffer.MemoryCopy(header, _start + place, bytes, bytes);
    }

    /// <summary>Writes a string in the shortest way that Redis takes: as an integer, compressed, or as it is.</summary>
    public void WriteString(scoped ReadOnlySpan<byte> text)
    {
        Debug.Assert(IsBetweenStrings, "nothing is written into a long string");
        Work -= WorkOf(text.Length);
        if (text.Length <= 11 && IntegerText.TryParse(text, out long number) && number == (int)number)
            WriteInteger((int)number);
        else if (!Compresses || text.Length is < CompressedMin or > CompressedMax || !TryWriteCompressed(text))
        {
            WriteLength((ulong)text.Length);
            Write(text);
        }
    }

    /// <summary>Writes a string; a long one is only begun, and stays where it is until <see cref="GoOn"/> says that it
    /// is written. Nothing else is written before.</summary>
    public void BeginString(ReadOnlySpan<byte> text)
    {
        Debug.Assert(_text == null, "one long string at a time");
        if (text.Length <= PieceBytes)
        {
            WriteString(text);
            return;
        }

        _text = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(text));
        _textLength = text.Length;
        _textAt = 0;
        _isCompressing = Compresses && text.Length <= CompressedMax
            && TryReserve(CompressedHeaderMax + (long)text.Length, out _);
        if (_isCompressing) _run = _lzf.Begin(_text, text.Length, _at + CompressedHeaderMax, text.Length - SavedMin);
        else WriteLength((ulong)text.Length);
    }

    /// <summary>Goes on with a string that was begun.</summary>
    /// <returns>Whether no string is left to be written.</returns>
    public bool GoOn()
    {
        // Ends: each round does a piece.
        while (_text != null)
        {
            if (Work <= 0) return false;
            if (_isCompressing) CompressPiece();
            else CopyPiece();
        }

        return true;
    }

    private void CompressPiece()
    {
        Debug.Assert(_text != null && _isCompressing, "a long string has begun");
        Debug.Assert(_run.Output == _at + CompressedHeaderMax, "nothing else was written since it began");
        int most = (int)Math.Min(PieceBytes, Math.Min(PieceBytes, Work) * CompressedPerWork);
        Work -= most / CompressedPerWork;
        if (!_lzf.Compress(ref _run, most)) return;
        _isCompressing = false;
        if (_run.Written == 0)
        {
            WriteLength((ulong)_textLength);
            return;
        }

        EndCompressed(_run.Written, _textLength);
        _text = null;
    }

    private void CopyPiece()
    {
        Debug.Assert(_text != null && _textAt < _textLength, "a long string has begun, and not ended");
        int count = Math.Min(PieceBytes, _textLength - _textAt);
        Write(new ReadOnlySpan<byte>(_text + _textAt, count));
        Work -= count / BytesPerWork;
        _textAt += count;
        if (_textAt == _textLength || Status != StoreStatus.Ok) _text = null;
    }

    private void WriteInteger(int number)
    {
        if (!TryReserve(5, out byte* at)) return;
        int bytes = number == (sbyte)number ? 1 : number == (short)number ? 2 : 4;
        at[0] = (byte)(bytes == 1 ? 0xC0 : bytes == 2 ? 0xC1 : 0xC2);
        for (int i = 0; i < bytes; i++) at[i + 1] = (byte)(number >> (8 * i));
        Commit(1 + bytes);
    }

    private bool TryWriteCompressed(scoped ReadOnlySpan<byte> text)
    {
        if (!TryReserve(CompressedHeaderMax + (long)text.Length, out byte* at)) return false;
        Work -= text.Length / CompressedPerWork;
        int compressed = _lzf.Compress(text, new Span<byte>(at + CompressedHeaderMax, text.Length - SavedMin));
        if (compressed == 0) return false;
        EndCompressed(compressed, text.Length);
        return true;
    }

    /// <summary>Writes what stands in front of a string that was compressed.</summary>
    private void EndCompressed(int compressed, int length)
    {
        Debug.Assert(compressed > 0 && compressed <= length - SavedMin, "compressing has saved something");
        byte* at = _at;
        at[0] = 0xC3;
        int header = 1 + PutLength(at + 1, (ulong)compressed);
        header += PutLength(at + header, (ulong)length);
        Debug.Assert(header <= CompressedHeaderMax, "there was room for the header");
        if (header != CompressedHeaderMax)
            Buffer.MemoryCopy(at + CompressedHeaderMax, at + header, compressed, compressed);
        Commit(header + compressed);
    }

    private static int PutLength(byte* at, ulong length)
    {
        if (length < 1 << 6)
        {
            at[0] = (byte)length;
            return 1;
        }

        if (length < 1 << 14)
        {
            at[0] = (byte)(0x40 | (length >> 8));
            at[1] = (byte)length;
            return 2;
        }

        bool isLong = length > uint.MaxValue;
        at[0] = (byte)(isLong ? 0x81 : 0x80);
        if (isLong) BinaryPrimitives.WriteUInt64BigEndian(new Span<byte>(at + 1, sizeof(ulong)), length);
        else BinaryPrimitives.WriteUInt32BigEndian(new Span<byte>(at + 1, sizeof(uint)), (uint)length);
        return isLong ? 9 : 5;
    }

    private bool TryGrow(long bytes)
    {
        Debug.Assert(!_isCompressing, "what is being compressed stays where it is");
        long length = Length, capacity = length + bytes;
        if (Status == StoreStatus.Ok && capacity > Store.ValueBytesMax) Status = StoreStatus.TooLarge;
        if (Status != StoreStatus.Ok) return false;
        capacity = Math.Min(Math.Max(Math.Max(capacity, _expected), 4 * (_end - _start)), Store.ValueBytesMax);
        Block block = Block.Allocate(length, capacity, store.Budget);
        if (block.IsNone)
        {
            Status = StoreStatus.OutOfMemory;
            return false;
        }

        Buffer.MemoryCopy(_start, block.Content, length, length);
        if (!_block.IsNone) store.Release(_block);
        _block = block;
        _start = block.Content;
        _at = _start + length;
        _end = _start + capacity;
        return true;
    }

    public void Dispose()
    {
        if (_buffer == null) return;
        Forget();
        NativeMemory.Free(_buffer);
        _lzf.Dispose();
        store.Budget.ChargeExternal(-(BufferBytes + Lzf.TableBytes));
        _buffer = null;
    }
}
