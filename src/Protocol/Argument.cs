using System.Runtime.InteropServices;

namespace Kv.Protocol;

//   0              8          12         16
//  +--------------+----------+----------+
//  | pointer 64   | length 32| flags 32 |
//  +--------------+----------+----------+
//   flags  bit 0  in block: the bytes are in a large block that the caller owns, not in the input buffer
//          bit 1  relative: only inside ParseState; the pointer is an offset from the command's first byte

/// <summary>One argument of a command: where its bytes are. The bytes belong to the input buffer (or a
/// block).</summary>
[StructLayout(LayoutKind.Sequential, Size = SizeBytes)]
public unsafe struct Argument
{
    public const int SizeBytes = 16;
    public const int InBlock = 1;
    internal const int Relative = 2;

    public byte* Pointer;
    public int Length;
    public int Flags;

    /// <summary>The bytes; valid until the input buffer is compacted or refilled, or the block released.</summary>
    public readonly ReadOnlySpan<byte> Span => new(Pointer, Length);

    /// <summary>Whether the bytes are in a block of their own, which a SET may adopt.</summary>
    public readonly bool IsInBlock => (Flags & InBlock) != 0;
}
