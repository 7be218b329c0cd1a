using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

public unsafe class CommandParserTests
{
    [Theory]
    [InlineData("*1\r\n$4\r\nPING\r\n", "[PING]\nComplete")]
    [InlineData("*2\r\n$3\r\nGET\r\n$8\r\nabcdefgh\r\n", "[GET] [abcdefgh]\nComplete")]
    [InlineData("*2\r\n$4\r\nECHO\r\n$12\r\nhello world!\r\n", "[ECHO] [hello world!]\nComplete")]
    [InlineData("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "[ECHO] []\nComplete")]
    [InlineData("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", "[PING]\n[QUIT]\nComplete")]
    [InlineData("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUI", "[PING]\nNeedMoreData")]
    [InlineData("PING\r\n", "[PING]\nComplete")]
    [InlineData("  set a  b\t\n", "[set] [a] [b]\nComplete")]
    [InlineData("\r\n\n  \r\nPING\n", "[PING]\nComplete")]
    [InlineData(
        "*11\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n"
        + "$1\r\nj\r\n$1\r\nk\r\n",
        "[a] [b] [c] [d] [e] [f] [g] [h] [i] [j] [k]\nComplete")]
    public void Reads_commands(string wire, string expected)
    {
        using var run = new ParserRun();
        Assert.Equal(expected, run.Run(Encoding.Latin1.GetBytes(wire)).ToString());
    }

    [Theory]
    [InlineData("*abc\r\n", ParseStatus.InvalidMultibulkLength)]
    [InlineData("*\r\n", ParseStatus.InvalidMultibulkLength)]
    [InlineData("*1048577\r\n", ParseStatus.InvalidMultibulkLength)]
    [InlineData("*1\rX", ParseStatus.InvalidMultibulkLength)]
    [InlineData("*111111111111111111111111111111111", ParseStatus.TooBigMbulkCount)]
    [InlineData("*1\r\n$111111111111111111111111111111111", ParseStatus.TooBigBulkCount)]
    [InlineData("*1\r\n$-1\r\n", ParseStatus.InvalidBulkLength)]
    [InlineData("*1\r\n$01\r\n", ParseStatus.InvalidBulkLength)]
    [InlineData("*1\r\n$536870913\r\n", ParseStatus.InvalidBulkLength)]
    [InlineData("*1\r\n$4\rX", ParseStatus.InvalidBulkLength)]
    [InlineData("*1\r\n$0\r\nX", ParseStatus.ExpectedCrlf)]
    [InlineData("set \"a\r\n", ParseStatus.UnbalancedQuotes)]
    [InlineData("set 'a'b\r\n", ParseStatus.UnbalancedQuotes)]
    [InlineData("set \0\r\n", ParseStatus.NulInInline)]
    public void Refuses_what_is_no_command_wherever_it_is_cut(string wire, ParseStatus expected)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(wire);
        using var run = new ParserRun();
        Assert.Equal(expected, run.Run(bytes).End);
        Assert.Equal(expected, run.Run(bytes, EveryByte(bytes.Length)).End);
    }

    [Theory]
    [InlineData(10, ParseStatus.NeedMoreData)]
    [InlineData(11, ParseStatus.UnauthenticatedMultibulk)]
    public void Bounds_the_arguments_of_a_client_before_AUTH(int count, ParseStatus expected)
    {
        using var run = new ParserRun { Authenticated = false };
        Assert.Equal(expected, run.Run(Encoding.ASCII.GetBytes($"*{count}\r\n")).End);
    }

    [Theory]
    [InlineData(16384, ParseStatus.NeedMoreData)]
    [InlineData(16385, ParseStatus.UnauthenticatedBulk)]
    public void Bounds_the_bulks_of_a_client_before_AUTH(int bytes, ParseStatus expected)
    {
        using var run = new ParserRun { Authenticated = false };
        Assert.Equal(expected, run.Run(Encoding.ASCII.GetBytes($"*1\r\n${bytes}\r\n")).End);
    }

    [Fact]
    public void Takes_an_inline_line_up_to_its_limit()
    {
        using var run = new ParserRun();
        byte[] line = [.. Enumerable.Repeat((byte)'A', run.Limits.MaxInlineBytes)];
        Assert.Equal(ParseStatus.NeedMoreData, run.Run(line).End);
        Assert.Single(run.Run([.. line, (byte)'\n']).Commands);
        Assert.Equal(ParseStatus.TooBigInline, run.Run([.. line, (byte)'A']).End);
        Assert.Equal(ParseStatus.TooBigInline, run.Run([.. line, (byte)'A', (byte)'\n']).End);
    }

    [Fact]
    public void A_changed_limit_applies_to_the_next_command()
    {
        using var run = new ParserRun();
        byte[] wire = [.. "*1\r\n$1048577\r\n"u8];
        Assert.Equal(ParseStatus.NeedMoreData, run.Run(wire).End);
        run.Limits.MaxBulkBytes = 1024 * 1024;
        Assert.Equal(ParseStatus.InvalidBulkLength, run.Run(wire).End);
        Assert.Throws<ArgumentOutOfRangeException>(() => run.Limits.MaxBulkBytes = 1024 * 1024 - 1);
        run.Limits.MaxArguments = 16;
        Assert.Equal(ParseStatus.InvalidMultibulkLength, run.Run("*17\r\n"u8).End);
    }

    // A TCP segment can end at any byte: every proper prefix gives exactly the commands that are whole in it.
    [Fact]
    public void Asks_for_more_wherever_the_input_is_cut()
    {
        Random random = Seed.NewRandom(1);
        using var run = new ParserRun();
        for (int round = TimeBudget.Count(60); round > 0; round--)
        {
            RandomWire wire = RandomWire.Next(random);
            Assert.True(wire.Expected == run.Run(wire.Bytes).ToString(), Seed.Hint);
            string[] lines = [.. run.Run(wire.Bytes).Commands.Select(command => Text(command))];
            for (int cut = 0; cut < wire.Bytes.Length; cut++)
            {
                ParserResult result = run.Run(wire.Bytes.AsSpan(0, cut));
                bool clean = cut == 0 || wire.Ends.Contains(cut);
                Assert.True(result.End == (clean ? ParseStatus.Complete : ParseStatus.NeedMoreData),
                    $"cut {cut}: {result.End}; {Seed.Hint}");
                Assert.True(result.Commands.Count == wire.CommandsWithin(cut), Seed.Hint);
                Assert.True(result.Commands.Select(command => Text(command))
                    .SequenceEqual(lines.Take(result.Commands.Count)), Seed.Hint);
            }
        }
    }

    [Fact]
    public void Gives_the_same_commands_however_the_input_is_cut()
    {
        Random random = Seed.NewRandom(2);
        using var run = new ParserRun();
        for (int round = TimeBudget.Count(150); round > 0; round--)
        {
            RandomWire wire = RandomWire.Next(random);
            Assert.True(wire.Expected == run.Run(wire.Bytes, RandomCuts(random, wire.Bytes.Length))
                .ToString(), Seed.Hint);
            Assert.True(wire.Expected == run.Run(wire.Bytes, EveryByte(wire.Bytes.Length)).ToString(), Seed.Hint);
            for (int cut = 0; cut <= wire.Bytes.Length; cut += 7)
                Assert.True(wire.Expected == run.Run(wire.Bytes, cut).ToString(), $"cut at {cut}; {Seed.Hint}");
        }
    }

    // Over 16 KB the arguments found are kept, as offsets; the input moves between any two pieces.
    [Fact]
    public void Continues_large_commands_however_the_input_is_cut()
    {
        Random random = Seed.NewRandom(3);
        using var run = new ParserRun(1024 * 1024);
        for (int round = TimeBudget.Count(40); round > 0; round--)
        {
            byte[][] words = new byte[random.Next(2, 3000)][];
            for (int index = 0; index < words.Length; index++)
                words[index] = random.GetItems("ab$*\r\n0123456789"u8,
                    random.Next(40) == 0 ? random.Next(5000) : random.Next(30));
            byte[] wire = [.. RespText.Encode(words), .. "*1\r\n$4\r\nPING\r\n"u8];
            string expected = run.Run(wire).ToString();
            Assert.True(run.Run(wire).Commands[0].Zip(words)
                .All(pair => pair.First.AsSpan().SequenceEqual(pair.Second)), Seed.Hint);
            Assert.True(expected == run.Run(wire, RandomCuts(random, wire.Length)).ToString(), Seed.Hint);
        }
    }

    [Fact]
    public void A_large_command_in_small_pieces_costs_each_byte_once()
    {
        // 200,000 arguments in pieces of 16 bytes: 87,500 calls. Were each to begin anew, that would be 10^10
        // arguments.
        byte[] wire = RespText.Encode([.. Enumerable.Repeat("x"u8.ToArray(), 200_000)]);
        byte[] padded = [.. wire, .. new byte[CommandParser.PaddingBytes]];
        using var table = new ArgumentTable();
        var limits = new RespLimits();
        ParseState state = default;
        int position = 0;
        fixed (byte* input = padded)
        {
            for (int arrived = 16; arrived < wire.Length; arrived += 16)
            {
                ParseStatus status = CommandParser.Parse(input, arrived, ref position, table, limits, true, ref state,
                    out _, out _);
                Assert.Equal(ParseStatus.NeedMoreData, status);
            }

            Assert.True(state.KeptCount > 190_000);
            Assert.Equal(ParseStatus.Complete,
                CommandParser.Parse(input, wire.Length, ref position, table, limits, true, ref state, out _,
                    out int count));
            Assert.Equal(200_000, count);
            Assert.Equal(0, state.KeptBytes);
            Assert.False(state.IsPartial);
        }
    }

    [Fact]
    public void What_lies_beyond_the_input_never_influences_the_result()
    {
        Random random = Seed.NewRandom(4);
        byte[][] hostile =
        [
            [0], [.. "\r\n"u8], [.. "\n"u8], [.. "$-1\r\n"u8], [.. "*1\r\n$4\r\nEVIL\r\n"u8], [.. "$3\r\nabc\r\n"u8],
            [.. "0"u8], [.. "9\r\n"u8],
            [.. "\r"u8], [.. "\""u8], [.. "*-"u8], [255],
        ];
        using var run = new ParserRun();
        for (int round = TimeBudget.Count(8); round > 0; round--)
        {
            RandomWire wire = RandomWire.Next(random, commandsMax: 3);
            for (int cut = 0; cut <= wire.Bytes.Length; cut++)
            {
                run.Beyond = [];
                string expected = run.Run(wire.Bytes.AsSpan(0, cut)).ToString();
                // The very bytes that would have come next are the most tempting of all.
                foreach (byte[] beyond in (byte[][])[.. hostile, wire.Bytes[cut..]])
                {
                    run.Beyond = beyond;
                    Assert.True(expected == run.Run(wire.Bytes.AsSpan(0, cut)).ToString(), $"cut {cut}; {Seed.Hint}");
                }
            }
        }
    }

    // Right or wrong, whole or in pieces, fast or slow, with any bytes behind: one answer, and no byte read past the
    // padding.
    [Fact]
    public void Mutated_input_gives_one_answer_on_every_path()
    {
        Random random = Seed.NewRandom(5);
        using var run = new ParserRun();
        run.Limits.MaxInlineBytes = 300;
        for (int round = TimeBudget.Count(200_000); round > 0; round--)
        {
            byte[] wire = Mutation.Of(RandomWire.Next(random, commandsMax: 3).Bytes, random);
            run.Authenticated = random.Next(8) != 0;
            run.SlowOnly = false;
            string whole = run.Run(wire).ToString();
            run.SlowOnly = true;
            string slow = run.Run(wire).ToString();
            run.SlowOnly = false;
            run.Beyond = Mutation.Of(wire, random);
            string pieces = run.Run(wire, RandomCuts(random, wire.Length)).ToString();
            Assert.True(whole == slow && whole == pieces,
                $"{RespText.Quote(wire)}\nwhole: {whole}\nslow: {slow}\npieces: {pieces}\n{Seed.Hint}");
            run.Beyond = [];
        }
    }

    [Fact]
    public void Allocates_nothing_for_commands_whole_or_cut()
    {
        byte[] wire = [.. "*3\r\n$3\r\nSET\r\n$8\r\nkey:0001\r\n$128\r\n"u8, .. new byte[128],
            .. "\r\nset \"a b\" c\r\n*2\r\n$3\r\nGET\r\n$8\r\nkey:"u8, .. new byte[CommandParser.PaddingBytes]];
        using var table = new ArgumentTable();
        var limits = new RespLimits();
        fixed (byte* input = wire)
        {
            ParseThrice(input, wire.Length - CommandParser.PaddingBytes, table, limits);
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int round = 0; round < 1000; round++)
                Assert.True(ParseThrice(input, wire.Length - CommandParser.PaddingBytes, table, limits));
            Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        }
    }

    internal static int[] EveryByte(int length) => [.. Enumerable.Range(0, length)];

    internal static int[] RandomCuts(Random random, int length)
    {
        var cuts = new int[random.Next(1, 12)];
        for (int index = 0; index < cuts.Length; index++) cuts[index] = random.Next(length + 1);
        Array.Sort(cuts);
        return cuts;
    }

    private static bool ParseThrice(byte* input, int length, ArgumentTable table, RespLimits limits)
    {
        ParseState state = default;
        int position = 0;
        table.Clear();
        bool set = CommandParser.Parse(input, length, ref position, table, limits, true, ref state, out _,
            out int three) == ParseStatus.Complete;
        bool inline = CommandParser.Parse(input, length, ref position, table, limits, true, ref state, out _,
            out _) == ParseStatus.Complete;
        bool cut = CommandParser.Parse(input, length, ref position, table, limits, true, ref state, out _,
            out _) == ParseStatus.NeedMoreData;
        state.Reset();
        return set && inline && cut && three == 3;
    }

    private static string Text(byte[][] command) =>
        string.Join(' ', command.Select(word => Encoding.Latin1.GetString(word)));
}
