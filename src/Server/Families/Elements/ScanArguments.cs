using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Patterns;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The arguments of HSCAN, SSCAN and ZSCAN after the key: cursor, MATCH, COUNT, and for hashes
/// NOVALUES.</summary>
internal ref struct ScanArguments
{
    private const long DefaultCount = 10;

    /// <summary>COUNT is a wish: a call looks at no more than <see cref="CountMax"/> elements, and writes no more than
    /// <see cref="BytesMax"/> bytes and the rest of the last bucket.</summary>
    private const long CountMax = 10_000, BytesMax = 1 << 20;

    public ulong Cursor;
    public long Count;

    /// <summary>Whether only the fields of a hash are wanted.</summary>
    public bool WithoutValues;

    private ReadOnlySpan<byte> _pattern;
    private bool _hasPattern;

    /// <summary>Reads all arguments. The error of a bad one after the cursor is left to
    /// <see cref="CommandArguments.Finish"/>: Redis looks at these only if there is something to scan.</summary>
    /// <param name="context">The command's.</param>
    /// <param name="scan">What was read.</param>
    /// <param name="ofHash">Whether the command is HSCAN, which alone has values to leave out.</param>
    /// <returns>False after writing an error: the cursor is invalid.</returns>
    public static bool TryRead(ref CommandContext context, out ScanArguments scan, bool ofHash = false)
    {
        scan = new ScanArguments { Count = DefaultCount };
        if (!TryParseCursor(context.Args.NextBytes(), out scan.Cursor))
        {
            context.Fail(Errors.InvalidCursor);
            return false;
        }

        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("COUNT"u8))
            {
                scan.Count = context.Args.NextInt64();
                if (scan.Count < 1) context.Args.SyntaxError();
            }
            else if (context.Args.TryKeyword("MATCH"u8))
            {
                scan._pattern = context.Args.NextPattern();
                scan._hasPattern = !scan._pattern.SequenceEqual("*"u8);
            }
            else if (context.Args.TryKeyword("NOVALUES"u8))
            {
                if (!ofHash) context.Args.Fail(Errors.NoValuesOfHashOnly);
                scan.WithoutValues = true;
            }
            else
            {
                context.Args.SyntaxError();
            }
        }

        return true;
    }

    /// <summary>Whether an element is wanted.</summary>
    public readonly bool Takes(ReadOnlySpan<byte> element) => !_hasPattern || GlobPattern.IsMatch(_pattern, element);

    /// <summary>Visits elements until about COUNT elements, or ten times as many places, were seen. Ends earlier if
    /// that is much, since a call is one turn.</summary>
    /// <returns>The next cursor; 0 at the end.</returns>
    public readonly ulong Run<TScan, TVisit>(scoped in TScan elements, ref TVisit visit, ReplyWriter reply)
        where TScan : struct, IMemberScan, allows ref struct where TVisit : struct, IScanReply, allows ref struct
    {
        Debug.Assert(Count > 0, "a call looks at something");
        ulong cursor = Cursor;
        long count = Math.Min(Count, CountMax), places = count * 10, bytesEnd = reply.Output.Length + BytesMax;
        // Ends: the places are counted, and the cursor comes back to 0.
        do cursor = elements.Scan(cursor, ref visit);
        while (cursor != 0 && --places > 0 && visit.Seen < count && reply.Output.Length < bytesEnd);
        return cursor;
    }

    /// <summary>Begins the reply: an array of two, with the cursor.</summary>
    public static void WriteCursor(ReplyWriter reply, ulong cursor)
    {
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        System.Buffers.Text.Utf8Formatter.TryFormat(cursor, digits, out int length);
        reply.WriteArray(2);
        reply.WriteBulk(digits[..length]);
    }

    /// <summary>Begins to scan the elements of a key that is held. For a missing key it writes an empty reply, even if
    /// there are bad arguments after the cursor.</summary>
    /// <returns>False when the reply has been written.</returns>
    public static bool TryBegin(ref CommandContext context, StoreStatus status)
    {
        if (!context.TryBegin(status)) return false;
        if (status == StoreStatus.Ok) return context.Args.Finish(context.Reply);
        WriteNothing(context.Reply);
        return false;
    }

    /// <summary>Writes an empty reply: cursor 0 and no elements.</summary>
    private static void WriteNothing(ReplyWriter reply)
    {
        WriteCursor(reply, 0);
        reply.WriteArray(0);
    }

    /// <summary>
    /// Reads a cursor as C's strtoul does, and so Redis: it may begin with a sign, a negative number wraps around, an
    /// empty text is 0.
    /// </summary>
    public static bool TryParseCursor(ReadOnlySpan<byte> text, out ulong cursor)
    {
        cursor = 0;
        if (text.IsEmpty) return true;
        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte letter in text)
        {
            uint digit = (uint)(letter - '0');
            if (digit > 9 || cursor > (ulong.MaxValue - digit) / 10) return false;
            cursor = (cursor * 10) + digit;
        }

        if (negative) cursor = unchecked(0 - cursor);
        return true;
    }
}

/// <summary>Writes the elements that a scan meets and takes.</summary>
internal interface IScanReply : IMemberVisit
{
    /// <summary>Elements met.</summary>
    int Seen { get; }

    /// <summary>Elements taken, and written.</summary>
    int Written { get; }
}
