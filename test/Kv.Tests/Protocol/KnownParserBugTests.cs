using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

/// <summary>The catalogue of known bugs of such servers, as far as a parser can have them.</summary>
public class KnownParserBugTests
{
    // CVE-2021-32675
    [Theory]
    [InlineData("*1048576\r\n")]
    [InlineData("*1048576\r\n$536870912\r\n")]
    [InlineData("*1048576\r\n$1\r\nx\r\n$536870912\r\n")]
    public void Known_P01_an_announced_length_allocates_nothing(string wire)
    {
        using var run = new ParserRun();
        long before = run.Table.CapacityBytes;
        Assert.Equal(ParseStatus.NeedMoreData, run.ParseAll(Encoding.ASCII.GetBytes(wire), [], out _));
        Assert.Equal(before, run.Table.CapacityBytes);
        Assert.InRange(run.State.KeptBytes, 0, 1024);

        run.Reset();
        run.Authenticated = false;
        Assert.Equal(ParseStatus.UnauthenticatedMultibulk, run.ParseAll(Encoding.ASCII.GetBytes(wire), [], out _));
    }

    [Theory]
    [InlineData("*1\r\n:4\r\n", ':')]
    [InlineData("*1\r\n*1\r\n$4\r\nPING\r\n", '*')]
    [InlineData("*1\r\n+PING\r\n", '+')]
    [InlineData("*2\r\n$4\r\nECHO\r\n\u0089PNG\r\n", '\u0089')]
    public void Known_P05_only_bulks_may_follow_a_multibulk_header(string wire, char got)
    {
        using var run = new ParserRun();
        ParserResult result = run.Run(Encoding.Latin1.GetBytes(wire));
        Assert.Equal((ParseStatus.ExpectedDollar, (byte)got), (result.End, result.Got));
        Assert.Equal($"ERR Protocol error: expected '$', got '{got}'",
            Encoding.Latin1.GetString(ProtocolErrors.Text(result.End, result.Got)));
    }

    [Fact]
    public void Known_P05_a_picture_is_refused()
    {
        using var run = new ParserRun();
        Assert.Equal(ParseStatus.NulInInline,
            run.Run([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52]).End);
    }

    [Fact]
    public void Known_P06_a_push_from_a_client_is_an_inline_command()
    {
        using var run = new ParserRun();
        Assert.Equal("[>1]\n[$4]\n[PING]\nComplete", run.Run(">1\r\n$4\r\nPING\r\n"u8).ToString());
    }

    [Theory]
    [InlineData("\0", ParseStatus.NulInInline)]
    [InlineData("*\0", ParseStatus.TooBigMbulkCount)]
    [InlineData("*1\r\n$\0", ParseStatus.TooBigBulkCount)]
    [InlineData("*\0\r\n", ParseStatus.InvalidMultibulkLength)]
    public void Known_P08_a_NUL_and_a_flood_end_within_the_limit(string wire, ParseStatus expected)
    {
        using var run = new ParserRun();
        byte[] flood = [.. Encoding.Latin1.GetBytes(wire), .. Enumerable.Repeat((byte)'x', 100_000)];
        Assert.Equal(expected, run.Run(flood).End);
        Assert.Equal(expected, run.Run(flood.AsSpan(0, 64), CommandParserTests.EveryByte(64)).End);
    }

    [Theory]
    [InlineData("*1\r\n$4\r\nPINGab")]
    [InlineData("*1\r\n$4\r\nPING\r\r")]
    [InlineData("*1\r\n$4\r\nPING\n\n")]
    [InlineData(
        "*2\r\n$4\r\nECHO\r\n$100\r\n"
        + "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789xx")]
    public void Known_P10_a_bulk_without_its_end_is_refused(string wire)
    {
        using var run = new ParserRun();
        Assert.Equal(ParseStatus.ExpectedCrlf, run.Run(Encoding.ASCII.GetBytes(wire)).End);
    }

    [Fact]
    public void Known_P10_a_header_with_LF_only_waits_for_CR_LF_and_is_refused_then()
    {
        using var run = new ParserRun();
        Assert.Equal(ParseStatus.NeedMoreData, run.Run("*1\n"u8).End);
        Assert.Equal(ParseStatus.NeedMoreData, run.Run("*1\n$4\nPING\n"u8).End);
        Assert.Equal(ParseStatus.InvalidMultibulkLength, run.Run("*1\n$4\r\n"u8).End);
        Assert.Equal(ParseStatus.TooBigMbulkCount, run.Run("*1\n$4\nPING\n*1\n$4\nPING\n*1\n$4\nPING\n*"u8).End);
    }

    [Theory]
    [InlineData("*-1\r\n")]
    [InlineData("*0\r\n")]
    [InlineData("*-2147483649\r\n")]
    [InlineData("\r\n")]
    public void Known_P11_an_empty_command_is_ignored(string wire)
    {
        using var run = new ParserRun();
        Assert.Equal("[PING]\nComplete", run.Run([.. Encoding.ASCII.GetBytes(wire), .. "*1\r\n$4\r\nPING\r\n"u8])
            .ToString());
    }

    [Theory]
    [InlineData("*+1")]
    [InlineData("*01")]
    [InlineData("* 1")]
    [InlineData("*2147483648")]
    [InlineData("*-0")]
    [InlineData("*1 ")]
    [InlineData("*1\r\n$-1")]
    [InlineData("*1\r\n$-2")]
    [InlineData("*1\r\n$+4")]
    [InlineData("*1\r\n$")]
    [InlineData("*1\r\n$00")]
    [InlineData("*1\r\n$004")]
    [InlineData("*1\r\n$9223372036854775808")]
    public void Known_P11_an_odd_length_is_refused(string wire)
    {
        using var run = new ParserRun();
        ParseStatus expected = wire.Contains('$') ? ParseStatus.InvalidBulkLength : ParseStatus.InvalidMultibulkLength;
        Assert.Equal(expected, run.Run(Encoding.ASCII.GetBytes(wire + "\r\nxxxxxxxx")).End);
    }

    [Theory]
    [InlineData("*0\r\n*1\r\n$4\r\nPING\r\n")]
    [InlineData("\r\n*1\r\n$4\r\nPING\r\n")]
    [InlineData("*-1\r\nPING\r\n")]
    [InlineData("\r\nPING\r\n")]
    public void Known_P14_a_request_after_an_empty_one_is_read_wherever_it_is_cut(string wire)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(wire);
        using var run = new ParserRun();
        for (int cut = 0; cut <= bytes.Length; cut++)
            Assert.Equal("[PING]\nComplete", run.Run(bytes, cut).ToString());
        Assert.Equal("[PING]\nComplete", run.Run(bytes, CommandParserTests.EveryByte(bytes.Length)).ToString());
    }

    [Fact]
    public void Known_P23_a_name_is_any_bytes_of_any_length()
    {
        using var run = new ParserRun(2_000_000);
        byte[] name = new byte[1_000_000];
        name[5] = (byte)'\r';
        byte[] wire = [.. "*1\r\n$1000000\r\n"u8, .. name, .. "\r\n*1\r\n$0\r\n\r\n"u8];
        IReadOnlyList<byte[][]> commands = run.Run(wire).Commands;
        Assert.Equal(name, commands[0][0]);
        Assert.Empty(commands[1][0]);
    }
}
