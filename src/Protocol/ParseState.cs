using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Protocol;

//  A command that has arrived in part, and a bulk of more than 64 KB in it (here the value of a SET):
//
//   input + position                                     + BigBulkOffset          input + length
//   v                                                    v                        v
//   *3\r\n $3\r\nSET\r\n $1\r\nk\r\n $1048576\r\n        <some bytes of the body> |
//   \___________ the head: stays in the input __________/\__ BigBulkLength in all, most of it not yet arrived
//
//  Parse returns NeedMoreData with BigBulkLength > 0. The caller then either reads on into the input as always and
// calls
//  Parse again (anything works, it only costs a copy), or takes the body out of the input:
//
//   1. makes a block of BigBulkLength bytes, copies what is there of the body into it, and cuts the input down to
//      position + BigBulkOffset: head only. (Growing the block as bytes arrive keeps memory to what was received.)
//   2. receives the rest of the body straight into the block.
//   3. calls CompleteBigBulk(block, BigBulkLength). From here on the command reads as though the body had never been
//      in it: what arrives next, the CR LF first, goes into the input directly after the head:
//
//   *3\r\n $3\r\nSET\r\n $1\r\nk\r\n $1048576\r\n \r\n    and the next command
//
//   4. calls Parse, which checks the CR LF and goes on: to the next big bulk (the same again), or to Complete, with the
//      blocks among the arguments, marked Argument.InBlock.
//
//  The blocks belong to the caller throughout. When the command never completes (protocol error, disconnect), the
// caller
//  frees them.
//
//  Of a command of which more than 16 KB have arrived in part the arguments are taken out of the input (LargeCommand),
//  and the position moves past them:
//
//   before      *9000\r\n $4\r\nMSET\r\n $3\r\nkey\r\n ... $5\r\nval                 position at the '*'
//   after       $5\r\nval                                                        position at the '$'

/// <summary>How far the parser came in a command that has arrived in part. One a session; default is a fresh
/// one.</summary>
/// <remarks>
/// Holds offsets from the command's first byte, or the first one not taken out of the input, so that the input may move
/// between calls. Commands of up to 16 KB are parsed again from their start (once their next missing byte is there); of
/// larger ones the arguments found are kept in native memory: as many as arrived, none for those announced.
/// </remarks>
public unsafe struct ParseState : IDisposable
{
    /// <summary>Bulks longer than this can be received outside of the input buffer.</summary>
    public const int BigBulkBytes = 64 * 1024;

    /// <summary>Partial commands longer than this are continued, not parsed again.</summary>
    internal const int KeepBytes = 16 * 1024;

    /// <summary>So many arguments are parsed in one call of what takes several.</summary>
    internal const int ArgumentsAtOnce = 16 * 1024;

    private const int InitialKeptCapacity = 64;

    // Those that lie in the input still, and blocks among them; what came before them has been taken out.
    private Argument* _kept;
    private int _keptCount;
    private int _keptCapacity;
    private LargeCommand? _large;

    /// <summary>Bytes of the command without which another attempt gets no further; 0 when nothing is known.</summary>
    public int BytesNeeded { get; internal set; }

    /// <summary>The length of the big bulk that the command now waits for; 0 when it waits for something
    /// else.</summary>
    public int BigBulkLength { get; private set; }

    /// <summary>Where the big bulk's body begins, from the command's first byte.</summary>
    public int BigBulkOffset { get; private set; }

    /// <summary>The byte that <see cref="ParseStatus.ExpectedDollar"/> found instead.</summary>
    public byte Got { get; internal set; }

    /// <summary>Arguments announced by a command that is being continued; 0 while it is not.</summary>
    internal int Expected { get; private set; }

    /// <summary>Up to here, from the command's first byte, all is taken: arguments, or an inline line without
    /// newline.</summary>
    internal int Offset { get; set; }

    /// <summary>A big bulk was completed; its CR LF is still to be checked, at <see cref="Offset"/>.</summary>
    internal bool OwesTerminator { get; set; }

    /// <summary>Whether part of a command has arrived.</summary>
    public readonly bool IsPartial => BytesNeeded != 0;

    /// <summary>Whether part of it has been taken out of the input. When it is complete it fills its table.</summary>
    public readonly bool IsLarge => _large != null;

    /// <summary>Whether the last call parsed as much as one call may, and more is left.</summary>
    public bool IsInterrupted { get; internal set; }

    /// <summary>Bytes that have been taken out of the input.</summary>
    public long TakenBytes { get; private set; }

