using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Unicode;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Effects;

//  An effect:   | database 32 | length 32 | a command in RESP, length bytes |

/// <summary>Effects that are being put together: commands in RESP, each with its database.</summary>
/// <remarks>Threads: one. Bounded by what one command or transaction does; large ones are let go of
/// afterwards.</remarks>
internal sealed class EffectBytes
{
    /// <summary>What precedes each effect.</summary>
    public const int HeadBytes = 2 * sizeof(int);

    /// <summary>Of an effect that is about no database.</summary>
    public const int NoDatabase = -1;

    /// <summary>Of an effect that is a message, which only replicas want.</summary>
    public const int Message = -2;

    private const int LeastBytes = 256, KeptBytes = 64 * 1024;

    private byte[] _bytes = [];
    private int _length, _start;

    /// <summary>Effects in it.</summary>
    public int Count { get; private set; }

    public bool IsEmpty => Count == 0;

    /// <summary>All of them, one after another.</summary>
    public ReadOnlySpan<byte> Span => _bytes.AsSpan(0, _length);

    /// <summary>Begins an effect: a command of <paramref name="arguments"/> words, each by <see cref="Add(
    /// ReadOnlySpan{byte})"/>.</summary>
    public void Begin(int database, int arguments)
    {
        Debug.Assert(arguments > 0, "a command has a name");
        _start = _length;
        var head = Reserve(HeadBytes);
        MemoryMarshal.Write(head, database);
        AddLine((byte)'*', arguments);
    }

    /// <summary>Adds a command of two words, whole.</summary>
    public void AddCommand(int database, ReadOnlySpan<byte> name, ReadOnlySpan<byte> key)
    {
        Begin(database, 2);
        Add(name);
        Add(key);
        End();
    }

    /// <summary>Adds a word.</summary>
    public void Add(ReadOnlySpan<byte> word)
    {
        AddLine((byte)'$', word.Length);
        var room = Reserve(word.Length + 2);
        word.CopyTo(room);
        room[word.Length] = (byte)'\r';
        room[word.Length + 1] = (byte)'\n';
    }

    /// <summary>Adds a number as a word.</summary>
    public void Add(long number)
    {
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        Add(digits[..NumberText.FormatInt64(number, digits)]);
    }

    /// <summary>Adds the id of a stream's entry as a word.</summary>
    public void Add(StreamId id)
    {
        Span<byte> text = stackalloc byte[(2 * NumberText.MaxInt64Bytes) + 3];
        Utf8.TryWrite(text, $"{id.Ms}-{id.Number}", out int length);
        Add(text[..length]);
    }

    /// <summary>Ends the effect.</summary>
    public void End()
    {
        MemoryMarshal.Write(_bytes.AsSpan(_start + sizeof(int)), _length - _start - HeadBytes);
        Count++;
    }

    /// <summary>Adds a command as it was sent.</summary>
    public unsafe void AddCommand(int database, Argument* items, int count)
    {
        int length = Measure(items, count);
        var room = Reserve(HeadBytes + length);
        WriteHead(room, database, length);
        Write(room[HeadBytes..], items, count);
        Count++;
    }

    /// <summary>Writes what precedes an effect.</summary>
    public static void WriteHead(Span<byte> room, int database, int length)
    {
        MemoryMarshal.Write(room, database);
        MemoryMarshal.Write(room[sizeof(int)..], length);
    }

    /// <summary>Bytes of a command in RESP.</summary>
    public static unsafe int Measure(Argument* items, int count)
    {
        int length = LineBytes(count);
        for (int i = 0; i < count; i++) length = checked(length + LineBytes(items[i].Length) + items[i].Length + 2);
        return length;
    }

    /// <summary>Writes a command in RESP.</summary>
    /// <param name="room">As long as <see cref="Measure"/> says.</param>
    public static unsafe void Write(Span<byte> room, Argument* items, int count)
    {
        fixed (byte* start = room)
        {
            byte* at = WriteLine(start, (byte)'*', count);
            for (int i = 0; i < count; i++)
            {
                int length = items[i].Length;
                at = WriteLine(at, (byte)'$', length);
                Buffer.MemoryCopy(items[i].Pointer, at, length, length);
                at += length;
                *at++ = (byte)'\r';
                *at++ = (byte)'\n';
            }

            Debug.Assert(at == start + room.Length, "the length was counted wrong");
        }
    }

    private static int LineBytes(int count)
    {
        int digits = 1;
        for (uint rest = (uint)count; rest >= 10; rest /= 10) digits++;
        return 1 + digits + 2;
    }

    private static unsafe byte* WriteLine(byte* at, byte kind, int count)
    {
        *at++ = kind;
        if (count < 10) *at++ = (byte)('0' + count);
        else at += NumberText.FormatInt64(count, new Span<byte>(at, 10));
        *at++ = (byte)'\r';
        *at++ = (byte)'\n';
        return at;
    }

    /// <summary>Adds a command whose bytes have been kept.</summary>
    public void AddKept(int database, ReadOnlySpan<byte> command)
    {
        var room = Reserve(HeadBytes + command.Length);
        WriteHead(room, database, command.Length);
        command.CopyTo(room[HeadBytes..]);
        Count++;
    }

    /// <summary>Adds all effects of another.</summary>
    public void AddAll(EffectBytes other)
    {
        if (other.IsEmpty) return;
        other.Span.CopyTo(Reserve(other._length));
        Count += other.Count;
    }

    /// <summary>Forgets them.</summary>
    public void Clear()
    {
        if (_bytes.Length > KeptBytes) _bytes = [];
        _length = Count = 0;
    }

    private unsafe void AddLine(byte kind, int count)
    {
        fixed (byte* at = Reserve(LineBytes(count))) WriteLine(at, kind, count);
    }

    private Span<byte> Reserve(int bytes)
    {
        int end = checked(_length + bytes);
        if (end > _bytes.Length)
            Array.Resize(ref _bytes, (int)Math.Min(Array.MaxLength, Math.Max(Math.Max(LeastBytes, end), 2L * end)));
        var room = _bytes.AsSpan(_length, bytes);
        _length = end;
        return room;
    }
}
