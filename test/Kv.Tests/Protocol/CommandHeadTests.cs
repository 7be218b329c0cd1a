using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

/// <summary>The short way for commands that begin like the one before, against the parser that believes
/// nothing.</summary>
public sealed unsafe class CommandHeadTests
{
    private static readonly string[] Commands =
    [
        "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "*2\r\n$3\r\nGET\r\n$12\r\nabcdefghijkl\r\n",
        "*2\r\n$3\r\nget\r\n$1\r\na\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n",
        "*2\r\n$3\r\nGET\r\n$-1\r\n", "*2\r\n$3\r\nGET\r\n:1\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nab\r\n",
        "*2\r\n$4\r\nINCR\r\n$100\r\n", "*9\r\n$6\r\nEXISTS\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$2\r\n60\r\n",
        "*5\r\n$3\r\nSET\r\n$2\r\naa\r\n$0\r\n\r\n$2\r\nEX\r\n$2\r\n60\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$3\r\n600\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$2\r\n6012\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$10\r\n0123456789\r\n$9\r\n012345678\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$2\r\n60",
        "*6\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$2\r\n60\r\n$2\r\nNX\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$-1\r\n$2\r\n60\r\n", "PING\r\n", "*1\r\n$4\r\nPING\r\n",
    ];

    [Fact]
    public void The_rest_is_read_as_the_parser_reads_it_wherever_the_input_ends()
    {
        var limits = new RespLimits();
        foreach (string first in Commands)
        {
            foreach (string second in Commands)
            {
                byte[] wire = Encoding.ASCII.GetBytes(first + second);
                byte[] buffer = new byte[wire.Length + CommandParser.PaddingBytes];
                wire.CopyTo(buffer, 0);
                // What lies behind the end is what was there before: the same command once more.
                for (int i = 0; i < CommandParser.PaddingBytes; i++) buffer[wire.Length + i] = wire[i % wire.Length];
                for (int length = first.Length; length <= wire.Length; length++)
                    Compare(buffer, first.Length, length, limits);
            }
        }
    }

    private static void Compare(byte[] buffer, int second, int length, RespLimits limits)
    {
        using var table = new ArgumentTable();
        fixed (byte* input = buffer)
        {
            var state = default(ParseState);
            int position = 0;
            if (CommandParser.Parse(input, second, ref position, table, limits, true, ref state, out int at,
                out int count) != ParseStatus.Complete
                || position != second) return;
            var head = default(CommandHead);
            if (count == 0 || !head.TryRemember(input, table.Items + at, count) || !head.Matches(input + second))
                return;

            Argument* items = stackalloc Argument[16];
            byte* next = head.ReadRest(input + second, input + length, items, limits);
            position = second;
            var status = CommandParser.Parse(input, length, ref position, table, limits, true, ref state,
                out at, out count);
            if (next == null) return;       // the parser decides what the short way does not take
            Assert.Equal(ParseStatus.Complete, status);
            Assert.Equal(position, (int)(next - input));
            Assert.Equal(count, head.Arguments);
            for (int i = 0; i < count; i++)
            {
                Assert.True(items[i].Pointer == table.Items[at + i].Pointer);
                Assert.Equal(table.Items[at + i].Length, items[i].Length);
                Assert.Equal(0, items[i].Flags);
            }
        }
    }

    [Fact]
    public void A_repeated_command_takes_the_short_way()
    {
        byte[] buffer = new byte[200];
        Encoding.ASCII.GetBytes("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n").CopyTo(buffer, 0);
        using var table = new ArgumentTable();
        fixed (byte* input = buffer)
        {
            var state = default(ParseState);
            int position = 0;
            CommandParser.Parse(input, 40, ref position, table, new RespLimits(), true, ref state, out int at,
                out int count);
            var head = default(CommandHead);
            Assert.True(head.TryRemember(input, table.Items + at, count));
            Assert.True(head.Matches(input + 20));
            Argument* items = stackalloc Argument[2];
            Assert.True(head.ReadRest(input + 20, input + 40, items, new RespLimits()) == input + 40);
            Assert.Equal((byte)'b', items[1].Pointer[0]);
        }
    }
}
