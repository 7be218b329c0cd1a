using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

/// <summary>Bulks over 64 KB that are received into blocks of their own, as a transport does.</summary>
public unsafe class BigBulkTests
{
    private const int ReceiveBytes = 16 * 1024;

    [Fact]
    public void A_megabyte_never_enters_the_input_buffer()
    {
        byte[] value = RandomBytes(Seed.NewRandom(1), 1024 * 1024);
        byte[] wire = [.. Encode("SET"u8.ToArray(), "k"u8.ToArray(), value), .. "*1\r\n$4\r\nPING\r\n"u8];
        var receiver = new Receiver(wire, Seed.NewRandom(2), pieceMax: ReceiveBytes);
        receiver.Run();
        Assert.Equal(2, receiver.Commands.Count);
        Assert.Equal(value, receiver.Commands[0][2]);
        Assert.Equal("PING"u8.ToArray(), receiver.Commands[1][0]);
        Assert.Equal(1, receiver.Blocks);
        Assert.InRange(receiver.InputBytesMax, 1, ReceiveBytes + 64);
    }

    [Fact]
    public void Several_big_bulks_in_one_command_arrive_in_any_pieces()
    {
        Random random = Seed.NewRandom(3);
        for (int round = TimeBudget.Count(60); round > 0; round--)
        {
            byte[][] words = new byte[random.Next(2, 9)][];
            for (int index = 0; index < words.Length; index++) words[index] = RandomBytes(random, RandomLength(random));
            byte[] wire = [.. Encode(words), .. Encode("PING"u8.ToArray()), .. Encode(words), .. "inline x\r\n"u8];
            var receiver = new Receiver(wire, random, pieceMax: random.Next(2) == 0 ? ReceiveBytes : 200_000);
            receiver.Run();
            string expected = string.Join('|',
                ((byte[][][])[words, ["PING"u8.ToArray()], words, ["inline"u8.ToArray(), "x"u8.ToArray()]])
                .Select(Digest));
            Assert.True(expected == string.Join('|', receiver.Commands.Select(Digest)), Seed.Hint);
        }
    }

    [Fact]
    public void A_caller_may_ignore_the_offer_and_go_on_reading_into_the_input()
    {
        Random random = Seed.NewRandom(4);
        byte[][] words = ["MSET"u8.ToArray(), "a"u8.ToArray(), RandomBytes(random, 100_000), "b"u8.ToArray(),
            RandomBytes(random, 70_000)];
        byte[] wire = Encode(words);
        using var run = new ParserRun();
        for (int round = TimeBudget.Count(30); round > 0; round--)
        {
            ParserResult result = run.Run(wire, CommandParserTests.RandomCuts(random, wire.Length));
            Assert.True(Digest(result.Commands.Single()) == Digest(words), Seed.Hint);
        }
    }

    [Theory]
    [InlineData(ParseState.BigBulkBytes, false)]
    [InlineData(ParseState.BigBulkBytes + 1, true)]
    public void Offers_bulks_above_64_KB_only(int bytes, bool offered)
    {
        using var run = new ParserRun();
        Assert.Equal(ParseStatus.NeedMoreData,
            run.ParseAll(Encoding.ASCII.GetBytes($"*2\r\n$4\r\nECHO\r\n${bytes}\r\nabc"), [], out _));
        Assert.Equal(offered ? bytes : 0, run.State.BigBulkLength);
        if (offered) Assert.Equal("*2\r\n$4\r\nECHO\r\n$65537\r\n".Length, run.State.BigBulkOffset);
    }

    [Fact]
    public void Does_not_offer_a_bulk_of_which_only_the_end_mark_is_missing()
    {
        using var run = new ParserRun();
        byte[] wire = [.. "*1\r\n$70000\r\n"u8, .. new byte[70000]];
        Assert.Equal(ParseStatus.NeedMoreData, run.ParseAll(wire, [], out _));
        Assert.Equal(0, run.State.BigBulkLength);
    }

