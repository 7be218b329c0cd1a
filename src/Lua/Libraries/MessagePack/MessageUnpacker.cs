using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Lua.Libraries.MessagePack;

/// <summary>cmsgpack.unpack, unpack_one and unpack_limit: MessagePack to values, also when it is put aside in
/// between.</summary>
/// <remarks>A machine has one. Arrays and maps that are open are a list, not a recursion; how many there may be is what
/// the reference's stack has room for.</remarks>
internal sealed class MessageUnpacker : StandingFunction
{
    // What a C function of the reference may push. An array or map that is open takes two places: itself, and the index
    // or key.
    private const int StackMax = 8000, ArrayPlaces = 2, MapPlaces = 3, LevelPlaces = 2;
    private const int FirstLevels = 8, LevelBytes = 48, ValuesBetweenLooks = 64;

    private Level[] _levels = new Level[FirstLevels];
    private LuaString _text = LuaString.Empty;
    private int _at, _limit, _depth, _sinceLook, _count, _arguments;
    private bool _isWhole;
    private TextInPieces? _making;      // a long string
    private readonly List<LuaValue> _results = [];

    // An array or map that is open.
    private struct Level
    {
        public LuaTable Table;
        public LuaValue Key;

        /// <summary>Values that are still to come; of a map, keys and values that are.</summary>
        public long Rest;

        /// <summary>Of an array: how many it has.</summary>
        public int Count;
        public bool IsMap, HasKey;
    }

    /// <param name="limit">How many values to read; 0 from the beginning: all, and the result has no offset.</param>
    public int Begin(ref LuaCall call, int limit, int offset)
    {
        Clear();
        _text = call.TextAt(0);
        if (offset < 0 || limit < 0)
            throw call.Failure($"Invalid request to unpack with offset of {offset} and limit of {_text.Length}.");
        if (offset > _text.Length)
            throw call.Failure($"Start offset {offset} greater than input length {_text.Length}.");
        _isWhole = limit == 0 && offset == 0;
        (_limit, _at) = (_isWhole ? int.MaxValue : limit, offset);
        _arguments = _isWhole ? call.Count : 1;
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(_text);
        foreach (LuaValue value in _results) walk.Visit(value);
        for (int i = 0; i < _depth; i++)
        {
            walk.Visit(_levels[i].Table);
            if (_levels[i].HasKey) walk.Visit(_levels[i].Key);
        }

        _making?.Visit(walk);
        walk.Add((long)_levels.Length * LevelBytes);
    }

    public override void Clear()
    {
        if (_depth > 0) _levels = new Level[FirstLevels];
        _depth = _count = 0;
        _text = LuaString.Empty;
        _making = null;
        _results.Clear();
    }

    private int Run(ref LuaCall call)
    {
        // Ends: each round reads a byte of the text at least, makes a piece of a string, or closes an array or map.
        while (_making != null || _depth > 0 || (_at < _text.Length && _count < _limit))
        {
            if (++_sinceLook >= ValuesBetweenLooks)
            {
                _sinceLook = 0;
                call.Spend(ValuesBetweenLooks);
                if (call.IsOverBudget) return call.Pause(this);
            }

            if (_making != null)
            {
                if (!_making.TryMake(ref call, out var text)) return call.Pause(this);
                _making = null;
                Put(ref call, text);
            }
            else if (_depth > 0 && _levels[_depth - 1].Rest == 0) Close();
            else Read(ref call);
        }

        return Finish(ref call);
    }

    private int Finish(ref LuaCall call)
    {
        Debug.Assert(_depth == 0 && _at <= _text.Length, "all that was begun has ended");
        int before = _isWhole ? 0 : 1;
        Span<LuaValue> results = call.Results(_results.Count + before);
        if (!_isWhole) results[0] = _at == _text.Length ? -1 : _at;
        System.Runtime.InteropServices.CollectionsMarshal.AsSpan(_results).CopyTo(results[before..]);
        Clear();
        return results.Length;
    }

