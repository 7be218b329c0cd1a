using System.Diagnostics;

namespace Kv.Lua.Libraries.Struct;

/// <summary>struct.unpack, also when it is put aside in between.</summary>
/// <remarks>A machine has one.</remarks>
internal sealed class StructUnpacker : StandingFunction
{
    private const int OptionsBetweenLooks = 64;

    // What a C function of the reference may push.
    private const int StackMax = 8000;

    private readonly List<LuaValue> _results = [];
    private StructFormat _format;
    private LuaString _data = LuaString.Empty;
    private long _position;
    private int _arguments, _sinceLook;
    private TextInPieces? _making;      // a long string, the next result

    public int Begin(ref LuaCall call)
    {
        Clear();
        _format = new StructFormat(call.TextAt(0));
        _data = call.TextAt(1);
        long first = call.LongAt(2, 1);
        if (first == 0) throw call.ArgumentError(2, "offset must be 1 or greater");
        _position = unchecked(first - 1);
        _arguments = call.Count;
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(_data);
        foreach (LuaValue value in _results) walk.Visit(value);
        _making?.Visit(walk);
    }

    public override void Clear()
    {
        _results.Clear();
        _making = null;
        _data = LuaString.Empty;
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round passes a byte of the format.
        while (true)
        {
            if (_making != null)
            {
                if (!_making.TryMake(ref call, out var text)) return call.Pause(this);
                _making = null;
                _results.Add(text);
            }

            if (!_format.TryNext(ref call, _position, out byte option, out int size, out int padding)) break;
            _position += padding;
            Check(ref call, size);
            if (_arguments + _results.Count + 2 > StackMax) throw call.Failure("stack overflow (too many results)");
            _position += Read(ref call, option, size);
            if (++_sinceLook < OptionsBetweenLooks) continue;
            _sinceLook = 0;
            call.Spend(OptionsBetweenLooks);
            if (call.IsOverBudget) return call.Pause(this);
        }

        Span<LuaValue> results = call.Results(_results.Count + 1);
        System.Runtime.InteropServices.CollectionsMarshal.AsSpan(_results).CopyTo(results);
        results[^1] = _position + 1;
        Clear();
        return results.Length;
    }

    private void Check(ref LuaCall call, long size)
    {
        // A place below 1 is beyond the end: C has no sign there.
        if (size < 0 || size > _data.Length || (ulong)_position > (ulong)(_data.Length - size))
            throw call.ArgumentError(1, "data string too short");
    }

    /// <returns>Bytes that were read.</returns>
    private int Read(ref LuaCall call, byte option, int size)
    {
        Debug.Assert(_position >= 0 && _position <= _data.Length, "the place was checked");
        var data = _data.Span[(int)_position..];
        switch (option)
        {
            case (byte)'b' or (byte)'h' or (byte)'l' or (byte)'i':
                _results.Add(Signed(Bits(data, size), size));
                return size;
            case (byte)'B' or (byte)'H' or (byte)'L' or (byte)'T' or (byte)'I':
                _results.Add(Bits(data, size));
                return size;
            case (byte)'x': return size;
            case (byte)'f':
                _results.Add(BitConverter.UInt32BitsToSingle((uint)Bits(data, size)));
                return size;
            case (byte)'d':
                _results.Add(BitConverter.UInt64BitsToDouble(Bits(data, size)));
                return size;
            case (byte)'c':
                if (size == 0) size = TakeSize(ref call);
                AddText(ref call, size);
                return size;
            case (byte)'s':
                int end = data.IndexOf((byte)0);
                if (end < 0) throw call.Failure("unfinished string in data");
                AddText(ref call, end);
                return end + 1;
            default:
                _format.Control(ref call, option);
                return size;
        }
    }

    private void AddText(ref LuaCall call, int length)
    {
        if (length <= TextInPieces.PieceBytes) _results.Add(call.Text(_data.Span.Slice((int)_position, length)));
        else _making = new PartOfText(TextInPieces.Room(ref call, length), _data, (int)_position);
    }

    // The value before says how long the string is.
    private int TakeSize(ref LuaCall call)
    {
        if (_results.Count == 0 || !_results[^1].TryToNumber(out double size))
            throw call.Failure("format 'c0' needs a previous size");
        _results.RemoveAt(_results.Count - 1);
        ulong bytes = Arithmetic.ToUnsigned(size);
        Check(ref call, bytes > int.MaxValue ? -1 : (long)bytes);
        return (int)bytes;
    }

    private ulong Bits(ReadOnlySpan<byte> data, int size)
    {
        Debug.Assert(size >= 0 && size <= data.Length, "the size was checked");
        ulong bits = 0;
        for (int i = 0; i < size; i++) bits = (bits << 8) | data[_format.IsBigEndian ? i : size - 1 - i];
        return bits;
    }

    // As C has it, whose shifts are modulo 64, also for sizes that 64 bits do not hold.
    private static long Signed(ulong bits, int size)
    {
        ulong mask = ulong.MaxValue << ((size * 8) - 1);
        return (long)((bits & mask) != 0 ? bits | mask : bits);
    }
}