    [Theory]
    [InlineData("\r\n", ParseStatus.Complete)]
    [InlineData("\r", ParseStatus.NeedMoreData)]
    [InlineData("", ParseStatus.NeedMoreData)]
    [InlineData("\n", ParseStatus.ExpectedCrlf)]
    [InlineData("\rx", ParseStatus.ExpectedCrlf)]
    public void Checks_the_CR_LF_behind_the_block(string behind, ParseStatus expected)
    {
        byte[] head = [.. "*2\r\n$4\r\nECHO\r\n$70000\r\n"u8];
        byte* block = (byte*)NativeMemory.AllocZeroed(70000);
        using var run = new ParserRun();
        Assert.Equal(ParseStatus.NeedMoreData, run.ParseAll([.. head, 1, 2, 3], [], out _));
        run.State.CompleteBigBulk(block, 70000);
        var commands = new List<byte[][]>();
        ParseStatus status = run.ParseAll([.. head, .. Encoding.ASCII.GetBytes(behind)], commands, out _);
        // ParseAll asks on after a complete command, and then needs more.
        Assert.Equal(expected == ParseStatus.Complete ? ParseStatus.NeedMoreData : expected, status);
        Assert.Equal(expected == ParseStatus.Complete ? 1 : 0, commands.Count);
        if (commands.Count == 0)
        {
            // Given up: the block is found where the caller looks for what it must free.
            Argument kept = run.State.KeptArguments[1];
            Assert.True(kept.IsInBlock);
            Assert.True(kept.Pointer == block);
        }

        NativeMemory.Free(block);
    }

    private static int RandomLength(Random random) => random.Next(4) switch
    {
        0 => random.Next(ParseState.BigBulkBytes - 3, ParseState.BigBulkBytes + 4),
        1 => random.Next(ParseState.BigBulkBytes, 300_000),
        2 => random.Next(0, 20_000),
        _ => random.Next(0, 20),
    };

    private static byte[] RandomBytes(Random random, int length)
    {
        byte[] bytes = new byte[length];
        random.NextBytes(bytes);
        return bytes;
    }

    private static byte[] Encode(params byte[][] words) => RespText.Encode(words);

    private static string Digest(byte[][] words) =>
        string.Join(' ', words.Select(
            word => $"{word.Length}:{Convert.ToHexString(System.Security.Cryptography.SHA256.HashData(word))}"));

    /// <summary>A transport that takes the parser's offer: bodies go into blocks while they arrive.</summary>
    private sealed class Receiver(byte[] wire, Random random, int pieceMax)
    {
        private int _sent;

        public List<byte[][]> Commands { get; } = [];

        public int Blocks { get; private set; }

        public int InputBytesMax { get; private set; }

        public void Run()
        {
            using var table = new ArgumentTable();
            using var input = new GuardedInput(1024 * 1024);
            var limits = new RespLimits();
            var blocks = new List<nint>();
            ParseState state = default;
            byte[] held = [];
            while (_sent < wire.Length)
            {
                held = [.. held, .. Receive(pieceMax)];
                // What is behind the input changes with every call, as in a buffer that many sessions share.
                byte* start = input.Place(held, random.Next(2) == 0 ? "\r\n"u8 : "$1\r\n"u8);
                InputBytesMax = Math.Max(InputBytesMax, held.Length);
                int position = 0;
                ParseStatus status;
                while ((status = CommandParser.Parse(start, held.Length, ref position, table, limits, true, ref state,
                    out int first, out int count)) == ParseStatus.Complete)
                {
                    var command = new byte[count][];
                    for (int index = 0; index < count; index++)
                        command[index] = table.Items[first + index].Span.ToArray();
                    Commands.Add(command);
                    table.Clear();
                    foreach (nint block in blocks) NativeMemory.Free((void*)block);
                    blocks.Clear();
                }

                Assert.Equal(ParseStatus.NeedMoreData, status);
                held = held[position..];
                if (state.BigBulkLength > 0) held = Take(ref state, held, blocks);
            }

            Assert.Empty(held);
            Assert.Equal(0, state.KeptBytes);
        }

        private byte[] Take(ref ParseState state, byte[] held, List<nint> blocks)
        {
            Blocks++;
            int length = state.BigBulkLength;
            var block = (byte*)NativeMemory.Alloc((nuint)length);
            var body = new Span<byte>(block, length);
            blocks.Add((nint)block);
            ReadOnlySpan<byte> there = held.AsSpan(state.BigBulkOffset);
            Assert.True(there.Length < length, "a whole body is no longer offered");
            there.CopyTo(body);
            int have = there.Length;
            while (have < length)
            {
                byte[] piece = Receive(Math.Min(pieceMax, length - have));
                piece.CopyTo(body[have..]);
                have += piece.Length;
            }

            byte[] head = held[..state.BigBulkOffset];
            state.CompleteBigBulk(block, length);
            return head;
        }

        private byte[] Receive(int most)
        {
            int bytes = Math.Min(random.Next(3) == 0 ? random.Next(1, 40) : random.Next(1, most + 1),
                Math.Min(most, wire.Length - _sent));
            _sent += bytes;
            return wire[(_sent - bytes).._sent];
        }
    }
}
