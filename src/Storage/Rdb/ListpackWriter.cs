using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   | bytes 4 | count 2 | element | element |     | FF |        little endian; count 65,535: not known
//   element:  | head | content | length of both, 7 bits a byte, to be read backwards |
//
//   head   0nnnnnnn              0 to 127
//          10llllll              a string of up to 63 bytes
//          110nnnnn nnnnnnnn     -4,096 to 4,095
//          1110llll llllllll     a string of up to 4,095 bytes
//          F0 + 4 bytes          a longer one
//          F1, F2, F3, F4        an integer of 2, 3, 4, 8 bytes

/// <summary>Builds a listpack: how Redis keeps small collections, in memory and in RDB files.</summary>
/// <remarks>In memory of its own, which it keeps for the next one. Source: the format of listpacks.</remarks>
internal sealed unsafe class ListpackWriter : IDisposable
{
    private const int HeaderBytes = 6, KeptBytes = 128 * 1024;
    private const byte End = 0xFF;

    private byte* _start;
    private long _capacity;
    private long _length;
    private int _count;

    /// <summary>Bytes so far, with the end.</summary>
    public long Length => _length + 1;

    public int Count => _count;

    /// <summary>Begins an empty one.</summary>
    public void Begin()
    {
        _length = HeaderBytes;
        _count = 0;
    }

    /// <summary>Adds an element; one that is the text of an integer becomes one.</summary>
    public void Append(scoped ReadOnlySpan<byte> element)
    {
        if (element.Length <= 20 && IntegerText.TryParse(element, out long number))
        {
            Append(number);
            return;
        }

        Reserve(element.Length + 10L);
        byte* at = _start + _length;
        int head;
        if (element.Length < 64)
        {
            at[0] = (byte)(0x80 | element.Length);
            head = 1;
        }
        else if (element.Length < 4096)
        {
            at[0] = (byte)(0xE0 | (element.Length >> 8));
            at[1] = (byte)element.Length;
            head = 2;
        }
        else
        {
            at[0] = 0xF0;
            BinaryPrimitives.WriteInt32LittleEndian(new Span<byte>(at + 1, 4), element.Length);
            head = 5;
        }

        element.CopyTo(new Span<byte>(at + head, element.Length));
        EndElement(head + element.Length);
    }

    /// <summary>Adds an integer.</summary>
    public void Append(long number)
    {
        Reserve(10);
        byte* at = _start + _length;
        if (number is >= 0 and <= 127)
        {
            at[0] = (byte)number;
            EndElement(1);
        }
        else if (number is >= -4096 and <= 4095)
        {
            at[0] = (byte)(0xC0 | ((number >> 8) & 0x1F));
            at[1] = (byte)number;
            EndElement(2);
        }
        else
        {
            int bytes = number == (short)number ? 2 : number is >= -(1 << 23) and < 1 << 23
                ? 3 : number == (int)number ? 4 : 8;
            at[0] = (byte)(bytes == 8 ? 0xF4 : 0xEF + bytes);
            for (int i = 0; i < bytes; i++) at[i + 1] = (byte)(number >> (8 * i));
            EndElement(1 + bytes);
        }
    }

    /// <summary>Ends it.</summary>
    public ReadOnlySpan<byte> Finish()
    {
        Debug.Assert(_length >= HeaderBytes, "a listpack has begun");
        Debug.Assert(Length <= int.MaxValue, "its length has 32 bits");
        Reserve(1);
        _start[_length] = End;
        BinaryPrimitives.WriteUInt32LittleEndian(new Span<byte>(_start, 4), (uint)Length);
        BinaryPrimitives.WriteUInt16LittleEndian(new Span<byte>(_start + 4, 2),
            (ushort)Math.Min(_count, ushort.MaxValue));
        return new ReadOnlySpan<byte>(_start, (int)Length);
    }

    /// <summary>Bytes that the length after an element takes.</summary>
    public static int BackLengthBytes(long length) =>
        length <= 127 ? 1 : length < 16_383 ? 2 : length < 2_097_151 ? 3 : length < 268_435_455 ? 4 : 5;

    /// <summary>Gives back the memory that a long one took.</summary>
    public void Release()
    {
        if (_capacity > KeptBytes) Dispose();
    }

    public void Dispose()
    {
        NativeMemory.Free(_start);
        _start = null;
        _capacity = 0;
    }

    private void EndElement(int length)
    {
        Debug.Assert(length > 0 && _length >= HeaderBytes, "a listpack has begun, and an element has a head");
        _length += length;
        int bytes = BackLengthBytes(length);
        byte* at = _start + _length;
        at[0] = (byte)(length >> (7 * (bytes - 1)));
        for (int i = 1; i < bytes; i++) at[i] = (byte)(((length >> (7 * (bytes - 1 - i))) & 127) | 128);
        _length += bytes;
        _count++;
        Debug.Assert(_length <= _capacity, "no more is written than was reserved");
    }

    private void Reserve(long bytes)
    {
        Debug.Assert(bytes > 0, "something is to be written");
        if (_length + bytes <= _capacity) return;
        long capacity = Math.Max(Math.Max(_length + bytes + 1, 2 * _capacity), 1024);
        _start = (byte*)NativeMemory.Realloc(_start, (nuint)capacity);
        _capacity = capacity;
    }
}
