using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>table.concat: measures what there is, and puts it together, some at a time.</summary>
internal sealed class TableConcat(LuaTable table, LuaString separator, int from, int to) : Continuation
{
    private const int PieceValues = 1024, NumberBytesMax = 32;

    private readonly byte[] _number = new byte[NumberBytesMax];
    private long _index = from, _length;
    private byte[]? _bytes;
    private int _at, _copied;

    public int Begin(ref LuaCall call) => Resume(ref call, 0, 0);

    public override int Resume(ref LuaCall call, int at, int count)
    {
        // Ends: each round measures or copies some.
        while (true)
        {
            if (_bytes == null && TryMeasure(ref call))
            {
                _bytes = TextInPieces.Room(ref call, _length);
                _index = from;
            }
            else if (_bytes != null && TryCopy(ref call))
            {
                return call.Return(new LuaString(_bytes));
            }

            if (call.IsOverBudget) return call.Pause(this);
        }
    }

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(table);
        walk.Visit(separator);
        walk.Add(_bytes?.Length ?? 0);
    }

    private bool TryMeasure(ref LuaCall call)
    {
        long end = Math.Min(to, _index + PieceValues - 1);
        call.Spend(end - _index + 1);
        for (; _index <= end; _index++)
            _length += TextAt(ref call, _index).Length + (_index < to ? separator.Length : 0);
        return _index > to;
    }

    /// <returns>True when all is copied.</returns>
    private bool TryCopy(ref LuaCall call)
    {
        Debug.Assert(_at <= _length, "no more is copied than was measured");
        int room = TextInPieces.PieceBytes;
        long end = Math.Min(to, _index + PieceValues - 1);
        call.Spend(end - _index + 1);
        // Ends: each round copies a value with what comes after it, or the room is used up.
        for (; _index <= end; _index++)
        {
            var text = TextAt(ref call, _index);
            if (!TryCopy(text, 0, ref room)) break;
            if (_index < to && !TryCopy(separator.Span, text.Length, ref room)) break;
            _copied = 0;
        }

        call.Spend((TextInPieces.PieceBytes - room) >> 4);
        return _index > to;
    }

    // What of a value and its separator was copied before is passed: "begin" of the two lies before this text.
    private bool TryCopy(ReadOnlySpan<byte> text, int begin, ref int room)
    {
        if (_copied >= begin + text.Length) return true;
        text = text[(_copied - begin)..];
        bool isWhole = text.Length <= room;
        if (!isWhole) text = text[..room];
        text.CopyTo(_bytes.AsSpan(_at));
        _at += text.Length;
        _copied += text.Length;
        room -= text.Length;
        return isWhole;
    }

    private ReadOnlySpan<byte> TextAt(ref LuaCall call, long index)
    {
        LuaValue value = table[(int)index];
        if (value.AsString is { } text) return text.Span;
        if (!value.IsNumber)
            throw call.Failure($"invalid value ({value.TypeName}) at index {index} in table for 'concat'");
        return _number.AsSpan(0, NumberSyntax.Format(value.AsNumber, _number));
    }
}
