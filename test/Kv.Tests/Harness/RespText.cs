using System.Globalization;
using System.Text;

namespace Kv.Tests.Harness;

/// <summary>How tests write command lines and bytes: redis-cli's quoting, plus "x"*1000 for repetition.</summary>
public static class RespText
{
    /// <summary>Splits a line as redis-cli does. <c>"ab"*3</c> is the one word <c>ababab</c>.</summary>
    public static byte[][] Split(string line)
    {
        var words = new List<byte[]>();
        int at = 0;
        while (true)
        {
            while (at < line.Length && line[at] == ' ') at++;
            if (at == line.Length) return [.. words];
            words.Add(line[at] == '"' || line[at] == '\'' ? QuotedWord(line, ref at) : BareWord(line, ref at));
        }
    }

    /// <summary>Reads a quoted text that begins at <paramref name="at"/>, and moves behind it.</summary>
    public static byte[] Unquote(string line, ref int at)
    {
        char quote = line[at++];
        var bytes = new List<byte>();
        while (true)
        {
            if (at == line.Length) throw new FormatException($"no closing {quote} in: {line}");
            char c = line[at++];
            if (c == quote) return [.. bytes];
            if (c == '\\' && quote == '"') bytes.Add(Escaped(line, ref at));
            else if (c == '\\' && at < line.Length && line[at] == '\'') bytes.Add((byte)line[at++]);
            else bytes.AddRange(Encoding.UTF8.GetBytes(c.ToString()));
        }
    }

    public static void Quote(StringBuilder text, ReadOnlySpan<byte> bytes)
    {
        text.Append('"');
        foreach (byte b in bytes)
        {
            switch (b)
            {
                case (byte)'"' or (byte)'\\': text.Append('\\').Append((char)b); break;
                case (byte)'\n': text.Append("\\n"); break;
                case (byte)'\r': text.Append("\\r"); break;
                case (byte)'\t': text.Append("\\t"); break;
                case 7: text.Append("\\a"); break;
                case 8: text.Append("\\b"); break;
                case >= 32 and < 127: text.Append((char)b); break;
                default: text.Append(CultureInfo.InvariantCulture, $"\\x{b:x2}"); break;
            }
        }

        text.Append('"');
    }

    public static string Quote(ReadOnlySpan<byte> bytes)
    {
        var text = new StringBuilder();
        Quote(text, bytes);
        return text.ToString();
    }

    /// <summary>A command as one can paste it into redis-cli.</summary>
    public static string Line(IEnumerable<byte[]> words) => string.Join(' ', words.Select(w =>
        w.Length > 0 && w.All(b => b is > 32 and < 127 and not (byte)'"' and not (byte)'\'' and not (byte)'\\')
            ? Reply.Latin(w)
            : Quote(w)));

    /// <summary>A command as an array of bulk strings.</summary>
    public static byte[] Encode(IReadOnlyList<byte[]> words)
    {
        var wire = new MemoryStream();
        wire.Write(Encoding.ASCII.GetBytes($"*{words.Count}\r\n"));
        foreach (byte[] word in words)
        {
            wire.Write(Encoding.ASCII.GetBytes($"${word.Length}\r\n"));
            wire.Write(word);
            wire.Write("\r\n"u8);
        }

        return wire.ToArray();
    }

    public static byte[] Encode(string line) => Encode(Split(line));

    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    private static byte[] QuotedWord(string line, ref int at)
    {
        byte[] bytes = Unquote(line, ref at);
        if (at == line.Length || line[at] != '*') return bytes;
        int begin = ++at;
        while (at < line.Length && char.IsAsciiDigit(line[at])) at++;
        int times = int.Parse(line.AsSpan(begin, at - begin), CultureInfo.InvariantCulture);
        var repeated = new byte[bytes.Length * times];
        for (int i = 0; i < times; i++) bytes.CopyTo(repeated, i * bytes.Length);
        return repeated;
    }

    private static byte[] BareWord(string line, ref int at)
    {
        int begin = at;
        while (at < line.Length && line[at] != ' ') at++;
        return Encoding.UTF8.GetBytes(line[begin..at]);
    }

    private static byte Escaped(string line, ref int at)
    {
        char c = line[at++];
        if (c == 'x')
        {
            at += 2;
            return byte.Parse(line.AsSpan(at - 2, 2), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
        }

        return c switch { 'n' => 10, 'r' => 13, 't' => 9, 'a' => 7, 'b' => 8, _ => (byte)c };
    }
}
