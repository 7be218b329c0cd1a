using System.Text;
using Kv.Server.Http;

namespace Kv.Tests.Http;

/// <summary>The lines of a request after its first one.</summary>
public class HttpHeadTests
{
    [Fact]
    public void Only_a_whole_head_says_anything()
    {
        byte[] head = Encoding.ASCII.GetBytes(
            "GET / HTTP/1.1\r\nHOST:  a:1 \r\nx: y\r\nauthorization: Basic QQ==\r\n\r\n");
        for (int cut = 0; cut < head.Length - 1; cut++)
            Assert.Equal(default, HttpHead.Read(head.AsSpan(0, cut)));
        Assert.Equal(new HttpHead(true, "a:1", "Basic QQ=="), HttpHead.Read(head));
        Assert.Equal(new HttpHead(true, "a:1", "Basic QQ=="), HttpHead.Read([.. head, .. "Host: b\r\n"u8]));
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\n\n", "")]
    [InlineData("GET / HTTP/1.1\nHost: a\n\n", "a")]
    [InlineData("Host: GET / HTTP/1.1\r\nHost\r\n: b\r\nHosts: c\r\n\r\n", "")]
    [InlineData("GET / HTTP/1.1\r\nHost:\r\n\r\n", "")]
    public void Lines_that_are_none_say_nothing(string head, string host) =>
        Assert.Equal(new HttpHead(true, host, ""), HttpHead.Read(Encoding.ASCII.GetBytes(head)));
}