    private void Read(ref LuaCall call)
    {
        if (_depth == 0)
            Reserve(ref call, 1, "too many return values at once; use unpack_one or unpack_limit instead.");
        byte code = Take(ref call, 1)[0];
        switch (code)
        {
            case <= 0x7F: Put(ref call, code); break;
            case <= 0x8F: OpenMap(ref call, code & 15); break;
            case <= 0x9F: OpenArray(ref call, code & 15); break;
            case <= 0xBF: PutString(ref call, code & 31); break;
            case 0xC0: Put(ref call, LuaValue.Nil); break;
            case 0xC2: Put(ref call, LuaValue.False); break;
            case 0xC3: Put(ref call, LuaValue.True); break;
            case 0xCA: Put(ref call, BinaryPrimitives.ReadSingleBigEndian(Take(ref call, 4))); break;
            case 0xCB: Put(ref call, BinaryPrimitives.ReadDoubleBigEndian(Take(ref call, 8))); break;
            case >= 0xCC and <= 0xCE: Put(ref call, Unsigned(ref call, 1 << (code - 0xCC))); break;
            // The reference takes the largest for negative.
            case 0xCF: Put(ref call, (long)Unsigned(ref call, 8)); break;
            case >= 0xD0 and <= 0xD3: Put(ref call, Signed(ref call, 1 << (code - 0xD0))); break;
            case >= 0xD9 and <= 0xDB: PutString(ref call, Unsigned(ref call, 1 << (code - 0xD9))); break;
            case 0xDC or 0xDD: OpenArray(ref call, Unsigned(ref call, 2 << (code - 0xDC))); break;
            case 0xDE or 0xDF: OpenMap(ref call, Unsigned(ref call, 2 << (code - 0xDE))); break;
            case >= 0xE0: Put(ref call, (sbyte)code); break;
            default: throw call.Failure("Bad data format in input.");
        }
    }

    private ReadOnlySpan<byte> Take(ref LuaCall call, long count)
    {
        Debug.Assert(count >= 0 && _at <= _text.Length, "each byte is read once");
        if (_text.Length - _at < count) throw call.Failure("Missing bytes in input.");
        var taken = _text.Span.Slice(_at, (int)count);
        _at += (int)count;
        return taken;
    }

    private ulong Unsigned(ref LuaCall call, int size)
    {
        ulong number = 0;
        foreach (byte next in Take(ref call, size)) number = (number << 8) | next;
        return number;
    }

    private long Signed(ref LuaCall call, int size)
    {
        int unused = 64 - (size * 8);
        return (long)(Unsigned(ref call, size) << unused) >> unused;
    }

    private void PutString(ref LuaCall call, double length)
    {
        var bytes = Take(ref call, (long)length);
        if (bytes.Length > TextInPieces.PieceBytes)
        {
            _making = new PartOfText(TextInPieces.Room(ref call, bytes.Length), _text, _at - bytes.Length);
            return;
        }

        call.Spend(bytes.Length >> 8);
        Put(ref call, call.Text(bytes));
    }

    private void OpenArray(ref LuaCall call, double count)
    {
        Reserve(ref call, ArrayPlaces, "in function mp_decode_to_lua_array");
        Open(ref call, new Level { Rest = (long)count });
    }

    private void OpenMap(ref LuaCall call, double count)
    {
        Reserve(ref call, MapPlaces, "in function mp_decode_to_lua_hash");
        Open(ref call, new Level { Rest = 2 * (long)count, IsMap = true });
    }

    private void Open(ref LuaCall call, Level level)
    {
        level.Table = call.Machine.NewTable();
        level.Key = LuaValue.Nil;
        if (_depth == _levels.Length)
        {
            call.Charge((long)_depth * LevelBytes);
            Array.Resize(ref _levels, _depth * 2);
        }

        // It goes into the one around it when it is whole: only then may it be a key.
        _levels[_depth++] = level;
    }

    private void Close()
    {
        Debug.Assert(_depth > 0 && _levels[_depth - 1] is { Rest: 0, HasKey: false }, "an array or map is whole");
        LuaTable made = _levels[--_depth].Table;
        _levels[_depth] = default;
        Deliver(made);
    }

    private void Put(ref LuaCall call, in LuaValue value)
    {
        if (_depth == 0) call.Charge(16);
        Deliver(value);
    }

    private void Deliver(in LuaValue value)
    {
        if (_depth == 0)
        {
            _count++;
            _results.Add(value);
            return;
        }

        ref Level level = ref _levels[_depth - 1];
        Debug.Assert(level.Rest > 0, "no more are read than were announced");
        level.Rest--;
        if (!level.IsMap)
        {
            level.Table.Set(++level.Count, value);
        }
        else if (!level.HasKey)
        {
            (level.Key, level.HasKey) = (value, true);
        }
        else
        {
            level.HasKey = false;
            Events.SetRaw(level.Table, level.Key, value);
        }
    }

    private void Reserve(ref LuaCall call, int places, string what)
    {
        int used = _arguments + _results.Count + (_depth * LevelPlaces);
        if (used + places > StackMax) throw call.Failure($"stack overflow ({what})");
    }
}
