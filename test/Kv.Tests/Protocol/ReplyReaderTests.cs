using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

public class ReplyReaderTests
{
    [Theory]
    [InlineData("+OK\r\n", "OK")]
    [InlineData("-ERR x\r\n", "(error) ERR x")]
    [InlineData(":-12\r\n", "(integer) -12")]
    [InlineData("$3\r\na\r\n\r\n", "\"a\r\n\"")]
    [InlineData("$-1\r\n", "(nil)")]
    [InlineData("*-1\r\n", "(nil)")]
    [InlineData("_\r\n", "(nil)")]
    [InlineData("#t\r\n", "(true)")]
    [InlineData(",-1.5e3\r\n", "(double) -1.5e3")]
    [InlineData(",nan\r\n", "(double) nan")]
    [InlineData(",inf\r\n", "(double) inf")]
    [InlineData("(-123456789012345678901\r\n", "\"-123456789012345678901\"")]
    [InlineData("!5\r\nERR x\r\n", "(error) ERR x")]
    [InlineData("=7\r\ntxt:abc\r\n", "\"abc\"")]
    [InlineData("*2\r\n:1\r\n*1\r\n+a\r\n", "*[(integer) 1, *[a]]")]
    [InlineData("%1\r\n+k\r\n:2\r\n", "%[k, (integer) 2]")]
    [InlineData("~1\r\n:2\r\n", "~[(integer) 2]")]
    [InlineData(">1\r\n:2\r\n", ">[(integer) 2]")]
    [InlineData("|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n", "\"x\"")]
    public void Reads_every_type_wherever_it_is_cut(string wire, string expected)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(wire);
        Assert.Equal(ReplyStatus.Complete,
            ReplyReader.TryRead([.. bytes, .. "+next\r\n"u8], out int consumed, out RespValue value));
        Assert.Equal((bytes.Length, expected.Replace("!", "")), (consumed, value.ToString()));
        for (int cut = 0; cut < bytes.Length; cut++)
        {
            Assert.Equal(ReplyStatus.NeedMoreData, ReplyReader.TryRead(bytes.AsSpan(0, cut), out consumed, out _));
            Assert.Equal(0, consumed);
            int position = 0;
            Assert.Equal(ReplyStatus.NeedMoreData, ReplyReader.TrySkip(bytes.AsSpan(0, cut), ref position, out _));
            Assert.Equal(0, position);
        }
    }

    [Fact]
    public void Keeps_attributes_with_the_reply_they_belong_to()
    {
        Assert.Equal(ReplyStatus.Complete,
            ReplyReader.TryRead("|1\r\n+ttl\r\n:9\r\n*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n"u8, out _, out RespValue value));
        Assert.Equal("ttl", value.Attributes[0].Text);
        Assert.Equal(9, value.Attributes[1].Integer);
        Assert.Equal("b", value.Elements[0].Attributes[1].Text);
    }

    [Theory]
    [InlineData("hello\r\n")]
    [InlineData("$-2\r\n")]
    [InlineData("$+1\r\n")]
    [InlineData("%-1\r\n")]
    [InlineData("$1\r\nabc")]
    [InlineData("+OK\rx")]
    [InlineData(":1.5\r\n")]
    [InlineData("#x\r\n")]
    [InlineData("_x\r\n")]
    [InlineData(",x\r\n")]
    [InlineData("*99999999999\r\n")]
    [InlineData("=2\r\nab\r\n")]
    public void Refuses_what_is_no_reply(string wire) =>
        Assert.Equal(ReplyStatus.Invalid, ReplyReader.TryRead(Encoding.ASCII.GetBytes(wire), out _, out _));

    [Fact]
    public void Nesting_is_bounded()
    {
        byte[] allowed = Encoding.ASCII.GetBytes(
            string.Concat(Enumerable.Repeat("*1\r\n", RespLimits.MaxReplyDepth)) + ":1\r\n");
        Assert.Equal(ReplyStatus.Complete, ReplyReader.TryRead(allowed, out _, out _));
        Assert.Equal(ReplyStatus.TooDeep, ReplyReader.TryRead([.. "*1\r\n"u8, .. allowed], out _, out _));
        byte[] abyss = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("*1\r\n", 1_000_000)) + ":1\r\n");
        Assert.Equal(ReplyStatus.TooDeep, ReplyReader.TryRead(abyss, out _, out _));
        int position = 0;
        Assert.Equal(ReplyStatus.Complete, ReplyReader.TrySkip(abyss, ref position, out _));
    }

    [Fact]
    public void A_header_allocates_nothing()
    {
        byte[] wire = [.. "*2147483647\r\n:1\r\n"u8];
        ReplyReader.TryRead(wire, out _, out _);
        long before = GC.GetAllocatedBytesForCurrentThread();
        ReplyStatus status = ReplyReader.TryRead(wire, out _, out _);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.Equal((ReplyStatus.NeedMoreData, 0), (status, allocated));
    }

    [Fact]
    public void Skips_exactly_what_it_reads_and_tells_the_type()
    {
        Random random = Seed.NewRandom(1);
        using var writer = new ReplyWriter { Version = RespVersion.Resp3 };
        for (int round = TimeBudget.Count(2000); round > 0; round--)
        {
            writer.Output.Clear();
            writer.BeginReply();
            RandomReply.Write(writer, random);
            int position = 0;
            Assert.Equal(ReplyStatus.Complete, ReplyReader.TrySkip(writer.Output.Span, ref position, out byte type));
            Assert.Equal((writer.Output.Length, writer.Output.Span[0]), (position, type));
        }
    }

    [Fact]
    public void Mutated_replies_never_crash_and_skipping_agrees_with_reading()
    {
        Random random = Seed.NewRandom(2);
        using var writer = new ReplyWriter();
        for (int round = TimeBudget.Count(50_000); round > 0; round--)
        {
            writer.Output.Clear();
            writer.Version = random.Next(2) == 0 ? RespVersion.Resp2 : RespVersion.Resp3;
            RandomReply.Write(writer, random);
            byte[] wire = Mutation.Of(writer.Output.Span, random);
            int position = 0;
            ReplyStatus skipped = ReplyReader.TrySkip(wire, ref position, out _);
            ReplyStatus read = ReplyReader.TryRead(wire, out int consumed, out _);
            bool agree = read == ReplyStatus.Complete
                ? skipped == read && consumed == position
                : consumed == 0 && (skipped == read
                    || (skipped == ReplyStatus.Complete && read is ReplyStatus.Invalid or ReplyStatus.TooDeep));
            Assert.True(agree,
                $"{RespText.Quote(wire)}: skip {skipped} {position}, read {read} {consumed}; {Seed.Hint}");
        }
    }
}
