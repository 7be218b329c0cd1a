using System.Buffers;

namespace Kv.Lua.Libraries.Json;

/// <summary>cjson.encode: values to JSON, also when it is put aside in between.</summary>
/// <remarks>A machine has one. The tables around the value that is written are a list, not a recursion, so depth costs
/// memory only.</remarks>
internal sealed class JsonEncoder(LuaMachine machine) : StandingFunction
{
    private const int FirstLevels = 8, LevelBytes = 24, NumberBytesMax = 32, ValuesBetweenLooks = 64;

    // What is written otherwise: control bytes, quote, backslash, slash, delete.
    private static readonly SearchValues<byte> Escaped = SearchValues.Create(
        [.. Enumerable.Range(0, 32).Select(code => (byte)code), (byte)'"', (byte)'\\', (byte)'/', 127]);

    private readonly ByteWriter _writer = machine.Writer;
    private Level[] _levels = new Level[FirstLevels];
    private int _depth, _sinceLook;
    private JsonSettings _settings = null!;

    // A table that is being written: an array up to an index, or an object.
    private struct Level
    {
        public LuaTable Table;

        /// <summary>Of an array: its last index; 0: it is an object.</summary>
        public int Last;

        /// <summary>How far the table has been written: an index, or a place of its traversal.</summary>
        public int Place;
        public bool HasOne;
    }

    public int Begin(ref LuaCall call, in LuaValue value, JsonSettings settings)
    {
        Clear();
        _writer.Clear();
        _settings = settings;
        Write(ref call, value);
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    public override void Visit(MemoryWalk walk)
    {
        for (int i = 0; i < _depth; i++) walk.Visit(_levels[i].Table);
        walk.Add((long)_levels.Length * LevelBytes);
    }

    public override void Clear()
    {
        if (_depth > 0) _levels = new Level[FirstLevels];
        _depth = 0;
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round writes a value or closes a table; the depth is bounded, and so is a table's traversal.
        while (_depth > 0)
        {
            if (++_sinceLook >= ValuesBetweenLooks)
            {
                _sinceLook = 0;
                call.Spend(ValuesBetweenLooks);
                if (call.IsOverBudget) return call.Pause(this);
            }

            ref Level level = ref _levels[_depth - 1];
            if (level.Last > 0) WriteElement(ref call, ref level);
            else WriteField(ref call, ref level);
        }

        int result = call.Return(call.Text(_writer.Written));
        _writer.Clear();
        return result;
    }

    private void WriteElement(ref LuaCall call, ref Level level)
    {
        if (level.Place == level.Last)
        {
            Close((byte)']');
            return;
        }

        if (level.Place > 0) _writer.Add((byte)',');
        Write(ref call, level.Table.Find(++level.Place));
    }

    private void WriteField(ref LuaCall call, ref Level level)
    {
        if (!level.Table.TryVisit(ref level.Place, out LuaValue key, out LuaValue value))
        {
            Close((byte)'}');
            return;
        }

        if (level.HasOne) _writer.Add((byte)',');
        level.HasOne = true;
        if (key.AsString is { } name)
        {
            WriteString(ref call, name.Span);
        }
        else
        {
            if (!key.IsNumber) throw Refused(ref call, key, "table key must be a number or string");
            _writer.Add((byte)'"');
            WriteNumber(ref call, key.Number);
            _writer.Add((byte)'"');
        }

        _writer.Add((byte)':');
        Write(ref call, value);
    }

    private void Close(byte bracket)
    {
        _writer.Add(bracket);
        _levels[--_depth] = default;
    }

    private void Write(ref LuaCall call, in LuaValue value)
    {
        switch (value.Reference)
        {
            case null: WriteNumber(ref call, value.Number); break;
            case LuaString text: WriteString(ref call, text.Span); break;
            case LuaTable table: Open(ref call, table); break;
            case Atom atom when ReferenceEquals(atom, Atom.True): _writer.Add("true"u8); break;
            case Atom atom when ReferenceEquals(atom, Atom.False): _writer.Add("false"u8); break;
            case Atom: _writer.Add("null"u8); break;
            default: throw Refused(ref call, value, "type not supported");
        }
    }

    private void Open(ref LuaCall call, LuaTable table)
    {
        if (_depth >= _settings.EncodeDepthMax)
            throw call.Failure($"Cannot serialise, excessive nesting ({_depth + 1})");
        if (_depth == _levels.Length)
        {
            call.Charge((long)_depth * LevelBytes);
            Array.Resize(ref _levels, _depth * 2);
        }

        int last = LastIndexOf(ref call, table);
        _levels[_depth++] = new Level { Table = table, Last = last };
        _writer.Add((byte)(last > 0 ? '[' : '{'));
    }

    // The greatest index, when all keys are positive integers and not too few of them are there; else 0.
    private int LastIndexOf(ref LuaCall call, LuaTable table)
    {
        int last = 0, count = 0;
        // Ends: a table has finitely many keys.
        for (int place = 0; table.TryVisit(ref place, out LuaValue key, out _);)
        {
            double index = key.Number;
            if (!key.IsNumber || index < 1 || Math.Floor(index) != index || index > int.MaxValue) return 0;
            last = Math.Max(last, (int)index);
            count++;
        }

        call.Spend(count >> 2);
        if (_settings.SparseRatio == 0 || last <= (long)count * _settings.SparseRatio || last <= _settings.SparseSafe)
            return last;
        return _settings.SparseConvert != JsonSettings.Off ? 0
            : throw Refused(ref call, table, "excessively sparse array");
    }

    private void WriteNumber(ref LuaCall call, double number)
    {
        if (!double.IsFinite(number))
        {
            if (_settings.EncodeInvalidNumbers == JsonSettings.Off)
                throw Refused(ref call, number, "must not be NaN or Inf");
            if (_settings.EncodeInvalidNumbers == JsonSettings.Null)
            {
                _writer.Add("null"u8);
                return;
            }

            _writer.Add(double.IsNaN(number) ? "nan"u8 : number > 0 ? "inf"u8 : "-inf"u8);
            return;
        }

        _writer.Wrote(NumberSyntax.Format(number, _settings.NumberPrecision, _writer.Room(NumberBytesMax)));
    }

    private void WriteString(ref LuaCall call, ReadOnlySpan<byte> text)
    {
        _writer.Add((byte)'"');
        call.Spend(text.Length >> 6);
        // Ends: each round passes a byte at least.
        while (!text.IsEmpty)
        {
            int plain = text.IndexOfAny(Escaped);
            if (plain < 0) plain = text.Length;
            _writer.Add(text[..plain]);
            if (plain == text.Length) break;
            WriteEscape(text[plain]);
            text = text[(plain + 1)..];
        }

        _writer.Add((byte)'"');
    }

    private void WriteEscape(byte code)
    {
        byte letter = code switch
        {
            8 => (byte)'b',
            9 => (byte)'t',
            10 => (byte)'n',
            12 => (byte)'f',
            13 => (byte)'r',
            (byte)'"' or (byte)'\\' or (byte)'/' => code,
            _ => 0,
        };
        _writer.Add((byte)'\\');
        if (letter != 0)
        {
            _writer.Add(letter);
            return;
        }

        _writer.Add("u00"u8);
        _writer.Add("0123456789abcdef"u8[code >> 4]);
        _writer.Add("0123456789abcdef"u8[code & 15]);
    }

    private static LuaException Refused(ref LuaCall call, in LuaValue value, string reason) =>
        call.Failure($"Cannot serialise {value.TypeName}: {reason}");
}
