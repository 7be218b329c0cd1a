namespace Kv.Protocol;

//  set  "two words"  'it\'s'  plain"quoted"  \r\n
//       \_________/  \_____/
//        \n \r \t \b \a \" \\ \xHH    only \'       a quote may begin inside a word; after its end comes a space

/// <summary>Splits a line typed by hand (or by a health check) into arguments, with the quoting rules of
/// Redis.</summary>
internal static unsafe class InlineParser
{
    /// <summary>Parses one line up to LF or CR LF; an empty one gives no arguments.</summary>
    public static ParseStatus Parse(byte* command, int available, ArgumentTable table, RespLimits limits,
        ref ParseState state, out int used)
    {
        used = 0;
        // One byte more than the limit: a line of exactly the limit still has its newline in the window.
        int window = (int)Math.Min(available, limits.MaxInlineBytes + 1L);
        int from = Math.Min(state.Offset, window);      // the limit may have shrunk since
        int found = new ReadOnlySpan<byte>(command + from, window - from).IndexOfAny((byte)'\n', (byte)0);
        if (found < 0)
        {
            if (window > limits.MaxInlineBytes) return ParseStatus.TooBigInline;
            state.Offset = window;
            state.WaitFor(window + 1);
            return ParseStatus.NeedMoreData;
        }

        int line = from + found;
        if (command[line] == 0) return ParseStatus.NulInInline;
        used = line + 1;
        if (line > 0 && command[line - 1] == '\r') line--;
        return Split(command, command + line, table);
    }

    private static ParseStatus Split(byte* at, byte* end, ArgumentTable table)
    {
        while (true)        // ends: each round takes at least one byte
        {
            while (at < end && IsSpace(*at)) at++;
            if (at == end) return ParseStatus.Complete;

            byte* word = at;
            while (at < end && !EndsWord(*at) && *at is not ((byte)'"' or (byte)'\'')) at++;
            if (at == end || EndsWord(*at))
            {
                table.Add(word, (int)(at - word));
                continue;
            }

            at = Unquote(word, end, table);
            if (at == null) return ParseStatus.UnbalancedQuotes;
        }
    }

    /// <summary>Adds one word that has quotes in it; its text is never longer than its source.</summary>
    /// <returns>Where the word ends, or null when its quotes do not.</returns>
    private static byte* Unquote(byte* at, byte* end, ArgumentTable table)
    {
        byte* text = table.AllocateText((int)(end - at));
        byte* to = text;
        while (at < end && !EndsWord(*at))
        {
            byte c = *at++;
            if (c is not ((byte)'"' or (byte)'\''))
            {
                *to++ = c;
                continue;
            }

            at = c == '"' ? ReadDoubleQuoted(at, end, ref to) : ReadSingleQuoted(at, end, ref to);
            if (at == null || (at < end && !IsSpace(*at))) return null;
            break;
        }

        table.Add(text, (int)(to - text));
        table.ReturnText(to);
        return at;
    }

    private static byte* ReadDoubleQuoted(byte* at, byte* end, ref byte* to)
    {
        while (at < end)
        {
            byte c = *at++;
            if (c == '"') return at;
            if (c == '\\' && at < end) c = ReadEscape(ref at, end);
            *to++ = c;
        }

        return null;
    }

    private static byte* ReadSingleQuoted(byte* at, byte* end, ref byte* to)
    {
        while (at < end)
        {
            byte c = *at++;
            if (c == '\'') return at;
            if (c == '\\' && at < end && *at == '\'') c = *at++;
            *to++ = c;
        }

        return null;
    }

    private static byte ReadEscape(ref byte* at, byte* end)
    {
        byte c = *at++;
        if (c == 'x' && end - at >= 2 && char.IsAsciiHexDigit((char)at[0]) && char.IsAsciiHexDigit((char)at[1]))
        {
            int value = (HexValue(at[0]) << 4) | HexValue(at[1]);
            at += 2;
            return (byte)value;
        }

        return c switch
        {
            (byte)'n' => (byte)'\n',
            (byte)'r' => (byte)'\r',
            (byte)'t' => (byte)'\t',
            (byte)'b' => (byte)'\b',
            (byte)'a' => (byte)'\a',
            _ => c,
        };
    }

    private static int HexValue(byte digit) => (digit & 0xF) + (digit > '9' ? 9 : 0);

    private static bool IsSpace(byte c) => c is (byte)' ' or >= (byte)'\t' and <= (byte)'\r';

    // A vertical tab or form feed separates words like a space, yet inside a word it is a character like any other.
    private static bool EndsWord(byte c) => c is (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r';
}
