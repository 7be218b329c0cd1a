using System.Buffers.Binary;
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
/// remembered: what is written behind it is lost. Threads: one at a time.
/// </remarks>
internal sealed unsafe class RdbOutput(Store store) : IDisposable
{
    /// <summary>Most bytes of what is kept in the buffer.</summary>
    public const int BufferBytes = 32 * 1024;

    /// <summary>Shorter strings are not compressed; nor are they, if that saves less.</summary>
    private const int CompressedMin = 21, SavedMin = 4;

    /// <summary>Longer strings are not compressed: it would take longer than a worker may be kept.</summary>
    private const int CompressedMax = 16 << 20;

    private const int ChargeStep = 1 << 20;

    private readonly Lzf _lzf = new();
    private byte* _buffer, _start, _at, _end;
    private Block _block;
    private long _expected;

    /// <summary>Ok; OutOfMemory or TooLarge: what was written is not whole.</summary>
    public StoreStatus Status { get; private set; }

    /// <summary>Whether strings are compressed.</summary>
    public bool Compresses { get; private set; }

    /// <summary>What was written; until more is, or it begins again.</summary>
    public ReadOnlySpan<byte> Written => new(_start, (int)(_at - _start));

    /// <summary>How many bytes that are.</summary>
    public long Length => _at - _start;

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
    public Block TakeBlock()
    {
        Block block = _block;
        _block = default;
        if (!block.IsNone) block.SetLength(Length);
        Forget();
        return block;
    }

    /// <summary>Gives up what was written.</summary>
    public void Forget()
    {
        if (!_block.IsNone) store.Release(_block);
        _block = default;
        _start = _at = _buffer;
        _end = _buffer + BufferBytes;
        Status = StoreStatus.Ok;
    }

    /// <summary>Makes room for bytes that the caller writes, and then commits.</summary>
    public bool TryReserve(long bytes, out byte* at)
    {
        bool hasRoom = bytes <= _end - _at || TryGrow(bytes);
        at = _at;
        return hasRoom;
    }

    /// <summary>Says how many bytes were written where there was room.</summary>
    public void Commit(int bytes)
    {
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

    /// <summary>Writes a number of things at a place that was passed over, once it is known; what is behind moves if it has to.</summary>
    /// <param name="place">Where: <see cref="Length"/> of that time.</param>
    /// <param name="passed">Bytes that were passed over.</param>
    public void InsertLength(long place, int passed, ulong length)
    {
        byte* header = stackalloc byte[9];
        int bytes = PutLength(header, length), behind = (int)(Length - place - passed);
        if (bytes > passed && !TryReserve(bytes - passed, out _)) return;
        if (Status != StoreStatus.Ok) return;
        byte* at = _start + place;
        if (bytes != passed) Buffer.MemoryCopy(at + passed, at + bytes, behind, behind);
        Buffer.MemoryCopy(header, at, bytes, bytes);
        _at += bytes - passed;
    }

    /// <summary>Writes a string in the shortest way that Redis takes: as an integer, compressed, or as it is.</summary>
    public void WriteString(scoped ReadOnlySpan<byte> text)
    {
        if (text.Length <= 11 && IntegerText.TryParse(text, out long number) && number == (int)number) WriteInteger((int)number);
        else if (!Compresses || text.Length is < CompressedMin or > CompressedMax || !TryWriteCompressed(text))
        {
            WriteLength((ulong)text.Length);
            Write(text);
        }
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
        const int headerMax = 1 + 5 + 5;
        if (!TryReserve(headerMax + (long)text.Length, out byte* at)) return false;
        int compressed = _lzf.Compress(text, new Span<byte>(at + headerMax, text.Length - SavedMin));
        if (compressed == 0) return false;
        at[0] = 0xC3;
        int header = 1 + PutLength(at + 1, (ulong)compressed);
        header += PutLength(at + header, (ulong)text.Length);
        if (header != headerMax) Buffer.MemoryCopy(at + headerMax, at + header, compressed, compressed);
        Commit(header + compressed);
        return true;
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
