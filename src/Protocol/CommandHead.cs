using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Kv.Protocol;

//  *3\r\n $3\r\n SET\r\n $3\r\nkey\r\n $5\r\nvalue\r\n
//  \___ the head _____/  the rest
//   10 bytes and the name's: at most 16, so that one vector holds it

/// <summary>How the last command began. A pipeline repeats it, so the next one needs one compare where it would have needed
/// a count, a length and a look-up of the name.</summary>
internal struct CommandHead
{
    private const int NameOffset = 8, NameBytesMax = 6, ArgumentsMax = 9;

    private Vector128<byte> _bytes, _mask;

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
        // The name lies 8 bytes behind the start only where count and length have one digit each.
        if (*command != RespType.Array || arguments is < 2 or > ArgumentsMax || nameBytes is 0 or > NameBytesMax
            || items->Pointer != command + NameOffset) return false;
        _mask = Vector128.LessThan(Vector128<byte>.Indices, Vector128.Create((byte)(NameOffset + nameBytes + 2)));
        _bytes = Vector128.Load(command) & _mask;
        _nameBytes = nameBytes;
        Arguments = arguments;
        return true;
    }

    /// <summary>Whether a command begins in the same way.</summary>
    /// <param name="at">Readable for 16 bytes; a match proves nothing about where the input ends.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly unsafe bool Matches(byte* at) => (Vector128.Load(at) & _mask) == _bytes;

    /// <summary>Reads the rest of a command whose head matches.</summary>
    /// <param name="items">Room for all <see cref="Arguments"/>.</param>
    /// <returns>The byte behind the command; null when it does not end before <paramref name="end"/>, or is unusual.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly unsafe byte* ReadRest(byte* at, byte* end, Argument* items, RespLimits limits)
    {
        items->Pointer = at + NameOffset;
        *(long*)&items->Length = _nameBytes;        // and Flags = 0
        return CommandParser.ReadBulks(at + NameOffset + _nameBytes + 2, end, Arguments - 1, items + 1, limits);
    }
}
