using System.Globalization;
using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

/// <summary>Random replies through the writer, and what the reader must show of them.</summary>
internal static class RandomReply
{
    public static string Write(ReplyWriter writer, Random random, int depth = 0)
    {
        bool resp3 = writer.Version == RespVersion.Resp3;
        int count = random.Next(0, 5);
        switch (random.Next(depth < 4 ? 16 : 11))
        {
            case 0: writer.WriteOk(); return "+OK";
            case 1: writer.WriteSimple("a\rb"u8); return "+a b";
            case 2: writer.WriteError("ERR x"u8); return "-ERR x";
            case 3: writer.WriteNull(); return "nil";
            case 4: writer.WriteNullArray(); return "nil";
            case 5: writer.WriteBoolean(true); return resp3 ? "#t" : ":1";
            case 6: writer.WriteDouble(count / 4.0);
            return (resp3 ? "," : "$") + (count / 4.0).ToString(CultureInfo.InvariantCulture);
            case 7:
                long number = random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
                writer.WriteInteger(number);
                return $":{number}";
            case 8: writer.WriteBulkInteger(count - 2); return $"${count - 2}";
            case 9: writer.WriteVerbatim("v"u8); return resp3 ? "=v" : "$v";
            case 10:
                byte[] bytes = new byte[random.Next(8) == 0 ? random.Next(2000) : random.Next(30)];
                random.NextBytes(bytes);
                if (random.Next(2) == 0) writer.WriteBulk(bytes);
                else bytes.CopyTo(writer.BeginBulk(bytes.Length));
                return "$" + Encoding.Latin1.GetString(bytes);
            case 11: writer.WriteArray(count); return Elements('*', writer, random, depth, count);
            case 12: writer.WriteSet(count); return Elements(resp3 ? '~' : '*', writer, random, depth, count);
            case 13: writer.WriteMap(count); return Elements(resp3 ? '%' : '*', writer, random, depth, 2 * count);
            case 14:
                ReplyMark mark = writer.BeginArray();
                string shown = Elements('*', writer, random, depth, count);
                writer.EndArray(mark, count);
                return shown;
            default:
                ReplyMark map = writer.BeginArray();
                string pairs = Elements(resp3 ? '%' : '*', writer, random, depth, 2 * count);
                writer.EndMap(map, count);
                return pairs;
        }
    }

    public static string Shown(RespValue value)
    {
        if (value.IsNull) return "nil";
        return value.Type is RespType.Array or RespType.Set or RespType.Map or RespType.Push
            ? $"{(char)value.Type}[{string.Concat(value.Elements.Select(element => Shown(element) + ","))}]"
            : (char)value.Type + value.Text;
    }

    private static string Elements(char type, ReplyWriter writer, Random random, int depth, int count)
    {
        var shown = new StringBuilder().Append(type).Append('[');
        for (; count > 0; count--) shown.Append(Write(writer, random, depth + 1)).Append(',');
        return shown.Append(']').ToString();
    }
}