    /// <summary>What the parser holds of memory for this command, for the account.</summary>
    public readonly long KeptBytes => ((long)_keptCapacity * Argument.SizeBytes) + (_large?.Bytes ?? 0);

    /// <summary>Arguments kept so far.</summary>
    public readonly int KeptCount => (_large?.Count ?? 0) + _keptCount;

    /// <summary>Those of them that lie in the input still, and blocks among them
    /// (<see cref="Argument.InBlock"/>).</summary>
    internal readonly ReadOnlySpan<Argument> KeptArguments => new(_kept, _keptCount);

    /// <summary>The name of a command that waits for a big bulk, or nothing where that is the big bulk.</summary>
    /// <param name="command">The first byte of it that has not been taken out of the input.</param>
    public readonly ReadOnlySpan<byte> FirstArgument(byte* command)
    {
        if (_large is { Count: > 0 }) return _large.Items[0].Span;
        if (_keptCount == 0) return default;
        Argument first = _kept[0];
        return (first.Flags & Argument.Relative) == 0 ? first.Span
            : new ReadOnlySpan<byte>(command + (nint)first.Pointer, first.Length);
    }

    /// <summary>Hands over the body of the big bulk, received into memory of the caller's own.</summary>
    /// <param name="pointer">Its first byte. Stays valid until the command has been executed or given up.</param>
    /// <param name="length">Must be <see cref="BigBulkLength"/>: the body, without CR LF.</param>
    public void CompleteBigBulk(byte* pointer, int length)
    {
        Debug.Assert(BigBulkLength > 0, "the parser does not wait for a big bulk");
        Debug.Assert(length == BigBulkLength, "not the whole body");
        Offset = BigBulkOffset;
        Keep(new Argument { Pointer = pointer, Length = length, Flags = Argument.InBlock });
        OwesTerminator = true;
        BytesNeeded = Offset + 1;
        BigBulkLength = BigBulkOffset = 0;
    }

    /// <summary>Forgets the command and frees what was kept of it (not the caller's blocks).</summary>
    public void Reset()
    {
        NativeMemory.Free(_kept);
        _large?.Release();
        this = default;
    }

    public void Dispose() => Reset();

    /// <summary>From now on the command is continued at <see cref="Offset"/>, with this many arguments in
    /// all.</summary>
    internal void BeginKeeping(int expected, int offset)
    {
        Debug.Assert(_keptCount == 0 && expected >= 0 && offset >= 0, "one command at a time is kept");
        Expected = expected;
        Offset = offset;
    }

    internal void Keep(Argument argument)
    {
        if (_keptCount == _keptCapacity)
        {
            _keptCapacity = Math.Max(InitialKeptCapacity, checked(_keptCapacity * 2));
            _kept = (Argument*)NativeMemory.Realloc(_kept, (nuint)_keptCapacity * Argument.SizeBytes);
        }

        _kept[_keptCount++] = argument;
    }

    /// <summary>Takes what was kept out of the input.</summary>
    /// <param name="command">The first byte of it.</param>
    /// <returns>How many bytes that were: from here on the command begins after them.</returns>
    internal int TakeOut(byte* command)
    {
        Debug.Assert(Offset >= 0 && !OwesTerminator, "only whole arguments are taken out");
        _large ??= new LargeCommand(Expected);
        foreach (ref readonly Argument argument in KeptArguments)
        {
            if ((argument.Flags & Argument.Relative) == 0) _large.Add(argument);
            else _large.Add(new ReadOnlySpan<byte>(command + (nint)argument.Pointer, argument.Length));
        }

        _keptCount = 0;
        int taken = Offset;
        TakenBytes += taken;
        Offset = 0;
        BytesNeeded = Math.Max(1, BytesNeeded - taken);
        if (BigBulkLength > 0) BigBulkOffset -= taken;
        return taken;
    }

    /// <summary>Hands the command over, which is complete: its reference is the caller's.</summary>
    internal LargeCommand HandOver()
    {
        Debug.Assert(_large != null && _keptCount == 0, "a part of it is in the input");
        var large = _large;
        _large = null;
        return large;
    }

    internal void WaitFor(int bytesNeeded) => (BytesNeeded, BigBulkLength, BigBulkOffset) = (bytesNeeded, 0, 0);

    internal void WaitForBigBulk(int bytesNeeded, int offset, int length) =>
        (BytesNeeded, BigBulkLength, BigBulkOffset) = (bytesNeeded, length, offset);
}
