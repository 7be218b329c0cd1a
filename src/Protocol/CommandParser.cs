using System.Runtime.CompilerServices;

namespace Kv.Protocol;

//  *3\r\n $3\r\nSET\r\n $3\r\nkey\r\n $5\r\nvalue\r\n        multibulk: a count, then as many bulks
//  SET key "a value"\r\n                                     inline: a line, split at spaces (InlineParser)
//
//  The first byte decides: '*' is multibulk, all else is inline.

/// <summary>Turns a client's bytes into the arguments of one command at a time, without copying them.</summary>
/// <remarks>
/// Input buffers are readable for <see cref="PaddingBytes"/> past their length, so that headers are read as whole
/// words. What lies there never influences a result: the fast path believes nothing until the frame is known to end
/// inside the input, and whatever looks odd is decided by the slow path, which reads no byte beyond it.
/// Invariant: the result does not depend on where the input was cut, but for inline lines longer than the limit.
/// </remarks>
public static unsafe class CommandParser
{
    /// <summary>Bytes past the input's length that must be readable (their content does not matter).</summary>
    public const int PaddingBytes = 64;

    // "$3\r\n" and "*3\r\n" as little-endian words, without their digit; and "$12\r\n".
    private const uint OneDigitMask = 0xFFFF00FF;
    private const uint OneDigitBulk = 0x0A0D0000u | RespType.Bulk;
    private const uint OneDigitMultibulk = 0x0A0D0000u | RespType.Array;
    private const ulong TwoDigitMask = 0xFFFF0000FF;
    private const ulong TwoDigitBulk = 0x0A0D000000ul | RespType.Bulk;
    private const ushort CrLf = 0x0A0D;

    /// <summary>"$0\r\n\r\n": what the smallest argument takes, so that a count is believed only as far as the bytes
    /// that follow it.</summary>
    private const int MinArgumentBytes = 6;

    /// <summary>Parses the command that begins at <paramref name="position"/>.</summary>
    /// <param name="input">Readable for <paramref name="length"/> + <see cref="PaddingBytes"/> bytes.</param>
    /// <param name="position">Moves past the command when it is complete, and past what is taken out of the input of a
    /// large one; else it stays.</param>
    /// <param name="table">Gets the arguments of a complete command, as pointers into the input (quoted inline
    /// arguments: into the table's own text, valid until it is cleared; big bulks: into the caller's blocks).</param>
    /// <param name="authenticated">False applies the limits for clients that have yet to authenticate.</param>
    /// <param name="state">Belongs to the command at <paramref name="position"/>; reset when it is complete. After an
    /// error it is as the error left it: <see cref="ParseState.Got"/>, and blocks to free.</param>
    /// <param name="argumentCount">0 with Complete for "*0", "*-1" and an empty line: nothing to answer.</param>
    public static ParseStatus Parse(byte* input, int length, ref int position, ArgumentTable table, RespLimits limits,
        bool authenticated, ref ParseState state, out int firstArgument, out int argumentCount)
    {
        byte* at = input + position;
        uint digit = ((*(uint*)at >> 8) & 0xFF) - '1';
        if ((*(uint*)at & OneDigitMask) != OneDigitMultibulk || digit > 8 || state.BytesNeeded != 0 || !authenticated)
            return ParseManySlow(input, length, ref position, table, limits, authenticated, ref state,
                out firstArgument, out argumentCount);

        int count = (int)digit + 1;
        byte* next = ReadBulks(at + 4, input + length, count, table.Reserve(count), limits);
        if (next == null)
            return ParseSlow(input, length, ref position, table, limits, authenticated, ref state,
                out firstArgument, out argumentCount);

        firstArgument = table.Count;
        argumentCount = count;
        table.Commit(count);
        position = (int)(next - input);
        return ParseStatus.Complete;
    }

