using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Protocol;

/// <summary>Writes replies in the session's version of RESP, and counts that each command gets exactly one.</summary>
/// <remarks>
/// Counting: <see cref="BeginReply"/> owes 1; each value pays 1; an aggregate pays 1 and owes its elements, so that
/// <see cref="Owed"/> is 0 when exactly one whole reply was written. Pushes stand beside the reply and pay nothing
/// (but owe their elements).
/// Threads: none; belongs to one worker.
/// </remarks>
public sealed unsafe class ReplyWriter : IDisposable
{
    /// <summary>"*", up to 11 characters of a 32-bit number, CR LF, and a margin.</summary>
    private const int HeaderBytes = 16;

    /// <summary>Type, sign, 19 digits, CR LF; twice, for a number in a bulk.</summary>
    private const int IntegerBytes = 32;

    private const ushort CrLf = 0x0A0D;

    // Whole frames as little-endian words: "_\r\n", and "?-1\r\n" without its type.
    private const ulong NullFrame = 0x0A_0D_00 + RespType.Null;
    private const ulong MissingFrame = 0x0A_0D_31_2D_00;

    private OutputBuffer _output;
    private int _owed;
    private int _mayBeError;        // beside the count: one store begins both
    private int _replyStart;
    private bool _resp3;

    public ReplyWriter()
        : this(new OutputBuffer())
    {
    }

    public ReplyWriter(OutputBuffer output) => _output = output;

    /// <summary>Where replies go. Exchanging it is how one writer serves several sessions.</summary>
    public OutputBuffer Output
    {
        get => _output;
        set => _output = value;
    }

    public RespVersion Version
    {
        get => _resp3 ? RespVersion.Resp3 : RespVersion.Resp2;
        set => _resp3 = value == RespVersion.Resp3;
    }

    /// <summary>Values still owed; 0 after exactly one reply, negative after more.</summary>
    public int Owed => _owed;

