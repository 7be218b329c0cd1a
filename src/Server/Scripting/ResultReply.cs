using System.Buffers;
using System.Diagnostics;
using Kv.Lua;
using Kv.Protocol;

namespace Kv.Server.Scripting;

/// <summary>Writes what a script returned as a reply.</summary>
/// <param name="reply">In the client's version.</param>
/// <param name="version">The one that the script has chosen.</param>
internal readonly ref struct ResultReply(ReplyWriter reply, RespVersion version)
{
    /// <summary>Tables within each other.</summary>
    private const int DepthMax = 128;

    private static readonly SearchValues<byte> LineEnds = SearchValues.Create("\r\n"u8);

    /// <summary>Writes a value.</summary>
    public void Write(in LuaValue value) => Write(value, 0);

    /// <summary>One line, whatever a script put into it.</summary>
    public static byte[] OneLine(ReadOnlySpan<byte> text)
    {
        byte[] line = text.ToArray();
        // Ends: each round takes one out.
        for (int at; (at = line.AsSpan().IndexOfAny(LineEnds)) >= 0;) line[at] = (byte)' ';
        return line;
    }

    /// <summary>As the reference's machine cuts a number: to 64 bits, towards 0; what has no place there is the
    /// lowest.</summary>
    public static long ToInteger(double number) =>
        number is >= -9223372036854775808.0 and < 9223372036854775808.0 ? (long)number : long.MinValue;

    private void Write(in LuaValue value, int depth)
    {
        switch (value.Type)
        {
            case LuaType.Number:
                reply.WriteInteger(ToInteger(value.AsNumber));
                break;
            case LuaType.String:
                reply.WriteBulk(value.AsString!.Span);
                break;
            case LuaType.Boolean when version == RespVersion.Resp3:
                reply.WriteBoolean(value.IsTrue);
                break;
            case LuaType.Boolean when value.IsTrue:
                reply.WriteInteger(1);
                break;
            case LuaType.Table when depth > DepthMax:
                reply.WriteError("ERR reached lua stack limit"u8);
                break;
            case LuaType.Table:
                WriteTable(value.AsTable!, depth);
                break;
            default:
                reply.WriteNull();
                break;
        }
    }

    private void WriteTable(LuaTable table, int depth)
    {
        Debug.Assert(depth <= DepthMax, "tables nest so deep");
        if (table[ReplyFields.Err].AsString is { } error) reply.WriteError(OneLine(error.Span));
        else if (table[ReplyFields.Ok].AsString is { } ok) WriteStatus(ok.Span);
        else if (table[ReplyFields.Double] is { IsNumber: true } number) reply.WriteDouble(number.AsNumber);
        else if (table[ReplyFields.Map].AsTable is { } map) WritePairs(map, depth);
        else if (table[ReplyFields.Set].AsTable is { } set) WriteMembers(set, depth);
        else if (table[ReplyFields.BigNumber].AsString is { } big) reply.WriteBigNumber(OneLine(big.Span));
        else if (table[ReplyFields.Verbatim].AsTable is { } verbatim && verbatim[ReplyFields.Text].AsString is { } text
            && verbatim[ReplyFields.Format].AsString is { } format)
            reply.WriteVerbatim(FormatOf(format.Span), text.Span);
        else WriteElements(table, depth);
    }

    private void WriteStatus(ReadOnlySpan<byte> text) =>
        reply.WriteSimple(text.ContainsAny(LineEnds) ? OneLine(text) : text);

    /// <summary>Three letters and a colon: as in the reference cut, or filled with blanks.</summary>
    private static byte[] FormatOf(ReadOnlySpan<byte> name)
    {
        byte[] format = [.. "   :"u8];
        int end = name.IndexOf((byte)0);
        name[..Math.Min(end < 0 ? name.Length : end, 3)].CopyTo(format);
        return format;
    }

    private void WriteElements(LuaTable table, int depth)
    {
        int count = 0;
        while (!table[count + 1].IsNil) count++;
        reply.WriteArray(count);
        for (int i = 1; i <= count; i++) Write(table[i], depth + 1);
    }

    private void WritePairs(LuaTable table, int depth)
    {
        int count = 0;
        for (int place = 0; table.TryVisit(ref place, out _, out _);) count++;
        reply.WriteMap(count);
        for (int place = 0; table.TryVisit(ref place, out var key, out var value);)
        {
            Write(key, depth + 1);
            Write(value, depth + 1);
        }
    }

    private void WriteMembers(LuaTable table, int depth)
    {
        int count = 0;
        for (int place = 0; table.TryVisit(ref place, out _, out _);) count++;
        reply.WriteSet(count);
        for (int place = 0; table.TryVisit(ref place, out var member, out _);) Write(member, depth + 1);
    }
}
