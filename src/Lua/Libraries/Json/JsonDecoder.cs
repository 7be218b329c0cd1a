using System.Diagnostics;

namespace Kv.Lua.Libraries.Json;

/// <summary>cjson.decode: JSON to values, also when it is put aside in between.</summary>
/// <remarks>A machine has one. Objects and arrays that are open are a list, not a recursion; each is in the one around
/// it from its first byte on.</remarks>
internal sealed class JsonDecoder(LuaMachine machine) : StandingFunction
{
    private const int FirstLevels = 8, LevelBytes = 24, WordsBetweenLooks = 64;

    private readonly JsonLexer _lexer = new(machine.Writer);
    private Level[] _levels = new Level[FirstLevels];
    private int _depth, _depthMax, _sinceLook;
    private LuaValue _result = LuaValue.Nil;
    private Want _want;

    // What comes next.
    private enum Want
    {
        Value,
        FirstElement,
        FirstKey,
        Key,
        Colon,
        AfterValue,
        End,
    }

    // An object or array that is open.
    private struct Level
    {
        public LuaTable Table;

        /// <summary>Of an object: the key whose value comes; null: it is an array.</summary>
        public LuaString? Key;

        /// <summary>Of an array: how many values it has.</summary>
        public int Count;
    }

    public int Begin(ref LuaCall call, LuaString text, JsonSettings settings)
    {
        Clear();
        if (text.Length >= 2 && (text.Span[0] == 0 || text.Span[1] == 0))
            throw call.Failure("JSON parser does not support UTF-16 or UTF-32");
        _lexer.Begin(text, settings.DecodeInvalidNumbers != JsonSettings.Off);
        (_depthMax, _want) = (settings.DecodeDepthMax, Want.Value);
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    public override void Visit(MemoryWalk walk)
    {
        _lexer.Visit(walk);
        walk.Visit(_result);
        for (int i = 0; i < _depth; i++)
            if (_levels[i].Key is { } key) walk.Visit(key);
        walk.Add((long)_levels.Length * LevelBytes);
    }

    public override void Clear()
    {
        if (_depth > 0) _levels = new Level[FirstLevels];
        _depth = 0;
        _result = LuaValue.Nil;
        _lexer.End();
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round passes a word of the text, or some of a long one.
        while (true)
        {
            if (++_sinceLook >= WordsBetweenLooks)
            {
                _sinceLook = 0;
                call.Spend(WordsBetweenLooks);
                if (call.IsOverBudget) return call.Pause(this);
            }

            JsonToken token = _lexer.Next(ref call);
            if (token == JsonToken.Unfinished) return call.Pause(this);
            switch (_want)
            {
                case Want.FirstElement when token == JsonToken.ArrayEnd:
                case Want.FirstKey when token == JsonToken.ObjectEnd:
                    Close();
                    break;
                case Want.Value or Want.FirstElement:
                    Take(ref call, token);
                    break;
                case Want.FirstKey or Want.Key:
                    TakeKey(ref call, token);
                    break;
                case Want.Colon:
                    if (token != JsonToken.Colon) throw Expected(ref call, "colon", token);
                    _want = Want.Value;
                    break;
                case Want.AfterValue:
                    AfterValue(ref call, token);
                    break;
                default:
                    if (token != JsonToken.End) throw Expected(ref call, "the end", token);
                    return Finish(ref call);
            }
        }
    }

    private int Finish(ref LuaCall call)
    {
        Debug.Assert(_depth == 0, "all that was begun has ended");
        int result = call.Return(_result);
        Clear();
        return result;
    }

    private void Take(ref LuaCall call, JsonToken token)
    {
        switch (token)
        {
            case JsonToken.String: Put(_lexer.Text); break;
            case JsonToken.Number: Put(_lexer.Number); break;
            case JsonToken.Boolean: Put(_lexer.Number != 0); break;
            case JsonToken.Null: Put(LuaValue.Null); break;
            case JsonToken.ArrayBegin: Open(ref call, Want.FirstElement); break;
            case JsonToken.ObjectBegin: Open(ref call, Want.FirstKey); break;
            default: throw Expected(ref call, "value", token);
        }
    }

    private void Put(in LuaValue value)
    {
        _want = _depth == 0 ? Want.End : Want.AfterValue;
        if (_depth == 0)
        {
            _result = value;
            return;
        }

        ref Level level = ref _levels[_depth - 1];
        if (level.Key is { } key) level.Table.Set(key, value);
        else level.Table.Set(++level.Count, value);
    }

    private void Open(ref LuaCall call, Want want)
    {
        if (_depth >= _depthMax)
            throw call.Failure($"Found too many nested data structures ({_depth + 1}) at character {_lexer.At}");
        LuaTable table = call.Machine.NewTable();
        Put(table);
        if (_depth == _levels.Length)
        {
            call.Charge((long)_depth * LevelBytes);
            Array.Resize(ref _levels, _depth * 2);
        }

        _levels[_depth++] = new Level { Table = table };
        _want = want;
    }

    private void Close()
    {
        Debug.Assert(_depth > 0, "what ends has begun");
        _levels[--_depth] = default;
        _want = _depth == 0 ? Want.End : Want.AfterValue;
    }

    private void TakeKey(ref LuaCall call, JsonToken token)
    {
        Debug.Assert(_depth > 0, "a key is an object's");
        if (token != JsonToken.String) throw Expected(ref call, "object key string", token);
        _levels[_depth - 1].Key = _lexer.Text;
        _want = Want.Colon;
    }

    private void AfterValue(ref LuaCall call, JsonToken token)
    {
        Debug.Assert(_depth > 0, "a comma is in an array, or an object");
        bool isObject = _levels[_depth - 1].Key is not null;
        if (token == (isObject ? JsonToken.ObjectEnd : JsonToken.ArrayEnd)) Close();
        else if (token == JsonToken.Comma) _want = isObject ? Want.Key : Want.Value;
        else throw Expected(ref call, isObject ? "comma or object end" : "comma or array end", token);
    }

    private LuaException Expected(ref LuaCall call, string expected, JsonToken found)
    {
        string shown = found switch
        {
            JsonToken.ObjectBegin => "T_OBJ_BEGIN",
            JsonToken.ObjectEnd => "T_OBJ_END",
            JsonToken.ArrayBegin => "T_ARR_BEGIN",
            JsonToken.ArrayEnd => "T_ARR_END",
            JsonToken.String => "T_STRING",
            JsonToken.Number => "T_NUMBER",
            JsonToken.Boolean => "T_BOOLEAN",
            JsonToken.Null => "T_NULL",
            JsonToken.Colon => "T_COLON",
            JsonToken.Comma => "T_COMMA",
            JsonToken.End => "T_END",
            _ => _lexer.Error,
        };
        return call.Failure($"Expected {expected} but found {shown} at character {_lexer.Start + 1}");
    }
}
