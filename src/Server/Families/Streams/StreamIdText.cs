using System.Buffers.Text;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Ids of stream entries to and from the text that clients send and get: "milliseconds-number".</summary>
internal static unsafe class StreamIdText
{
    /// <summary>Two numbers of 20 digits and what is between them.</summary>
    public const int BytesMax = 41;

    private const int TextMax = 127;

    public static ReadOnlySpan<byte> Invalid => "ERR Invalid stream ID specified as stream command argument"u8;

    /// <summary>Reads an id.</summary>
    /// <param name="missing">The number of one that is milliseconds only.</param>
    public static bool TryParse(ReadOnlySpan<byte> text, ulong missing, out StreamId id) =>
        TryParse(text, missing, out id, out bool hasNumber) && hasNumber;

    /// <summary>Reads an id, or one whose number is to be found ("5-*").</summary>
    /// <param name="hasNumber">False of such a one: then the number is 0.</param>
    public static bool TryParse(ReadOnlySpan<byte> text, ulong missing, out StreamId id, out bool hasNumber)
    {
        id = default;
        hasNumber = true;
        // As Redis takes it, which reads text up to a NUL.
        if (text.Length > TextMax) return false;
        int nul = text.IndexOf((byte)0);
        if (nul >= 0) text = text[..nul];
        int dash = text.IndexOf((byte)'-');
        if (!TryParseNumber(dash < 0 ? text : text[..dash], out ulong ms)) return false;
        ulong number = missing;
        if (dash >= 0)
        {
            var rest = text[(dash + 1)..];
            hasNumber = rest is not [(byte)'*'];
            number = 0;
            if (hasNumber && !TryParseNumber(rest, out number)) return false;
        }

        id = new StreamId(ms, number);
        return true;
    }

    /// <summary>Reads the end of a range: an id, "-" or "+", or with "(" ahead of it the id that is not part of the
    /// range.</summary>
    public static bool TryParseEnd(ReadOnlySpan<byte> text, ulong missing, out StreamId id, out bool isExclusive)
    {
        isExclusive = text.Length > 1 && text[0] == '(';
        if (isExclusive) return TryParse(text[1..], missing, out id);
        return TryParseAny(text, missing, out id);
    }

    /// <summary>Reads an id, "-" for the least or "+" for the greatest.</summary>
    public static bool TryParseAny(ReadOnlySpan<byte> text, ulong missing, out StreamId id)
    {
        if (text is [(byte)'-'] or [(byte)'+'])
        {
            id = text[0] == '-' ? StreamId.Zero : StreamId.Max;
            return true;
        }

        return TryParse(text, missing, out id);
    }

    /// <summary>Writes an id.</summary>
    /// <param name="destination">Of <see cref="BytesMax"/> bytes.</param>
    /// <returns>The bytes written.</returns>
    public static int Format(StreamId id, Span<byte> destination)
    {
        Debug.Assert(destination.Length >= BytesMax, "there is room for every id");
        if ((id.Ms | id.Number) <= long.MaxValue && destination.Length >= BytesMax)
        {
            fixed (byte* start = destination)
            {
                byte* at = NumberText.Write(start, (long)id.Ms);
                *at = (byte)'-';
                return (int)(NumberText.Write(at + 1, (long)id.Number) - start);
            }
        }

        Utf8Formatter.TryFormat(id.Ms, destination, out int length);
        destination[length++] = (byte)'-';
        Utf8Formatter.TryFormat(id.Number, destination[length..], out int rest);
        return length + rest;
    }

    /// <summary>Answers an id.</summary>
    [SkipLocalsInit]
    public static void Write(ReplyWriter reply, StreamId id)
    {
        Span<byte> text = stackalloc byte[BytesMax];
        reply.WriteBulk(text[..Format(id, text)]);
    }

    // As C's strtoull: spaces and a sign may lead, zeros too; minus wraps around, but for what is plainly a negative
    // number.
    private static bool TryParseNumber(ReadOnlySpan<byte> text, out ulong number)
    {
        number = 0;
        if (NumberText.TryParseInt64(text, out long canonical))
        {
            number = (ulong)canonical;
            return canonical >= 0;
        }

        while (text is [(byte)' ' or (>= 9 and <= 13), ..]) text = text[1..];
        bool isNegative = text is [(byte)'-', ..];
        if (text is [(byte)'-' or (byte)'+', ..]) text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte letter in text)
        {
            uint digit = (uint)(letter - '0');
            if (digit > 9 || number > (ulong.MaxValue - digit) / 10) return false;
            number = (number * 10) + digit;
        }

        if (isNegative) number = unchecked(0 - number);
        return true;
    }
}
