using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

public class ReplyWriterTests
{
    [Fact]
    public void Writes_the_common_replies_alike_in_both_versions()
    {
        foreach (RespVersion version in Enum.GetValues<RespVersion>())
        {
            Assert.Equal("+OK\r\n", Written(version, writer => writer.WriteOk()));
            Assert.Equal("+PONG\r\n", Written(version, writer => writer.WriteSimple("PONG"u8)));
            Assert.Equal("-ERR no\r\n", Written(version, writer => writer.WriteError("ERR no"u8)));
            Assert.Equal("$0\r\n\r\n", Written(version, writer => writer.WriteBulk(default)));
            Assert.Equal("*0\r\n", Written(version, writer => writer.WriteArray(0)));
        }
    }

    [Fact]
    public void Writes_each_type_in_the_form_of_the_version()
    {
        Check(writer => writer.WriteNull(), "$-1\r\n", "_\r\n");
        Check(writer => writer.WriteNullArray(), "*-1\r\n", "_\r\n");
        Check(writer => writer.WriteBoolean(true), ":1\r\n", "#t\r\n");
        Check(writer => writer.WriteBoolean(false), ":0\r\n", "#f\r\n");
        Check(writer => writer.WriteDouble(1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
        Check(writer => writer.WriteDouble(double.NegativeInfinity), "$4\r\n-inf\r\n", ",-inf\r\n");
        Check(writer => writer.WriteVerbatim("hello world"u8), "$11\r\nhello world\r\n", "=15\r\ntxt:hello world\r\n");
        Check(writer => writer.WriteVerbatim(default), "$0\r\n\r\n", "=4\r\ntxt:\r\n");
        Check(writer => writer.WriteBigNumber("12345678901234567890"u8), "$20\r\n12345678901234567890\r\n",
            "(12345678901234567890\r\n");
        Check(writer => { writer.WriteMap(1); writer.WriteOk(); writer.WriteNull(); }, "*2\r\n+OK\r\n$-1\r\n",
            "%1\r\n+OK\r\n_\r\n");
        Check(writer => { writer.WriteSet(1); writer.WriteInteger(7); }, "*1\r\n:7\r\n", "~1\r\n:7\r\n");
        Check(writer => { writer.WritePush(1); writer.WriteInteger(7); writer.WriteOk(); }, "*1\r\n:7\r\n+OK\r\n",
            ">1\r\n:7\r\n+OK\r\n");
    }

    [Fact]
    public void Writes_every_length_of_integer_and_bulk()
    {
        foreach (long value in NumberTextTests.InterestingIntegers())
        {
            string text = value.ToString(System.Globalization.CultureInfo.InvariantCulture);
            Assert.Equal($":{text}\r\n", Written(RespVersion.Resp2, writer => writer.WriteInteger(value)));
            Assert.Equal($"${text.Length}\r\n{text}\r\n",
                Written(RespVersion.Resp2, writer => writer.WriteBulkInteger(value)));
        }

        for (int length = 0; length < 1200; length++)
        {
            string text = new('x', length);
            byte[] bytes = Encoding.ASCII.GetBytes(text);
            Assert.Equal($"${length}\r\n{text}\r\n", Written(RespVersion.Resp2, writer => writer.WriteBulk(bytes)));
            Assert.Equal($"${length}\r\n{text}\r\n",
                Written(RespVersion.Resp3, writer => bytes.CopyTo(writer.BeginBulk(length))));
        }

        foreach (int count in (int[])[0, 1, 9, 10, 11, 99, 100, 12345, int.MaxValue])
            Assert.StartsWith($"*{count}\r\n", Raw(RespVersion.Resp2, writer => writer.WriteArray(count)));
    }

    // Known bug P07: text of a client in an error or simple string.
    [Fact]
    public void Known_P07_error_text_cannot_inject_a_reply()
    {
        Assert.Equal("-ERR unknown 'a  +OK b'\r\n",
            Written(RespVersion.Resp2, writer => writer.WriteError("ERR unknown 'a\r\n+OK\0b'"u8)));
        Assert.Equal("+a  b\r\n", Written(RespVersion.Resp3, writer => writer.WriteSimple("a\n\rb"u8)));
    }

    [Fact]
    public void Puts_the_header_of_an_array_in_front_afterwards()
    {
        foreach (int count in (int[])[0, 1, 9, 10, 150])
        {
            Check(writer => Fill(writer, writer.BeginArray(), count, writer.EndArray), $"*{count}\r\n{Numbers(count)}",
                $"*{count}\r\n{Numbers(count)}");
            Check(writer => Fill(writer, writer.BeginArray(), count, writer.EndSet), $"*{count}\r\n{Numbers(count)}",
                $"~{count}\r\n{Numbers(count)}");
            Check(writer => Fill(writer, writer.BeginArray(), count * 2, (mark, both) => writer.EndMap(mark, both / 2)),
                $"*{count * 2}\r\n{Numbers(count * 2)}", $"%{count}\r\n{Numbers(count * 2)}");
        }
    }

    [Fact]
    public void Nested_arrays_may_all_be_counted_afterwards()
    {
        Check(
            writer =>
            {
                ReplyMark outer = writer.BeginArray();
                ReplyMark inner = writer.BeginArray();
                writer.WriteInteger(1);
                writer.EndArray(inner, 1);
                writer.WriteNull();
                writer.EndArray(outer, 2);
            },
            "*2\r\n*1\r\n:1\r\n$-1\r\n",
            "*2\r\n*1\r\n:1\r\n_\r\n");
    }

    [Fact]
    public void Counts_what_is_owed()
    {
        using var writer = new ReplyWriter();
        writer.BeginReply();
        Assert.Equal(1, writer.Owed);
        writer.WriteMap(2);
        Assert.Equal(4, writer.Owed);
        writer.WriteOk();
        writer.WriteArray(2);
        Assert.Equal(4, writer.Owed);
        writer.WriteNull();
        writer.WriteBulkInteger(1);
        writer.WriteRaw(":1\r\n:2\r\n"u8, 2);
        Assert.Equal(0, writer.Owed);
        writer.WriteOk();
        Assert.Equal(-1, writer.Owed);
    }

    [Fact]
    public void Rewinding_forgets_bytes_and_count()
    {
        using var writer = new ReplyWriter { Version = RespVersion.Resp3 };
        writer.BeginReply();
        writer.WriteOk();
        writer.BeginReply();
        ReplyMark mark = writer.Mark();
        writer.WriteArray(1000);
        writer.WriteBulk(new byte[100_000]);
        writer.Rewind(mark);
        Assert.Equal((5, 1), (writer.Output.Length, writer.Owed));
        Assert.False(writer.LastWasError);
        writer.WriteError("WRONGTYPE Operation"u8);
        Assert.Equal("+OK\r\n-WRONGTYPE Operation\r\n", Encoding.ASCII.GetString(writer.Output.Span));
        Assert.Equal((0, 5), (writer.Owed, writer.ErrorOffset));
    }

    [Theory]
    [InlineData("ERR syntax error", "ERR")]
    [InlineData("WRONGTYPE Operation against", "WRONGTYPE")]
    [InlineData("OOM", "OOM")]
    public void Tells_the_code_of_an_error(string text, string code)
    {
        using var writer = new ReplyWriter();
        writer.BeginReply();
        Assert.False(writer.LastWasError);
        writer.WriteError(Encoding.ASCII.GetBytes(text));
        Assert.True(writer.LastWasError);
        Assert.Equal(code, Encoding.ASCII.GetString(writer.ErrorCode));
        writer.BeginReply();
        writer.WriteArray(1);
        writer.WriteError("ERR inside"u8);
        Assert.False(writer.LastWasError);
        Assert.Equal(0, writer.ErrorCode.Length);
    }

    [Fact]
    public void A_reply_over_the_limit_can_be_rewound()
    {
        using var writer = new ReplyWriter(new OutputBuffer(1024) { LimitBytes = 100_000 });
        writer.BeginReply();
        ReplyMark mark = writer.Mark();
        Assert.Throws<ReplyTooLargeException>(() =>
        {
            for (int count = 0; count < 10_000; count++) writer.WriteBulk("0123456789"u8);
        });
        Assert.InRange(writer.Output.Length, 90_000, 100_000);
        writer.Rewind(mark);
        writer.WriteError("ERR reply is larger than max-reply-bytes"u8);
        Assert.Equal(0, writer.Owed);
        Assert.Throws<ReplyTooLargeException>(() => writer.BeginBulk(int.MaxValue - 18));
        Assert.Throws<OverflowException>(() => writer.BeginBulk(int.MaxValue));
    }

    // Whatever is written, in whatever version, the reader of the client's side takes apart again.
    [Fact]
    public void Random_replies_read_back_the_same()
    {
        Random random = Seed.NewRandom(1);
        for (int round = TimeBudget.Count(3000); round > 0; round--)
        {
            RespVersion version = random.Next(2) == 0 ? RespVersion.Resp2 : RespVersion.Resp3;
            using var writer = new ReplyWriter(new OutputBuffer(16)) { Version = version };
            writer.BeginReply();
            string expected = RandomReply.Write(writer, random);
            Assert.Equal(0, writer.Owed);
            Assert.Equal(ReplyStatus.Complete,
                ReplyReader.TryRead(writer.Output.Span, out int consumed, out RespValue value));
            Assert.Equal(writer.Output.Length, consumed);
            Assert.True(expected == RandomReply.Shown(value), $"{expected}\n{RandomReply.Shown(value)}\n{Seed.Hint}");
        }
    }

    [Fact]
    public void Allocates_nothing_once_the_buffer_has_grown()
    {
        using var writer = new ReplyWriter { Version = RespVersion.Resp3 };
        WriteOneOfEach(writer);
        long before = GC.GetAllocatedBytesForCurrentThread();
        bool exact = true;
        for (int round = 0; round < 1000; round++) exact &= WriteOneOfEach(writer);
        Assert.True(exact);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    private static bool WriteOneOfEach(ReplyWriter writer)
    {
        writer.Output.Clear();
        writer.BeginReply();
        writer.WriteArray(9);
        writer.WriteOk();
        writer.WriteInteger(123456789);
        writer.WriteBulk("12345678"u8);
        writer.WriteBulkInteger(-5);
        writer.WriteNull();
        writer.WriteDouble(3.25);
        writer.WriteDouble(0.1);
        writer.WriteVerbatim("text"u8);
        writer.WriteError("ERR no\n"u8);
        return writer.Owed == 0;
    }

    private static void Fill(ReplyWriter writer, ReplyMark mark, int count, Action<ReplyMark, int> end)
    {
        for (int index = 0; index < count; index++) writer.WriteInteger(index);
        end(mark, count);
    }

    private static string Numbers(int count) =>
        string.Concat(Enumerable.Range(0, count).Select(number => $":{number}\r\n"));

    private static void Check(Action<ReplyWriter> write, string resp2, string resp3)
    {
        Assert.Equal(resp2, Written(RespVersion.Resp2, write));
        Assert.Equal(resp3, Written(RespVersion.Resp3, write));
    }

    private static string Written(RespVersion version, Action<ReplyWriter> write)
    {
        using var writer = new ReplyWriter { Version = version };
        writer.BeginReply();
        write(writer);
        Assert.Equal(0, writer.Owed);
        return Encoding.Latin1.GetString(writer.Output.Span);
    }

    private static string Raw(RespVersion version, Action<ReplyWriter> write)
    {
        using var writer = new ReplyWriter { Version = version };
        write(writer);
        return Encoding.Latin1.GetString(writer.Output.Span);
    }
}