    /// <summary>Reads whole bulks of up to six-digit lengths.</summary>
    /// <returns>The byte after the last; null when one is unusual, wrong, or ends beyond <paramref
    /// name="end"/>.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* ReadBulks(byte* at, byte* end, int count, Argument* slot, RespLimits limits)
    {
        Argument* last = slot + count;
        do
        {
            // at <= end + 16 here, so these 8 bytes are readable; they count only if the bulk proves to end by `end`.
            ulong word = *(ulong*)at;
            uint digit = (((uint)word >> 8) & 0xFF) - '0';
            byte* body;
            nuint bytes;
            if (((uint)word & OneDigitMask) == OneDigitBulk && digit <= 9)
            {
                bytes = digit;
                body = at + 4;
            }
            else
            {
                uint units = (((uint)word >> 16) & 0xFF) - '0';
                if ((word & TwoDigitMask) == TwoDigitBulk && digit - 1 <= 8 && units <= 9)
                {
                    bytes = (digit * 10) + units;
                    body = at + 5;
                }
                else
                {
                    // A variable of its own: `bytes`, were its address taken, would live in memory on every path.
                    body = ReadHeader(at, RespType.Bulk, out nuint announced);
                    if (body == null || announced > (nuint)limits.MaxBulkBytes) return null;
                    bytes = announced;
                }
            }

            byte* next = body + bytes + 2;
            if (next > end || *(ushort*)(next - 2) != CrLf) return null;
            slot->Pointer = body;
            *(long*)&slot->Length = (long)bytes;        // and Flags = 0
            at = next;
        }
        while (++slot < last);
        return at;
    }

    /// <summary>Reads a header of up to six digits; looks at 9 bytes at most.</summary>
    /// <returns>The byte after it, or null when it is longer or wrong.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static byte* ReadHeader(byte* at, byte type, out nuint value)
    {
        value = (nuint)(at[1] - '0');
        if (*at != type || value - 1 > 8) return null;      // a first digit 0 would have been the short form

        byte* digit = at + 2;
        for (; (uint)(*digit - '0') <= 9; digit++)
        {
            if (digit - at > 6) return null;
            value = (value * 10) + (nuint)(*digit - '0');
        }

        return *(ushort*)digit == CrLf ? digit + 2 : null;
    }