    /// <summary>True after exactly one reply that is no error; false says to look closer.</summary>
    public bool IsDone
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => (_owed | _mayBeError) == 0;
    }

    /// <summary>Whether it has a piece of a reply, whose elements may be in others: nobody can count them
    /// here.</summary>
    public bool IsPiece { get; set; }

    /// <summary>Where in the output this command's reply begins.</summary>
    public int ReplyStart => _replyStart;

    /// <summary>Where in the output this command's reply begins, if it is an error; else -1.</summary>
    public int ErrorOffset =>
        _output.Length > _replyStart && _output.Start[_replyStart] == RespType.Error ? _replyStart : -1;

    /// <summary>Whether this command's reply is an error.</summary>
    public bool LastWasError => ErrorOffset >= 0;

    /// <summary>The first word of the error reply ("ERR", "WRONGTYPE"), empty when the reply is none. Valid until the
    /// next write.</summary>
    public ReadOnlySpan<byte> ErrorCode
    {
        get
        {
            if (!LastWasError) return default;
            ReadOnlySpan<byte> text = _output.Span[(_replyStart + 1)..];
            int end = text.IndexOfAny((byte)' ', (byte)'\r');
            return end < 0 ? text : text[..end];
        }
    }

    public void Dispose() => _output.Dispose();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void BeginReply()
    {
        _owed = 1;
        _mayBeError = 0;
        _replyStart = _output.LimitFrom = _output.Length;
    }

    /// <summary>Begins one of several replies that are bounded together.</summary>
    public void BeginPart()
    {
        int limitFrom = _output.LimitFrom;
        BeginReply();
        _output.LimitFrom = limitFrom;
    }

    /// <summary>Ends a reply that was made of several, each begun with <see cref="BeginReply"/>: an array of what
    /// commands answered.</summary>
    /// <param name="start">Where it begins.</param>
    public void EndReplies(int start)
    {
        Debug.Assert(start <= _output.Length, "the reply is there");
        _owed = 0;
        _mayBeError = 0;
        _replyStart = start;
    }

    public ReplyMark Mark() => new(_output.Length, _owed);

    /// <summary>Forgets all that was written since the mark.</summary>
    public void Rewind(ReplyMark mark)
    {
        _output.Truncate(mark.Length);
        _owed = mark.Owed;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteOk()
    {
        *(ulong*)_output.Reserve(5) = 0x0A_0D_4B_4F_2B;        // "+OK\r\n"; the three bytes after it are slack
        _output.Commit(5);
        _owed--;
    }

    public void WriteSimple(ReadOnlySpan<byte> text) => WriteLine(RespType.SimpleString, text);

    /// <summary>Writes an error, "ERR …", without "-". CR, LF and NUL become spaces: text of a client cannot forge a
    /// reply.</summary>
    public void WriteError(ReadOnlySpan<byte> text)
    {
        _mayBeError = 1;
        WriteLine(RespType.Error, text);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteInteger(long value)
    {
        byte* at = _output.Reserve(IntegerBytes);
        *at = RespType.Integer;
        byte* end;
        if ((ulong)value <= 9)
        {
            at[1] = (byte)('0' + value);
            end = at + 2;
        }
        else
        {
            end = NumberText.Write(at + 1, value);
        }

        *(ushort*)end = CrLf;
        _output.Commit((int)(end - at) + 2);
        _owed--;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteBulk(ReadOnlySpan<byte> value)
    {
        byte* body = BeginBulkBody(value.Length);
        CopyShort(ref MemoryMarshal.GetReference(value), body, value.Length);
    }

    /// <summary>Writes a bulk string of bytes in native memory.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteBulk(byte* value, int length)
    {
        byte* body = BeginBulkBody(length);
        CopyShort(ref *value, body, length);
    }

    /// <summary>Writes header and end of a bulk, for the caller to fill in the body: a value is copied once.</summary>
    /// <returns>The body, <paramref name="length"/> bytes; valid until the next write.</returns>
    public Span<byte> BeginBulk(int length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(length);
        _ = checked(length + HeaderBytes + 2);
        return new Span<byte>(BeginBulkBody(length), length);
    }

    /// <summary>Writes a number as a bulk: a string value that is an integer.</summary>
    public void WriteBulkInteger(long value)
    {
        byte* at = _output.Reserve(IntegerBytes);
        int digits = NumberText.LengthOf(value);
        byte* body = WriteBulkHeader(at, digits);
        byte* end = NumberText.Write(body, value);
        *(ushort*)end = CrLf;
        _output.Commit((int)(end - at) + 2);
        _owed--;
    }

    /// <summary>A missing value: "$-1" or "_".</summary>
    public void WriteNull()
    {
        *(ulong*)_output.Reserve(5) = _resp3 ? NullFrame : MissingFrame + RespType.Bulk;
        _output.Commit(_resp3 ? 3 : 5);
        _owed--;
    }

    /// <summary>A missing array: "*-1" or "_".</summary>
    public void WriteNullArray()
    {
        *(ulong*)_output.Reserve(5) = _resp3 ? NullFrame : MissingFrame + RespType.Array;
        _output.Commit(_resp3 ? 3 : 5);
        _owed--;
    }

    /// <summary>The header of an array; its elements follow.</summary>
    public void WriteArray(int count) => WriteAggregate(RespType.Array, count, count);

    /// <summary>The header of a map; its keys and values follow, in turn. RESP2: an array of both.</summary>
    public void WriteMap(int pairs)
    {
        int elements = checked(pairs * 2);
        if (_resp3) WriteAggregate(RespType.Map, pairs, elements);
        else WriteAggregate(RespType.Array, elements, elements);
    }

    public void WriteSet(int count) => WriteAggregate(_resp3 ? RespType.Set : RespType.Array, count, count);

    /// <summary>The header of a message beside the replies; pays for none. RESP2: an array.</summary>
    public void WritePush(int count)
    {
        WriteAggregate(_resp3 ? RespType.Push : RespType.Array, count, count);
        _owed++;
    }

    /// <summary>A double in the form of Redis 7.2; RESP2: a bulk.</summary>
    public void WriteDouble(double value)
    {
        Span<byte> text = stackalloc byte[NumberText.MaxDoubleBytes];
        text = text[..NumberText.FormatDouble(value, text)];
        if (_resp3) WriteLine(RespType.Double, text);
        else WriteBulk(text);
    }

    /// <summary>A truth value; RESP2: 1 or 0.</summary>
    public void WriteBoolean(bool value)
    {
        if (_resp3) Put(value ? "#t\r\n"u8 : "#f\r\n"u8);
        else Put(value ? ":1\r\n"u8 : ":0\r\n"u8);
        _owed--;
    }

    /// <summary>Text for people (INFO, CLIENT LIST); RESP2: a bulk.</summary>
    public void WriteVerbatim(ReadOnlySpan<byte> text) => WriteVerbatim("txt:"u8, text);

    /// <inheritdoc cref="WriteVerbatim(ReadOnlySpan{byte})"/>
    /// <param name="format">Three letters and a colon.</param>
    public void WriteVerbatim(ReadOnlySpan<byte> format, ReadOnlySpan<byte> text)
    {
        Debug.Assert(format.Length == 4 && format[3] == ':', "a format is three letters and a colon");
        if (!_resp3)
        {
            WriteBulk(text);
            return;
        }

        int start = _output.Length;
        WriteBulkParts(format, text);
        _output.Start[start] = RespType.Verbatim;
    }

    /// <summary>An integer of any size, as its digits; RESP2: a bulk.</summary>
    public void WriteBigNumber(ReadOnlySpan<byte> digits)
    {
        if (_resp3) WriteLine(RespType.BigNumber, digits);
        else WriteBulk(digits);
    }

    /// <summary>Bytes that are already RESP.</summary>
    /// <param name="count">How many values they are, for the counting.</param>
    public void WriteRaw(ReadOnlySpan<byte> frames, int count = 1)
    {
        Debug.Assert(count >= 0, "replies are counted");
        _mayBeError = 1;
        _output.Append(frames);
        _owed -= count;
    }

    /// <summary>Begins an array, set or map whose length is known only after its elements have been written.</summary>
    public ReplyMark BeginArray() => Mark();

    /// <summary>Puts the header in front of the elements written since <paramref name="begin"/>; moves their
    /// bytes.</summary>
    public void EndArray(ReplyMark begin, int count) => InsertHeader(begin, RespType.Array, count, count);

    /// <inheritdoc cref="EndArray"/>
    public void EndSet(ReplyMark begin, int count) =>
        InsertHeader(begin, _resp3 ? RespType.Set : RespType.Array, count, count);

    /// <inheritdoc cref="EndArray"/>
    public void EndMap(ReplyMark begin, int pairs)
    {
        int elements = checked(pairs * 2);
        if (_resp3) InsertHeader(begin, RespType.Map, pairs, elements);
        else InsertHeader(begin, RespType.Array, elements, elements);
    }

    /// <summary>Puts in front of the elements written since <paramref name="begin"/> what the replies of SCAN and its
    /// kin begin with: an array of two, the cursor and the array of the elements.</summary>
    public void EndScan(ReplyMark begin, ulong cursor, int count)
    {
        Debug.Assert(count >= 0 && (IsPiece || begin.Owed - _owed == count), "as many were written as are announced");
        Span<byte> header = stackalloc byte[(3 * HeaderBytes) + NumberText.MaxInt64Bytes + 2],
            digits = stackalloc byte[NumberText.MaxInt64Bytes];
        System.Buffers.Text.Utf8Formatter.TryFormat(cursor, digits, out int length);
        fixed (byte* start = header)
        {
            byte* at = WriteHeader(WriteHeader(start, RespType.Array, 2), RespType.Bulk, length);
            digits[..length].CopyTo(new Span<byte>(at, length));
            *(ushort*)(at + length) = CrLf;
            at = WriteHeader(at + length + 2, RespType.Array, count);
            InsertAhead(begin, start, (int)(at - start));
        }

        _owed += count - 1;
    }

    /// <summary>Puts in front of the elements written since <paramref name="begin"/> what the reply of XAUTOCLAIM
    /// begins with: an array of three, the cursor and the array of the elements. The third is still owed.</summary>
    /// <param name="cursor">Some tens of bytes.</param>
    public void EndCursor(ReplyMark begin, ReadOnlySpan<byte> cursor, int count)
    {
        Debug.Assert(count >= 0 && (IsPiece || begin.Owed - _owed == count), "as many were written as are announced");
        Debug.Assert(cursor.Length <= HeaderBytes * 4, "a cursor is short: its frame is on the stack");
        Span<byte> header = stackalloc byte[(3 * HeaderBytes) + cursor.Length + 2];
        fixed (byte* start = header)
        {
            byte* at = WriteHeader(WriteHeader(start, RespType.Array, 3), RespType.Bulk, cursor.Length);
            cursor.CopyTo(new Span<byte>(at, cursor.Length));
            *(ushort*)(at + cursor.Length) = CrLf;
            at = WriteHeader(at + cursor.Length + 2, RespType.Array, count);
            InsertAhead(begin, start, (int)(at - start));
        }

        _owed += count;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte* BeginBulkBody(int length)
    {
        var output = _output;
        byte* at = output.Reserve(unchecked(length + HeaderBytes + 2));     // negative beyond 31 bits: refused
        byte* body = WriteBulkHeader(at, length);
        *(ushort*)(body + length) = CrLf;
        output.Commit((int)(body - at) + length + 2);
        _owed--;
        return body;
    }

    // One store for the usual lengths: "$7\r\n" and "$42\r\n" as little-endian words.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static byte* WriteBulkHeader(byte* at, int length)
    {
        if (length < 10)
        {
            *(uint*)at = 0x0A0D3000u + RespType.Bulk + ((uint)length << 8);
            return at + 4;
        }

        if (length < 100)
        {
            uint tens = (uint)length / 10, units = (uint)length - (tens * 10);
            *(ulong*)at = 0x0A0D303000ul + RespType.Bulk + (tens << 8) + (units << 16);
            return at + 5;
        }

        return WriteHeader(at, RespType.Bulk, length);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static byte* WriteHeader(byte* at, byte type, int count)
    {
        *at = type;
        byte* end = NumberText.Write(at + 1, count);
        *(ushort*)end = CrLf;
        return end + 2;
    }

    // Short values by overlapping words: a call to the general copy costs as much as the rest of the reply.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void CopyShort(ref byte from, byte* to, int length)
    {
        if ((uint)(length - 8) <= 8)
        {
            ulong last = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref from, length - 8));
            *(ulong*)to = Unsafe.ReadUnaligned<ulong>(ref from);
            *(ulong*)(to + length - 8) = last;
        }
        else if ((uint)(length - 4) < 4)
        {
            uint last = Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref from, length - 4));
            *(uint*)to = Unsafe.ReadUnaligned<uint>(ref from);
            *(uint*)(to + length - 4) = last;
        }
        else
        {
            Unsafe.CopyBlockUnaligned(ref *to, ref from, (uint)length);
        }
    }

    private void WriteBulkParts(ReadOnlySpan<byte> first, ReadOnlySpan<byte> second)
    {
        byte* body = BeginBulkBody(checked(first.Length + second.Length));
        first.CopyTo(new Span<byte>(body, first.Length));
        second.CopyTo(new Span<byte>(body + first.Length, second.Length));
    }

    private void WriteAggregate(byte type, int count, int elements)
    {
        Debug.Assert(count >= 0, "a missing array is WriteNullArray");
        byte* at = _output.Reserve(HeaderBytes);
        byte* end;
        if ((uint)count < 10)
        {
            *(uint*)at = 0x0A0D3000u + type + ((uint)count << 8);
            end = at + 4;
        }
        else
        {
            end = WriteHeader(at, type, count);
        }

        _output.Commit((int)(end - at));
        _owed += elements - 1;
    }

    private void InsertHeader(ReplyMark begin, byte type, int count, int elements)
    {
        Debug.Assert(count >= 0 && begin.Length <= _output.Length, "the mark is of another reply");
        Debug.Assert(IsPiece || begin.Owed - _owed == elements, "as many elements were written as are announced");
        byte* header = stackalloc byte[HeaderBytes];
        InsertAhead(begin, header, (int)(WriteHeader(header, type, count) - header));
        _owed += elements - 1;
    }

    private void InsertAhead(ReplyMark begin, byte* header, int headerBytes)
    {
        int bodyBytes = _output.Length - begin.Length;
        _output.Reserve(headerBytes);
        byte* body = _output.Start + begin.Length;
        Buffer.MemoryCopy(body, body + headerBytes, bodyBytes, bodyBytes);
        Buffer.MemoryCopy(header, body, headerBytes, headerBytes);
        _output.Commit(headerBytes);
    }

    private void WriteLine(byte type, ReadOnlySpan<byte> text)
    {
        byte* at = _output.Reserve(checked(text.Length + 3));
        *at = type;
        var line = new Span<byte>(at + 1, text.Length);
        text.CopyTo(line);
        if (line.IndexOfAny((byte)'\r', (byte)'\n', (byte)0) >= 0) Blank(line);
        *(ushort*)(at + 1 + text.Length) = CrLf;
        _output.Commit(text.Length + 3);
        _owed--;
    }

    private static void Blank(Span<byte> line)
    {
        foreach (ref byte c in line)
            if (c is (byte)'\r' or (byte)'\n' or 0) c = (byte)' ';
    }

    private void Put(ReadOnlySpan<byte> frame) => _output.Append(frame);
}
