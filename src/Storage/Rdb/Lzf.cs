using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   000LLLLL                    | L + 1 bytes |    1 to 32 bytes as they are
//   LLLooooo  oooooooo                             L + 2 (3 to 8) bytes that stand o + 1 (1 to 8,192) bytes before
//   111ooooo  LLLLLLLL  oooooooo                   L + 9 (9 to 264) of them

/// <summary>The compression of strings in RDB files and DUMP: LZF, with the choices that Redis makes, so that the bytes
/// are the same.</summary>
/// <remarks>
/// To compress takes a table of 256 KB; to expand takes nothing. Threads: one at a time.
/// Source: the format of LZF; which bytes it looks for, as its author's "very fast" setting does.
/// </remarks>
internal sealed unsafe class Lzf : IDisposable
{
    private const int HashBits = 16, OffsetMax = 1 << 13, MatchMax = 264, LiteralsMax = 32, TailBytes = 2;

    /// <summary>No three bytes stand for more than 264.</summary>
    public const int ExpansionMax = 88;

    /// <summary>What the table holds at all times.</summary>
    public const int TableBytes = sizeof(uint) << HashBits;

    // Where three bytes of such a hash were last, counted from _base; below it: of an earlier input.
    private uint* _table;
    private uint _base;

    /// <summary>Compresses.</summary>
    /// <param name="input">At most 1 GB.</param>
    /// <param name="output">What there is room for.</param>
    /// <returns>The bytes written; 0 when there is no room.</returns>
    public int Compress(ReadOnlySpan<byte> input, Span<byte> output)
    {
        if (input.IsEmpty || output.IsEmpty) return 0;
        fixed (byte* start = input)
        fixed (byte* to = output)
        {
            var run = Begin(start, input.Length, to, output.Length);
            Compress(ref run, input.Length);
            return run.Written;
        }
    }

    /// <summary>Begins to compress, a piece at a time; nothing else is compressed meanwhile.</summary>
    /// <param name="input">Stays where it is until the end. At most 1 GB.</param>
    /// <param name="output">Where the result goes.</param>
    /// <param name="room">Bytes of the output, at least one.</param>
    public LzfRun Begin(byte* input, int length, byte* output, int room)
    {
        Debug.Assert(length is > 0 and <= 1 << 30 && room > 0, "there is something to compress, and room for it");
        if (_table == null || _base > uint.MaxValue - (1u << 30)) Begin();
        // A run of literals has its length ahead.
        return new LzfRun { Start = input, From = input, End = input + length, Output = output, To = output + 1,
            OutputEnd = output + room };
    }

    /// <summary>Compresses a piece.</summary>
    /// <param name="most">About how many bytes of the input to compress.</param>
    /// <returns>True when it has ended: <see cref="LzfRun.Written"/> says how.</returns>
    public bool Compress(ref LzfRun run, int most)
    {
        Debug.Assert(most > 0, "each call compresses something");
        bool isDone = run.End - run.From <= (long)most + TailBytes;
        byte* pause = isDone ? run.End - TailBytes : run.From + most;
        int written = Compress(ref run, pause, isDone);
        if (written < 0) return false;
        run.Written = written;
        Debug.Assert(written <= run.OutputEnd - run.Output, "no more is written than there is room for");
        _base += (uint)(run.End - run.Start);
        return true;
    }

    private int Compress(ref LzfRun run, byte* pause, bool isLast)
    {
        byte* start = run.Start, from = run.From, to = run.To, end = run.End, output = run.Output,
            outputEnd = run.OutputEnd;
        uint* table = _table;
        uint first = _base;
        int literals = run.Literals;
        // Ends: each round goes on by a byte or a match.
        while (from < pause)
        {
            uint* slot = table + HashOf(from);
            uint last = *slot, here = first + (uint)(from - start);
            *slot = here;
            uint back = here - last - 1;
            // Not the first byte of the input: Redis leaves that out.
            if (last <= first || back >= OffsetMax || !IsSame(start + (last - first), from))
            {
                if (to >= outputEnd) return 0;
                *to++ = *from++;
                if (++literals == LiteralsMax) EndLiterals(ref to, ref literals);
                continue;
            }

            // The first test is coarse, the second exact.
            if (to + 4 >= outputEnd && to - (literals == 0 ? 1 : 0) + 4 >= outputEnd) return 0;
            EndRun(ref to, literals);
            literals = 0;
            int longest = Math.Min((int)(end - from) - TailBytes, MatchMax),
                count = MatchLength(start + (last - first), from, longest);
            WriteMatch(ref to, back, count);
            to++;
            from += count;
            if (from >= end - TailBytes) break;
            table[HashOf(from - 2)] = first + (uint)(from - 2 - start);
            table[HashOf(from - 1)] = first + (uint)(from - 1 - start);
        }

        if (!isLast && from < end - TailBytes)
        {
            run.From = from;
            run.To = to;
            run.Literals = literals;
            return -1;
        }

        if (to + 3 > outputEnd) return 0;
        while (from < end)
        {
            *to++ = *from++;
            if (++literals == LiteralsMax) EndLiterals(ref to, ref literals);
        }

        EndRun(ref to, literals);
        return (int)(to - output);
    }