    /// <summary>Commands of ten and more arguments, at the speed of the others; hands all else on.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static ParseStatus ParseManySlow(byte* input, int length, ref int position, ArgumentTable table,
        RespLimits limits, bool authenticated, ref ParseState state, out int firstArgument, out int argumentCount)
    {
        byte* at = input + position;
        byte* end = input + length;
        if (at < end && state.BytesNeeded == 0 && authenticated)
        {
            byte* body = ReadHeader(at, RespType.Array, out nuint announced);
            if (body != null && body < end && announced <= (nuint)limits.MaxArguments
                && announced <= ParseState.ArgumentsAtOnce && (long)announced * MinArgumentBytes <= end - body)
            {
                int count = (int)announced;
                byte* next = ReadBulks(body, end, count, table.Reserve(count), limits);
                if (next != null)
                {
                    firstArgument = table.Count;
                    argumentCount = count;
                    table.Commit(count);
                    position = (int)(next - input);
                    return ParseStatus.Complete;
                }
            }
        }

        return ParseSlow(input, length, ref position, table, limits, authenticated, ref state,
            out firstArgument, out argumentCount);
    }

    /// <summary>Any command, whole or not, right or wrong, byte by byte: what this says is the truth.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static ParseStatus ParseSlow(byte* input, int length, ref int position, ArgumentTable table,
        RespLimits limits, bool authenticated, ref ParseState state, out int firstArgument, out int argumentCount)
    {
        firstArgument = table.Count;
        argumentCount = 0;
        byte* command = input + position;
        int available = length - position;
        state.IsInterrupted = false;
        if (available < state.BytesNeeded || available == 0) return ParseStatus.NeedMoreData;

        int used;
        ParseStatus status = state.Expected != 0 || *command == RespType.Array
            ? ParseMultibulk(command, available, table, limits, authenticated, ref state, out used)
            : InlineParser.Parse(command, available, table, limits, ref state, out used);

        if (status != ParseStatus.Complete)
        {
            table.Truncate(firstArgument);
            // Of an inline command, which expects no number of arguments, nothing is taken out.
            bool isLong = state.Expected != 0 && state.Offset > ParseState.KeepBytes;
            if (status == ParseStatus.NeedMoreData && isLong) position += state.TakeOut(command);
            return status;
        }

        argumentCount = table.Count - firstArgument;
        position += used;
        state.Reset();
        return ParseStatus.Complete;
    }

    private static ParseStatus ParseMultibulk(byte* command, int available, ArgumentTable table, RespLimits limits,
        bool authenticated, ref ParseState state, out int used)
    {
        used = 0;
        int first = table.Count;
        int offset = state.Offset;
        int expected = state.Expected;
        bool keeping = expected != 0;
        if (!keeping)
        {
            ParseStatus status = ReadCount(command, available, limits, authenticated, ref state, out offset,
                out expected);
            if (status != ParseStatus.Complete) return status;
        }

        int done = keeping ? state.KeptCount : 0;
        int last = (int)Math.Min(expected, done + (long)ParseState.ArgumentsAtOnce);
        if (state.OwesTerminator)
        {
            ParseStatus status = ReadTerminator(command, available, offset, ref state);
            if (status != ParseStatus.Complete) return status;
            state.OwesTerminator = false;
            state.Offset = offset += 2;
        }

        for (; done < expected; done++)
        {
            if (done == last) return Interrupt(command, table, first, expected, offset, ref state);
            int body = offset;
            ParseStatus status = ReadBulk(command, available, limits, authenticated, ref state, ref body,
                out int bytes);
            if (status != ParseStatus.Complete)
            {
                if (status == ParseStatus.NeedMoreData && !keeping
                    && (offset > ParseState.KeepBytes || state.BigBulkLength != 0))
                    KeepArguments(command, table, first, expected, offset, ref state);
                return status;
            }

            if (keeping)
            {
                state.Keep(new Argument { Pointer = (byte*)body, Length = bytes, Flags = Argument.Relative });
                state.Offset = body + bytes + 2;
            }
            else
            {
                table.Add(command + body, bytes);
            }

            offset = body + bytes + 2;
        }

        if (keeping) TakeKept(command, table, ref state);
        used = offset;
        return ParseStatus.Complete;
    }

    /// <summary>Finds one argument, with the CR LF after it.</summary>
    /// <param name="body">From where its length is to where its bytes are.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ParseStatus ReadBulk(byte* command, int available, RespLimits limits, bool authenticated,
        ref ParseState state, ref int body, out int bytes)
    {
        ParseStatus status = ReadLength(command, available, limits, authenticated, ref state, ref body, out bytes);
        if (status != ParseStatus.Complete) return status;
        long end = (long)body + bytes;
        if (end < available) return ReadTerminator(command, available, (int)end, ref state);
        return end == available || bytes <= ParseState.BigBulkBytes ? WaitFor(end + 1, ref state)
            : WaitForBigBulk(body, bytes, ref state);
    }

    private static ParseStatus ReadCount(byte* command, int available, RespLimits limits, bool authenticated,
        ref ParseState state, out int offset, out int count)
    {
        offset = 0;
        count = 0;
        switch (ReadNumber(command, available, ref state, ref offset, out long announced))
        {
            case HeaderStatus.NeedMoreData: return ParseStatus.NeedMoreData;
            case HeaderStatus.TooLong: return ParseStatus.TooBigMbulkCount;
            case HeaderStatus.Invalid: return ParseStatus.InvalidMultibulkLength;
        }

        if (announced > limits.MaxArguments) return ParseStatus.InvalidMultibulkLength;
        if (announced > RespLimits.UnauthenticatedArguments && !authenticated)
            return ParseStatus.UnauthenticatedMultibulk;
        count = (int)Math.Max(announced, 0);        // "*-1" is an empty command, like "*0"
        return ParseStatus.Complete;
    }

    private static ParseStatus ReadLength(byte* command, int available, RespLimits limits, bool authenticated,
        ref ParseState state, ref int offset, out int bytes)
    {
        bytes = 0;
        if (offset >= available) return WaitFor(offset + 1L, ref state);
        if (command[offset] != RespType.Bulk)
        {
            state.Got = command[offset];
            return ParseStatus.ExpectedDollar;
        }

        switch (ReadNumber(command, available, ref state, ref offset, out long announced))
        {
            case HeaderStatus.NeedMoreData: return ParseStatus.NeedMoreData;
            case HeaderStatus.TooLong: return ParseStatus.TooBigBulkCount;
            case HeaderStatus.Invalid: return ParseStatus.InvalidBulkLength;
        }

        if (announced < 0 || announced > limits.MaxBulkBytes) return ParseStatus.InvalidBulkLength;
        if (announced > RespLimits.UnauthenticatedBulkBytes && !authenticated) return ParseStatus.UnauthenticatedBulk;
        bytes = (int)announced;
        return ParseStatus.Complete;
    }

    /// <summary>Reads type byte, number, CR LF, and moves past them.</summary>
    private static HeaderStatus ReadNumber(byte* command, int available, ref ParseState state, ref int offset,
        out long value)
    {
        value = 0;
        int from = offset + 1;
        int window = Math.Min(available - from, RespLimits.MaxHeaderBytes + 1);
        int bytes = new ReadOnlySpan<byte>(command + from, window).IndexOf((byte)'\r');
        if (bytes < 0)
        {
            if (window > RespLimits.MaxHeaderBytes) return HeaderStatus.TooLong;
            state.WaitFor(available + 1);
            return HeaderStatus.NeedMoreData;
        }

        if (from + bytes + 1 >= available)
        {
            state.WaitFor(available + 1);
            return HeaderStatus.NeedMoreData;
        }

        if (command[from + bytes + 1] != '\n') return HeaderStatus.Invalid;
        if (!NumberText.TryParseInt64(new ReadOnlySpan<byte>(command + from, bytes), out value))
            return HeaderStatus.Invalid;
        offset = from + bytes + 2;
        return HeaderStatus.Complete;
    }

    private static ParseStatus ReadTerminator(byte* command, int available, int offset, ref ParseState state)
    {
        if (offset >= available) return WaitFor(offset + 1L, ref state);
        if (command[offset] != '\r') return ParseStatus.ExpectedCrlf;
        if (offset + 1 >= available) return WaitFor(offset + 2L, ref state);
        return command[offset + 1] == '\n' ? ParseStatus.Complete : ParseStatus.ExpectedCrlf;
    }

    // A frame beyond int.MaxValue never fits the input: such a bulk can only be taken by way of a block.
    private static ParseStatus WaitFor(long bytes, ref ParseState state)
    {
        state.WaitFor((int)Math.Min(bytes, int.MaxValue));
        return ParseStatus.NeedMoreData;
    }

    private static ParseStatus WaitForBigBulk(int body, int bytes, ref ParseState state)
    {
        state.WaitForBigBulk((int)Math.Min((long)body + bytes + 1, int.MaxValue), body, bytes);
        return ParseStatus.NeedMoreData;
    }

    private static void KeepArguments(byte* command, ArgumentTable table, int first, int expected, int offset,
        ref ParseState state)
    {
        state.BeginKeeping(expected, offset);
        for (int index = first; index < table.Count; index++)
        {
            Argument argument = table.Items[index];
            state.Keep(new Argument
            {
                Pointer = (byte*)(argument.Pointer - command), Length = argument.Length, Flags = Argument.Relative,
            });
        }
    }

    /// <summary>Leaves the rest of a command that has arrived to another call.</summary>
    private static ParseStatus Interrupt(byte* command, ArgumentTable table, int first, int expected, int offset,
        ref ParseState state)
    {
        if (state.Expected == 0) KeepArguments(command, table, first, expected, offset, ref state);
        state.WaitFor(offset + 1);
        state.IsInterrupted = true;
        return ParseStatus.NeedMoreData;
    }

    private static void TakeKept(byte* command, ArgumentTable table, ref ParseState state)
    {
        if (state.IsLarge)
        {
            _ = state.TakeOut(command);
            table.Adopt(state.HandOver());
            return;
        }

        ReadOnlySpan<Argument> kept = state.KeptArguments;
        table.EnsureCapacity(table.Count + kept.Length);
        foreach (ref readonly Argument argument in kept)
        {
            if ((argument.Flags & Argument.Relative) != 0) table.Add(command + (nint)argument.Pointer, argument.Length);
            else table.Add(argument.Pointer, argument.Length, argument.Flags);
        }
    }

    private enum HeaderStatus : byte
    {
        Complete,
        NeedMoreData,
        TooLong,
        Invalid,
    }
}
