using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Lua.Libraries.MessagePack;

/// <summary>cmsgpack.pack: values to MessagePack, also when it is put aside in between.</summary>
/// <remarks>A machine has one. What lies deeper than <see cref="DepthMax"/> tables becomes nil.</remarks>
internal sealed class MessagePacker(LuaMachine machine) : StandingFunction
{
    private const int DepthMax = 16, ValuesBetweenLooks = 64;

    private readonly TextParts _writer = machine.Writer;
    private readonly Level[] _levels = new Level[DepthMax];
    private int _depth, _argument, _sinceLook;
    private TableLook _look;        // at a table that is about to be written

    // A table that is being written.
    private struct Level
    {
        public LuaTable Table;

        /// <summary>Of an array: its last index; of a map: -1.</summary>
        public int Last;

        /// <summary>How far it has been written: an index, or a place of its traversal.</summary>
        public int Place;

        /// <summary>The value that follows a key that was just written.</summary>
        public LuaValue Value;
        public bool HasValue;
    }

    public int Begin(ref LuaCall call)
    {
        Clear();
        _writer.Clear();
        _argument = 0;
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    public override void Visit(MemoryWalk walk)
    {
        for (int i = 0; i < _depth; i++) walk.Visit(_levels[i].Table);
        if (_look.Table is { } table) walk.Visit(table);
    }

    public override void Clear()
    {
        Array.Clear(_levels);
        _depth = 0;
        _look = default;
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round writes a value or closes a table; the depth is bounded, and so is a table's traversal.
        while (true)
        {
            if (++_sinceLook >= ValuesBetweenLooks)
            {
                _sinceLook = 0;
                call.Spend(ValuesBetweenLooks);
                if (call.IsOverBudget) return call.Pause(this);
            }

            if (_look.Table != null)
            {
                Open(ref call);
                _sinceLook = ValuesBetweenLooks;
            }
            else if (_depth > 0)
            {
                WriteNext(ref call, ref _levels[_depth - 1]);
            }
            else if (_argument < call.Count)
            {
                Write(ref call, call[_argument++]);
            }
            else
            {
                break;
            }
        }

        int result = _writer.Return(ref call);
        _writer.Clear();
        return result;
    }

    private void WriteNext(ref LuaCall call, ref Level level)
    {
        if (level.HasValue)
        {
            level.HasValue = false;
            Write(ref call, level.Value);
        }
        else if (level.Last >= 0 && level.Place < level.Last)
        {
            Write(ref call, level.Table.Find(++level.Place));
        }
        else if (level.Last < 0)
        {
            WriteKey(ref call, ref level);
        }
        else
        {
            _levels[--_depth] = default;
        }
    }

    // Or passes places without one, or closes the table.
    private void WriteKey(ref LuaCall call, ref Level level)
    {
        int end = level.Place + TableLook.PlacesAtOnce;
        if (level.Table.TryVisit(ref level.Place, end, out LuaValue key, out level.Value))
        {
            level.HasValue = true;
            Write(ref call, key);
        }
        else if (level.Place < level.Table.Places)
        {
            call.Spend(TableLook.PlacesAtOnce >> 2);
            _sinceLook = ValuesBetweenLooks;
        }
        else
        {
            _levels[--_depth] = default;
        }
    }

    private void Write(ref LuaCall call, in LuaValue value)
    {
        switch (value.Reference)
        {
            case null: WriteNumber(value.Number); break;
            case LuaString text: WriteString(ref call, text); break;
            case LuaTable table when _depth < DepthMax:
                _look = new TableLook(table);
                Open(ref call);
                break;
            case Atom atom when ReferenceEquals(atom, Atom.True): _writer.Add(0xC3); break;
            case Atom atom when ReferenceEquals(atom, Atom.False): _writer.Add(0xC2); break;
            default: _writer.Add(0xC0); break;
        }
    }

    // Once it is known how many keys there are, and of what kind: an array has 1 to n and no others.
    private void Open(ref LuaCall call)
    {
        Debug.Assert(_depth < DepthMax, "what is deeper is nil");
        if (!_look.TryFinish(ref call, untilOther: false)) return;
        bool isArray = !_look.HasOther && _look.Last == _look.Count;
        if (isArray) WriteLength(_look.Count, 0x90, 16, 0xDC);
        else WriteLength(_look.Count, 0x80, 16, 0xDE);
        _levels[_depth++] = new Level { Table = _look.Table!, Last = isArray ? _look.Count : -1 };
        _look = default;
    }

    /// <param name="small">The code for fewer than <paramref name="smallEnd"/>, which holds the number itself.</param>
    /// <param name="code16">The code that 16 bits follow; the next is the one for 32.</param>
    private void WriteLength(int length, byte small, int smallEnd, byte code16)
    {
        Debug.Assert(length >= 0, "elements are counted");
        if (length < smallEnd)
        {
            _writer.Add((byte)(small | length));
            return;
        }

        WriteCode(length <= ushort.MaxValue ? code16 : (byte)(code16 + 1), length <= ushort.MaxValue ? 2 : 4,
            (ulong)length);
    }

    private void WriteString(ref LuaCall call, LuaString text)
    {
        const byte code8 = 0xD9, code16 = 0xDA;
        if (text.Length is >= 32 and <= byte.MaxValue) WriteCode(code8, 1, (ulong)text.Length);
        else WriteLength(text.Length, 0xA0, 32, code16);
        _writer.Add(text, 0, text.Length);
        call.Spend(text.Length >> 8);
    }

    private void WriteNumber(double number)
    {
        // What is beyond becomes the least, which is not the number.
        long whole = Arithmetic.ToInteger(number);
        if (!double.IsInfinity(number) && whole == number)
        {
            WriteInteger(whole);
            return;
        }

        float single = (float)number;
        if (single == number) WriteCode(0xCA, 4, BitConverter.SingleToUInt32Bits(single));
        else WriteCode(0xCB, 8, BitConverter.DoubleToUInt64Bits(number));
    }

    private void WriteInteger(long number)
    {
        if (number is >= -32 and <= 127) _writer.Add((byte)number);
        else if (number >= 0)
        {
            if (number <= byte.MaxValue) WriteCode(0xCC, 1, (ulong)number);
            else if (number <= ushort.MaxValue) WriteCode(0xCD, 2, (ulong)number);
            else if (number <= uint.MaxValue) WriteCode(0xCE, 4, (ulong)number);
            else WriteCode(0xCF, 8, (ulong)number);
        }
        else if (number >= sbyte.MinValue) WriteCode(0xD0, 1, (ulong)number);
        else if (number >= short.MinValue) WriteCode(0xD1, 2, (ulong)number);
        else if (number >= int.MinValue) WriteCode(0xD2, 4, (ulong)number);
        else WriteCode(0xD3, 8, (ulong)number);
    }

    /// <summary>A code, and the lower bytes of a number, the highest first.</summary>
    private void WriteCode(byte code, int size, ulong number)
    {
        Debug.Assert(size is 1 or 2 or 4 or 8, "a number has a size of the format");
        Span<byte> bytes = stackalloc byte[9];
        BinaryPrimitives.WriteUInt64BigEndian(bytes[1..], number);
        bytes[8 - size] = code;
        _writer.Add(bytes[(8 - size)..]);
    }
}
