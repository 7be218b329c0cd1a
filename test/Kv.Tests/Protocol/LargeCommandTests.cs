using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

/// <summary>Commands that take many turns to arrive: what of them is there leaves the input, and nothing is copied
/// whole at their end.</summary>
public unsafe class LargeCommandTests
{
    private const int Arguments = 1_000_000, PieceBytes = 64 * 1024;

    // A page of memory that is touched for the first time may cost 20 us: 16 MB at once stopped a worker for a tenth of
    // a second.
    [Fact]
    public void What_has_arrived_leaves_the_input_and_is_not_copied_again()
    {
        byte[] wire = RespText.Encode(
            [.. Enumerable.Range(0, Arguments).Select(i => Encoding.ASCII.GetBytes($"argument:{i}"))]);
        using var table = new ArgumentTable();
        using var input = new GuardedInput(4 * PieceBytes);
        var limits = new RespLimits();
        var state = default(ParseState);
        byte[] held = [];
        long before = 0;
        for (int at = 0; at < wire.Length;)
        {
            int bytes = Math.Min(PieceBytes, wire.Length - at);
            held = [.. held, .. wire.AsSpan(at, bytes)];
            at += bytes;
            int position = 0;
            byte* start = input.Place(held, "\r\n"u8);
            var status = CommandParser.Parse(start, held.Length, ref position, table, limits, true, ref state,
                out int first, out int count);
            held = held[position..];
            if (at < wire.Length)
            {
                Assert.Equal(ParseStatus.NeedMoreData, status);
                Assert.InRange(held.Length, 0, ParseState.KeepBytes);
                Assert.Equal(at - held.Length, state.TakenBytes);
                // Bytes, arguments, and what is rounded up: what a turn adds is bounded by what it has received.
                Assert.InRange(state.KeptBytes - before, 0, 8 * PieceBytes);
                before = state.KeptBytes;
                continue;
            }

            Assert.Equal((ParseStatus.Complete, 0, Arguments), (status, first, count));
            Assert.True(table.Large != null && table.Items == table.Large.Items, "it was copied");
            Assert.Equal("argument:0", Encoding.ASCII.GetString(table.Items[0].Span));
            Assert.Equal($"argument:{Arguments - 1}", Encoding.ASCII.GetString(table.Items[Arguments - 1].Span));
        }

        Assert.Empty(held);
        Assert.Equal((false, 0L, 0L), (state.IsLarge, state.KeptBytes, state.TakenBytes));
        table.Clear();
        Assert.Null(table.Large);
    }

    // What a client that waits has sent is all there when it goes on.
    [Theory]
    [InlineData(ParseState.ArgumentsAtOnce, 1)]
    [InlineData(ParseState.ArgumentsAtOnce + 1, 2)]
    [InlineData(4 * ParseState.ArgumentsAtOnce, 4)]
    [InlineData((4 * ParseState.ArgumentsAtOnce) + 1, 5)]
    public void What_has_arrived_whole_is_parsed_in_several_calls(int arguments, int calls)
    {
        byte[] wire = [.. RespText.Encode([.. Enumerable.Repeat("x"u8.ToArray(), arguments)]),
            .. "*1\r\n$4\r\nPING\r\n"u8, .. new byte[CommandParser.PaddingBytes]];
        using var table = new ArgumentTable();
        var limits = new RespLimits();
        var state = default(ParseState);
        int position = 0, made = 0, count = 0;
        fixed (byte* input = wire)
        {
            // Ends: each call that is interrupted has taken some.
            for (var status = ParseStatus.NeedMoreData; status == ParseStatus.NeedMoreData; made++)
            {
                int from = position;
                status = CommandParser.Parse(input, wire.Length - CommandParser.PaddingBytes, ref position, table,
                    limits, true, ref state, out _, out count);
                Assert.Equal(status == ParseStatus.NeedMoreData, state.IsInterrupted);
                Assert.True(position > from);
            }

            Assert.Equal((calls, arguments), (made, count));
            table.Clear();
            Assert.Equal(ParseStatus.Complete,
                CommandParser.Parse(input, wire.Length - CommandParser.PaddingBytes, ref position, table, limits, true,
                ref state, out _, out count));
            Assert.Equal(1, count);
        }
    }

    [Fact]
    public void A_table_with_a_large_command_may_take_others_behind_it()
    {
        byte[] wire = [.. RespText.Encode([.. Enumerable.Repeat("word"u8.ToArray(), 20_000)]),
            .. RespText.Encode([.. Enumerable.Repeat("other"u8.ToArray(), 12_000)])];
        using var run = new ParserRun(1024 * 1024);
        var commands = run.Run(wire, 100_000).Commands;
        Assert.Equal((20_000, 12_000), (commands[0].Length, commands[1].Length));
        Assert.True(commands[0].All(word => word.AsSpan().SequenceEqual("word"u8))
            && commands[1].All(word => word.AsSpan().SequenceEqual("other"u8)));
    }

    [Fact]
    public void The_last_reference_frees_it()
    {
        var large = new LargeCommand(expected: 3);
        byte* block = (byte*)NativeMemory.Alloc(4);
        new Span<byte>(block, 4).Fill((byte)'b');
        large.Add("first"u8);
        large.Add(new Argument { Pointer = block, Length = 4, Flags = Argument.InBlock });
        large.Add(new byte[200_000]);
        large.AddReference();
        large.Release();
        Assert.Equal((3, "first", true, 200_000),
            (large.Count, Encoding.ASCII.GetString(large.Items[0].Span), large.Items[1].IsInBlock,
            large.Items[2].Length));
        large.Release();
        Assert.True(large.Items == null);
        NativeMemory.Free(block);
    }
}
