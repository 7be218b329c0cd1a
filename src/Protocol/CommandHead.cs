using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Kv.Protocol;

//  *5\r\n $3\r\n SET\r\n $3\r\nkey\r\n $5\r\nvalue\r\n $2\r\nEX\r\n $2\r\n60\r\n
//  \___ the head _____/  \______ the rest _______/ \__ the tail ______/
//   the head: 10 bytes and the name's, at most 16, so that one vector holds it
//   the tail, of commands of five arguments and more: the last two, if 32 bytes hold them; options repeat as well

/// <summary>How the last command began and ended. A pipeline repeats it, so the next one needs one compare where it
/// would have needed a count, a length and a look-up of the name; and one for its options.</summary>
internal struct CommandHead
{
    private const int NameOffset = 8, NameBytesMax = 6, ArgumentsMax = 9, TailArguments = 2, WithTailMin = 5;

    private Vector256<byte> _tail, _tailMask;
    private Vector128<byte> _bytes, _mask;
    private int _tailBytes, _tailFirst, _tailFirstBytes, _tailLast, _tailLastBytes;

    /// <summary>Arguments of the command, its name included; 0: nothing is remembered.</summary>
    public int Arguments { get; private set; }

    private int _nameBytes;

    /// <summary>Remembers the head of a command that was parsed whole.</summary>
    /// <param name="command">Its first byte; readable for 16 bytes.</param>
    /// <returns>False when it has no such head: it is inline, has no argument but the name, or a long name.</returns>
    public unsafe bool TryRemember(byte* command, Argument* items, int arguments)
    {
        Arguments = 0;
        int nameBytes = items->Length;
        // The name lies 8 bytes after the start only where count and length have one digit each.
        if (*command != RespType.Array || arguments is < 2 or > ArgumentsMax || nameBytes is 0 or > NameBytesMax
            || items->Pointer != command + NameOffset) return false;
        _mask = Vector128.LessThan(Vector128<byte>.Indices, Vector128.Create((byte)(NameOffset + nameBytes + 2)));
        _bytes = Vector128.Load(command) & _mask;
        _nameBytes = nameBytes;
        Arguments = arguments;
        RememberTail(items + arguments - TailArguments, arguments);
        return true;
    }

    private unsafe void RememberTail(Argument* last, int arguments)
    {
        _tailBytes = 0;
        if (arguments < WithTailMin) return;
        byte* start = last[-1].Pointer + last[-1].Length + 2;
        long bytes = last[1].Pointer + last[1].Length + 2 - start;
        if (bytes is <= 0 or > 32) return;
        _tailMask = Vector256.LessThan(Vector256<byte>.Indices, Vector256.Create((byte)bytes));
        _tail = Vector256.Load(start) & _tailMask;
        (_tailFirst, _tailFirstBytes) = ((int)(last[0].Pointer - start), last[0].Length);
        (_tailLast, _tailLastBytes) = ((int)(last[1].Pointer - start), last[1].Length);
        _tailBytes = (int)bytes;
    }

    /// <summary>Whether a command begins in the same way.</summary>
    /// <param name="at">Readable for 16 bytes; a match proves nothing about where the input ends.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly unsafe bool Matches(byte* at) => (Vector128.Load(at) & _mask) == _bytes;

    /// <summary>Reads the rest of a command whose head matches.</summary>
    /// <param name="items">Room for all <see cref="Arguments"/>.</param>
    /// <returns>The byte after the command; null when it does not end before <paramref name="end"/>, or is
    /// unusual.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly unsafe byte* ReadRest(byte* at, byte* end, Argument* items, RespLimits limits)
    {
        items->Pointer = at + NameOffset;
        *(long*)&items->Length = _nameBytes;        // and Flags = 0
        at += NameOffset + _nameBytes + 2;
        if (_tailBytes == 0) return CommandParser.ReadBulks(at, end, Arguments - 1, items + 1, limits);
        at = CommandParser.ReadBulks(at, end, Arguments - 1 - TailArguments, items + 1, limits);
        return at == null ? null : ReadTail(at, end, items + Arguments - TailArguments, limits);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly unsafe byte* ReadTail(byte* at, byte* end, Argument* items, RespLimits limits)
    {
        // at <= end, and the input is readable for 64 bytes past that; a match counts only if it ends by `end`.
        if ((Vector256.Load(at) & _tailMask) != _tail || at + _tailBytes > end)
            return ReadOtherTail(at, end, items, limits);
        items[0].Pointer = at + _tailFirst;
        *(long*)&items[0].Length = _tailFirstBytes;     // and Flags = 0
        items[1].Pointer = at + _tailLast;
        *(long*)&items[1].Length = _tailLastBytes;
        return at + _tailBytes;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe byte* ReadOtherTail(byte* at, byte* end, Argument* items, RespLimits limits) =>
        CommandParser.ReadBulks(at, end, TailArguments, items, limits);
}
