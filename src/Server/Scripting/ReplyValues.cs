using System.Diagnostics;
using Kv.Lua;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Scripting;

/// <summary>Makes values of Lua out of a command's reply.</summary>
/// <remarks>The reply is the server's own, so it is whole and well formed. Blocks that it refers to are copied and
/// released.</remarks>
internal ref struct ReplyValues
{
    private static readonly LuaString OkText = LuaString.Name("OK"), QueuedText = LuaString.Name("QUEUED");

    private readonly LuaMachine _machine;
    private readonly SessionOutput _output;
    private readonly Store _store;
    private readonly ReadOnlySpan<byte> _reply;
    private int _at;

    private ReplyValues(LuaMachine machine, SessionOutput output, Store store)
    {
        _machine = machine;
        _output = output;
        _store = store;
        _reply = output.Buffer.Span;
    }

    /// <summary>Takes the one reply that the output has; nothing is left there.</summary>
    /// <param name="error">The text of an error, which is no value; null for anything else.</param>
    public static LuaValue Take(LuaMachine machine, SessionOutput output, Store store, out LuaString? error)
    {
        error = null;
        try
        {
            var reader = new ReplyValues(machine, output, store);
            if (reader._reply[0] is RespType.Error) error = new LuaString(reader.Line());
            if (error != null) return LuaValue.Nil;
            var value = reader.Read();
            Debug.Assert(reader._at == reader._reply.Length, "a command has one reply, and all of it was read");
            return value;
        }
        finally
        {
            output.DropReferences(int.MaxValue);
            output.Buffer.Clear();
        }
    }

    private LuaValue Read()
    {
        byte type = _reply[_at];
        switch (type)
        {
            case RespType.Integer:
                return (double)Number();
            case RespType.Bulk:
                return Bulk();
            case RespType.SimpleString:
                return Field(ReplyFields.Ok, Status(Line()));
            case RespType.Error or RespType.BulkError:
                return Field(ReplyFields.Err, NewText(Line()));
            case RespType.Null:
                Line();
                return LuaValue.Nil;
            case RespType.Boolean:
                return Line()[0] == 't';
            case RespType.Double:
                return Field(ReplyFields.Double, NumberOf(Line()));
            case RespType.BigNumber:
                return Field(ReplyFields.BigNumber, NewText(Line()));
            case RespType.Verbatim:
                return VerbatimText();
            case RespType.Map:
                return Pairs((int)Number());
            case RespType.Set:
                return Members((int)Number());
            default:
                return Elements((int)Number());
        }
    }

    private LuaValue Bulk()
    {
        long length = Number();
        if (length < 0) return false;
        if (_output.HasReference(_at + 1) && _output.TryTakeReference(_at + 1, out var reference))
        {
            // It is sent from its block: the buffer has the line's end only.
            var text = NewText(reference.Block.Span.Slice(reference.First, reference.Length));
            _store.Release(reference.Block);
            _at += 2;
            return text;
        }

        var bytes = _reply.Slice(_at, (int)length);
        _at += (int)length + 2;
        return NewText(bytes);
    }

    private LuaValue VerbatimText()
    {
        int length = (int)Number();
        var bytes = _reply.Slice(_at, length);
        _at += length + 2;
        var inner = _machine.NewTable(0, 2);
        inner[ReplyFields.Text] = NewText(bytes[4..]);
        inner[ReplyFields.Format] = NewText(bytes[..3]);
        return Field(ReplyFields.Verbatim, inner);
    }

    private LuaValue Elements(int count)
    {
        if (count < 0) return false;
        var table = _machine.NewReplyTable(count, 0);
        for (int i = 1; i <= count; i++) table[i] = Read();
        return table;
    }

    private LuaValue Pairs(int count)
    {
        Debug.Assert(count >= 0, "a map that is missing is null");
        var table = _machine.NewTable(0, count);
        for (int i = 0; i < count; i++)
        {
            var key = Read();
            table[key] = Read();
        }

        return Field(ReplyFields.Map, table);
    }

    private LuaValue Members(int count)
    {
        Debug.Assert(count >= 0, "a set that is missing is null");
        var table = _machine.NewTable(0, count);
        for (int i = 0; i < count; i++) table[Read()] = true;
        return Field(ReplyFields.Set, table);
    }

    private readonly LuaValue Field(LuaString name, LuaValue value)
    {
        var table = _machine.NewReplyTable(0, 1);
        table[name] = value;
        return table;
    }

    private readonly LuaString Status(ReadOnlySpan<byte> text) =>
        text.SequenceEqual("OK"u8) ? OkText : text.SequenceEqual("QUEUED"u8) ? QueuedText : NewText(text);

    private readonly LuaString NewText(ReadOnlySpan<byte> bytes) => _machine.NewString(bytes);

    private long Number()
    {
        bool isNumber = NumberText.TryParseInt64(Line(), out long value);
        Debug.Assert(isNumber, "the server writes whole numbers");
        return value;
    }

    private static double NumberOf(ReadOnlySpan<byte> text)
    {
        if (text.SequenceEqual("inf"u8)) return double.PositiveInfinity;
        if (text.SequenceEqual("-inf"u8)) return double.NegativeInfinity;
        return System.Buffers.Text.Utf8Parser.TryParse(text, out double value, out _) ? value : double.NaN;
    }

    // Without its type and its end.
    private ReadOnlySpan<byte> Line()
    {
        int end = _reply[_at..].IndexOf((byte)'\r');
        Debug.Assert(end > 0, "a frame has a type and an end");
        var line = _reply.Slice(_at + 1, end - 1);
        _at += end + 2;
        return line;
    }
}
