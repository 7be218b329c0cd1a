using System.Buffers;
using System.Diagnostics;

namespace Kv.Lua.Libraries.Json;

/// <summary>cjson.encode: values to JSON, also when it is put aside in between.</summary>
/// <remarks>A machine has one. The tables around the value that is written are a list, not a recursion, so depth costs
/// memory only.</remarks>
internal sealed class JsonEncoder(LuaMachine machine) : StandingFunction
{
    private const int FirstLevels = 8, LevelBytes = 48, NumberBytesMax = 32, ValuesBetweenLooks = 64;

    // Of a string that is written without an account of its bytes.
    private const int ShortBytes = 64;

    // What is written otherwise: control bytes, quote, backslash, slash, delete.
    private static readonly SearchValues<byte> Escaped = SearchValues.Create(
        [.. Enumerable.Range(0, 32).Select(code => (byte)code), (byte)'"', (byte)'\\', (byte)'/', 127]);

    private readonly TextParts _writer = machine.Writer;
    private Level[] _levels = new Level[FirstLevels];
    private int _depth, _sinceLook;
    private JsonSettings _settings = null!;
    private TableLook _look;        // at a table that is about to be written
    private LuaString? _text;       // the string that is written, up to a place
    private int _textAt;

    // A table that is being written: an array up to an index, or an object.
    private struct Level
    {
        public LuaTable Table;

        /// <summary>Of an array: its last index; 0: it is an object.</summary>
        public int Last;

        /// <summary>How far the table has been written: an index, or a place of its traversal.</summary>
        public int Place;
        public bool HasOne;

        /// <summary>The value that follows a key that was just written.</summary>
        public LuaValue Value;
        public bool HasValue;
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
        if (_look.Table is { } table) walk.Visit(table);
        if (_text is { } text) walk.Visit(text);
        walk.Add((long)_levels.Length * LevelBytes);
    }

    public override void Clear()
    {
        if (_depth > 0) _levels = new Level[FirstLevels];
        _depth = 0;
        _look = default;
        _text = null;
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round writes a value or a piece of one, or closes a table; the depth is bounded, and so is a
        // table's traversal.
        while (_depth > 0 || _look.Table != null || _text != null)
        {
            if (++_sinceLook >= ValuesBetweenLooks)
            {
                _sinceLook = 0;
                call.Spend(ValuesBetweenLooks);
                if (call.IsOverBudget) return call.Pause(this);
            }

            if (_look.Table != null || _text != null)
            {
                if (_text != null) WriteText(ref call);
                else Open(ref call);
                _sinceLook = ValuesBetweenLooks;
                continue;
            }

            ref Level level = ref _levels[_depth - 1];
            if (level.HasValue) WriteValue(ref call, ref level, level.Value);
            else if (level.Last > 0) WriteElement(ref call, ref level);
            else WriteField(ref call, ref level);
        }

        Debug.Assert(_depth == 0 && _look.Table == null && _text == null, "all that was begun has ended");
        int result = _writer.Return(ref call);
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

        Debug.Assert(level.Place < level.Last, "each element is written once");
        if (level.Place > 0) _writer.Add((byte)',');
        Write(ref call, level.Table.Find(++level.Place));
    }

    private void WriteField(ref LuaCall call, ref Level level)
    {
        int end = level.Place + TableLook.PlacesAtOnce;
        if (!level.Table.TryVisit(ref level.Place, end, out LuaValue key, out LuaValue value))
        {
            if (level.Place >= level.Table.Places)
            {
                Close((byte)'}');
                return;
            }

            // Places without a value.
            call.Spend(TableLook.PlacesAtOnce >> 2);
            _sinceLook = ValuesBetweenLooks;
            return;
        }

        if (level.HasOne) _writer.Add((byte)',');
        level.HasOne = true;
        if (key.AsString is { } name)
        {
            WriteString(ref call, name);
            if (_text != null)
            {
                (level.Value, level.HasValue) = (value, true);
                return;
            }
        }
        else
        {
            if (!key.IsNumber) throw Refused(ref call, key, "table key must be a number or string");
            _writer.Add((byte)'"');
            WriteNumber(ref call, key.Number);
            _writer.Add((byte)'"');
        }

        WriteValue(ref call, ref level, value);
    }

