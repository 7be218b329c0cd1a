using System.Text;
using Kv.Protocol;

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
            Assert.Equal(":0\r\n", Written(version, writer => writer.WriteInteger(0)));
            Assert.Equal(":-9223372036854775808\r\n", Written(version, writer => writer.WriteInteger(long.MinValue)));
            Assert.Equal("$0\r\n\r\n", Written(version, writer => writer.WriteBulk(default)));
            Assert.Equal("$8\r\nabcdefgh\r\n", Written(version, writer => writer.WriteBulk("abcdefgh"u8)));
            Assert.Equal("$11\r\nhello world\r\n", Written(version, writer => writer.WriteBulk("hello world"u8)));
            Assert.Equal("$3\r\n-42\r\n", Written(version, writer => writer.WriteBulkInteger(-42)));
        }
    }

    private static string Written(RespVersion version, Action<ReplyWriter> write)
    {
        using var writer = new ReplyWriter { Version = version };
        writer.BeginReply();
        write(writer);
        Assert.Equal(0, writer.Owed);
        return Encoding.Latin1.GetString(writer.Output.Span);
    }
}
