using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

public class CommandParserTests
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
    public void Reads_commands(string wire, string expected)
    {
        using var run = new ParserRun();
        Assert.Equal(expected, run.Run(Encoding.Latin1.GetBytes(wire)).ToString());
    }
}