    private void WriteValue(ref LuaCall call, ref Level level, LuaValue value)
    {
        (level.Value, level.HasValue) = (LuaValue.Nil, false);
        _writer.Add((byte)':');
        Write(ref call, value);
    }

    private void Close(byte bracket)
    {
        Debug.Assert(_depth > 0, "what ends has begun");
        _writer.Add(bracket);
        _levels[--_depth] = default;
    }

    private void Write(ref LuaCall call, in LuaValue value)
    {
        switch (value.Reference)
        {
            case null: WriteNumber(ref call, value.Number); break;
            case LuaString text: WriteString(ref call, text); break;
            case LuaTable table: BeginTable(ref call, table); break;
            case Atom atom when ReferenceEquals(atom, Atom.True): _writer.Add("true"u8); break;
            case Atom atom when ReferenceEquals(atom, Atom.False): _writer.Add("false"u8); break;
            case Atom: _writer.Add("null"u8); break;
            default: throw Refused(ref call, value, "type not supported");
        }
    }

    private void BeginTable(ref LuaCall call, LuaTable table)
    {
        if (_depth >= _settings.EncodeDepthMax)
            throw call.Failure($"Cannot serialise, excessive nesting ({_depth + 1})");
        if (_depth == _levels.Length)
        {
            call.Charge((long)_depth * LevelBytes);
            Array.Resize(ref _levels, _depth * 2);
        }

        _look = new TableLook(table);
        Open(ref call);
    }

    // Once it is known whether it is an array.
    private void Open(ref LuaCall call)
    {
        if (!_look.TryFinish(ref call, untilOther: true)) return;
        int last = LastIndex(ref call);
        _levels[_depth++] = new Level { Table = _look.Table!, Last = last };
        _writer.Add((byte)(last > 0 ? '[' : '{'));
        _look = default;
    }

    // The greatest index, when all keys are positive integers and not too few of them are there; else 0.
    private int LastIndex(ref LuaCall call)
    {
        if (_look.HasOther) return 0;
        int last = _look.Last;
        if (_settings.SparseRatio == 0 || last <= (long)_look.Count * _settings.SparseRatio
            || last <= _settings.SparseSafe)
            return last;
        return _settings.SparseConvert != JsonSettings.Off ? 0
            : throw Refused(ref call, _look.Table!, "excessively sparse array");
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

    // Of a long one the beginning: Run goes on.
    private void WriteString(ref LuaCall call, LuaString text)
    {
        _writer.Add((byte)'"');
        var bytes = text.Span;
        // Most strings are short, and have nothing that is written otherwise.
        if (bytes.Length > ShortBytes || bytes.ContainsAny(Escaped))
        {
            (_text, _textAt) = (text, 0);
            WriteText(ref call);
            return;
        }

        _writer.Add(bytes);
        _writer.Add((byte)'"');
    }

    private void WriteText(ref LuaCall call)
    {
        LuaString text = _text!;
        Debug.Assert(_textAt <= text.Length, "the text is written once");
        int begin = _textAt, end = Math.Min(text.Length, begin + TextInPieces.PieceBytes), escapes = 0;
        // Ends: each round passes a byte at least.
        while (_textAt < end && escapes < JsonLexer.EscapesAtOnce)
        {
            int plain = text.Span[_textAt..end].IndexOfAny(Escaped);
            if (plain < 0) plain = end - _textAt;
            _writer.Add(text, _textAt, plain);
            _textAt += plain;
            if (_textAt == end) break;
            WriteEscape(text.Span[_textAt++]);
            escapes++;
        }

        call.Spend(((_textAt - begin) >> 6) + (escapes * JsonLexer.EscapeUnits));
        if (_textAt < text.Length) return;
        _writer.Add((byte)'"');
        _text = null;
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