    /// <summary>Expands.</summary>
    /// <param name="output">As many bytes as there will be.</param>
    /// <returns>False when the input is not what the format allows, or gives another number of bytes.</returns>
    public static bool TryExpand(ReadOnlySpan<byte> input, Span<byte> output)
    {
        var place = default(LzfPlace);
        return TryExpand(input, output, ref place, output.Length) && place.To == output.Length;
    }

    /// <summary>Expands a part; it is done when all of the input has been read, and right if the output is full
    /// then.</summary>
    /// <param name="place">The default one to begin; where to go on.</param>
    /// <param name="most">About how many bytes of output to write.</param>
    /// <returns>False when the input is not what the format allows.</returns>
    public static bool TryExpand(ReadOnlySpan<byte> input, Span<byte> output, ref LzfPlace place, long most)
    {
        int from = place.From, to = place.To, pause = (int)Math.Min(output.Length, to + most);
        // Ends: each round goes on by at least two bytes of the input.
        while (from < input.Length && (to < pause || pause == output.Length))
        {
            int head = input[from++];
            if (head < LiteralsMax)
            {
                int count = head + 1;
                if (count > input.Length - from || count > output.Length - to) return false;
                input.Slice(from, count).CopyTo(output[to..]);
                from += count;
                to += count;
                continue;
            }

            int length = head >> 5, back = (head & 31) << 8;
            if (length == 7)
            {
                if (from >= input.Length) return false;
                length += input[from++];
            }

            if (from >= input.Length) return false;
            back += input[from++] + 1;
            length += 2;
            if (back > to || length > output.Length - to) return false;
            CopyMatch(output, to, back, length);
            to += length;
        }

        place = new LzfPlace(from, to);
        return true;
    }

    public void Dispose()
    {
        NativeMemory.Free(_table);
        _table = null;
    }

    private void Begin()
    {
        if (_table == null) _table = (uint*)NativeMemory.Alloc(TableBytes);
        NativeMemory.Clear(_table, TableBytes);
        _base = 1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint HashOf(byte* at)
    {
        uint bytes = ((uint)at[0] << 16) | ((uint)at[1] << 8) | at[2];
        return ((bytes >> (24 - HashBits)) - (bytes * 5)) & ((1 << HashBits) - 1);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsSame(byte* left, byte* right) =>
        Unsafe.ReadUnaligned<ushort>(left) == Unsafe.ReadUnaligned<ushort>(right) && left[2] == right[2];

    /// <summary>Bytes that are the same, three of which are known to be.</summary>
    private static int MatchLength(byte* match, byte* from, int longest)
    {
        // Redis looks at sixteen in one go where there are more, which may be one or two more than the last.
        if (longest > 16) longest = Math.Max(longest, 3 + 16);
        if (longest <= 3) return 3;
        return 3 + new ReadOnlySpan<byte>(match + 3, longest - 3)
            .CommonPrefixLength(new ReadOnlySpan<byte>(from + 3, longest - 3));
    }

    private static void WriteMatch(ref byte* to, uint back, int count)
    {
        Debug.Assert(back < OffsetMax && count is >= 3 and <= MatchMax, "a match has its bounds");
        int length = count - 2;
        *to++ = (byte)((back >> 8) + (uint)(Math.Min(length, 7) << 5));
        if (length >= 7) *to++ = (byte)(length - 7);
        *to++ = (byte)back;
    }

    private static void EndLiterals(ref byte* to, ref int literals)
    {
        EndRun(ref to, literals);
        literals = 0;
        to++;
    }

    private static void EndRun(ref byte* to, int literals)
    {
        Debug.Assert(literals is >= 0 and <= LiteralsMax, "a run of literals has its bounds");
        if (literals == 0) to--;
        else to[-literals - 1] = (byte)(literals - 1);
    }

    private static void CopyMatch(Span<byte> output, int to, int back, int length)
    {
        Debug.Assert(back > 0 && back <= to && length > 0, "what is copied stands before");
        if (back >= length)
        {
            output.Slice(to - back, length).CopyTo(output[to..]);
            return;
        }

        // What is copied is partly what was just written, a pattern that repeats: more of it is there each time.
        for (int done = 0, count; done < length; done += count)
        {
            count = Math.Min(length - done, back + done);
            output.Slice(to - back, count).CopyTo(output[(to + done)..]);
        }
    }
}
