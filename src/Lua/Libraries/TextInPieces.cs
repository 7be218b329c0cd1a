using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Kv.Lua.Libraries;

/// <summary>A string of more than a piece that is made piece by piece: between two of them the script may be put
/// aside.</summary>
/// <remarks>What costs is the memory: the system gives it at some ms a MB when it is first written.</remarks>
internal abstract class TextInPieces(byte[] bytes) : Continuation
{
    /// <summary>Shorter strings are made at once; about a millisecond's work.</summary>
    public const int PieceBytes = 128 << 10;

    private int _done;

    /// <summary>Room for a string, charged.</summary>
    /// <exception cref="LuaException">It is more than there may be.</exception>
    public static byte[] Room(ref LuaCall call, long length)
    {
        call.Charge(LuaString.OverheadBytes + length);
        if (length > Array.MaxLength) throw call.Failure("not enough memory");
        return GC.AllocateUninitializedArray<byte>((int)length);
    }

    /// <summary>Makes the string, or the first piece of it.</summary>
    /// <returns>As a host's function: the string is its result.</returns>
    public int Begin(ref LuaCall call) => Resume(ref call, 0, 0);

    public override int Resume(ref LuaCall call, int at, int count) =>
        TryMake(ref call, out var text) ? call.Return(text) : call.Pause(this);

    /// <summary>Makes the next pieces, for somebody who wants the string for something else than a result.</summary>
    /// <returns>False: the budget is used up before the last one.</returns>
    public bool TryMake(ref LuaCall call, [NotNullWhen(true)] out LuaString? text)
    {
        Debug.Assert(!call.Machine.IsWaiting, "only the budget puts it aside");
        // Ends: each round fills a piece, the last of which may be empty.
        while (true)
        {
            int length = Math.Min(PieceBytes, bytes.Length - _done);
            Fill(bytes.AsSpan(_done, length), _done);
            _done += length;
            call.Spend(length >> 4);
            text = _done == bytes.Length ? new LuaString(bytes) : null;
            if (text != null || call.IsOverBudget) return text != null;
        }
    }

    public override void Visit(MemoryWalk walk) => walk.Add(LuaString.OverheadBytes + bytes.Length);

    /// <summary>Writes a piece of the string.</summary>
    /// <param name="from">Where in the string it begins. The pieces come one after the other.</param>
    protected abstract void Fill(Span<byte> piece, int from);
}

/// <summary>A part of another string, as it is.</summary>
internal sealed class PartOfText(byte[] bytes, LuaString text, int start) : TextInPieces(bytes)
{
    /// <summary>Ends a host's function with a part of a string.</summary>
    public static int Return(ref LuaCall call, LuaString text, int start, int length)
    {
        if (length <= PieceBytes) return call.Return(call.Text(text.Span.Slice(start, length)));
        return new PartOfText(Room(ref call, length), text, start).Begin(ref call);
    }

    public override void Visit(MemoryWalk walk)
    {
        base.Visit(walk);
        walk.Visit(text);
    }

    protected override void Fill(Span<byte> piece, int from) =>
        text.Span.Slice(start + from, piece.Length).CopyTo(piece);
}

/// <summary>string.rep.</summary>
internal sealed class RepeatedText : TextInPieces
{
    private const int BlockBytes = 4096;

    private readonly byte[] _block;

    /// <param name="bytes">Room for all of it.</param>
    /// <param name="text">What is repeated; not empty.</param>
    public RepeatedText(byte[] bytes, ReadOnlySpan<byte> text)
        : base(bytes)
    {
        Debug.Assert(text.Length > 0 && bytes.Length % text.Length == 0, "a text is repeated whole");
        // Some of a short text at once.
        int times = Math.Max(1, Math.Min(BlockBytes, bytes.Length) / text.Length);
        _block = new byte[times * text.Length];
        for (int i = 0; i < times; i++) text.CopyTo(_block.AsSpan(i * text.Length));
    }

    public override void Visit(MemoryWalk walk)
    {
        base.Visit(walk);
        walk.Add(_block.Length);
    }

    protected override void Fill(Span<byte> piece, int from)
    {
        int at = from % _block.Length;
        while (!piece.IsEmpty)
        {
            int length = Math.Min(piece.Length, _block.Length - at);
            _block.AsSpan(at, length).CopyTo(piece);
            piece = piece[length..];
            at = 0;
        }
    }
}

/// <summary>string.upper and string.lower.</summary>
internal sealed class CasedText(byte[] bytes, LuaString text, byte first) : TextInPieces(bytes)
{
    private const byte Difference = 0x20;

    public override void Visit(MemoryWalk walk)
    {
        base.Visit(walk);
        walk.Visit(text);
    }

    protected override void Fill(Span<byte> piece, int from)
    {
        var source = text.Span.Slice(from, piece.Length);
        // Without a branch, so that many are done at once. The 26 letters from the first on change their case.
        for (int i = 0; i < source.Length; i++)
        {
            byte c = source[i];
            piece[i] = (byte)(c ^ ((byte)(c - first) < 26 ? Difference : 0));
        }
    }
}

/// <summary>string.reverse.</summary>
internal sealed class ReversedText(byte[] bytes, LuaString text) : TextInPieces(bytes)
{
    public override void Visit(MemoryWalk walk)
    {
        base.Visit(walk);
        walk.Visit(text);
    }

    protected override void Fill(Span<byte> piece, int from)
    {
        text.Span.Slice(text.Length - from - piece.Length, piece.Length).CopyTo(piece);
        piece.Reverse();
    }
}

/// <summary>Strings one after the other.</summary>
internal sealed class JoinedText(byte[] bytes, ReadOnlyMemory<byte>[] parts) : TextInPieces(bytes)
{
    private int _part, _at;

    public override void Visit(MemoryWalk walk)
    {
        base.Visit(walk);
        foreach (var part in parts) walk.Add(part.Length);
    }

    protected override void Fill(Span<byte> piece, int from)
    {
        // Ends: each round fills some of the piece, or goes on to the next part.
        while (!piece.IsEmpty)
        {
            var rest = parts[_part].Span[_at..];
            if (rest.IsEmpty)
            {
                _part++;
                _at = 0;
                continue;
            }

            int length = Math.Min(piece.Length, rest.Length);
            rest[..length].CopyTo(piece);
            piece = piece[length..];
            _at += length;
        }
    }
}
